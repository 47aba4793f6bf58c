import { get } from './api.js';
import { h, setText } from './dom.js';
import { messageOf } from './failures.js';
import { parties } from './format.js';
import { spansOf } from './utterance.js';

/** @import { FoundCall, FoundPlace, SpokenEntry } from './shapes.ts' */

/** @typedef {Map<string, { text: string, words: SpokenEntry['words'] }>} WordsOfCall */

/** @type {WordsOfCall} */
const noWords = new Map();
const maxCallsKept = 20;
const pageEvents = 1_000;

/** One player for all places of a search. It begins at the word that was found. */
export class HitSound {
  #audio = h('audio', { controls: true, preload: 'none', 'aria-label': 'Recording of the call' });
  #what = h('a', { href: '#/search' });
  #problem = h('span', { class: 'error', role: 'alert' });
  /** @type {Map<string, Promise<WordsOfCall>>} */
  #words = new Map();
  #callId = '';
  #asked = 0;
  /** @type {HTMLElement | undefined} */
  #pressed;
  element = h(
    'div',
    { class: 'hit-sound', hidden: true },
    h('p', {}, this.#what, ' ', this.#problem),
    this.#audio,
  );

  constructor() {
    this.#audio.addEventListener('error', () => {
      if (this.#audio.hasAttribute('src'))
        setText(this.#problem, 'The recording cannot be played: it is gone, or Trunkline does not answer.'); // prettier-ignore
    });
  }

  close() {
    this.#audio.pause();
    this.#audio.removeAttribute('src');
  }

  /**
   * Nothing of an erased call stays in the player.
   * @param {string} callId
   */
  forget(callId) {
    this.#words.delete(callId);
    if (callId !== this.#callId) return;
    this.#asked++;
    this.close();
    this.#callId = '';
    this.element.hidden = true;
  }

  toggle() {
    if (this.#callId === '') return false;
    if (this.#audio.paused) void this.#audio.play().catch(() => undefined);
    else this.#audio.pause();
    return true;
  }

  /**
   * @param {FoundCall['call']} call
   * @param {FoundPlace} place
   * @param {HTMLElement} button
   */
  async play(call, place, button) {
    const asked = ++this.#asked;
    setText(this.#problem, '');
    this.#pressed?.removeAttribute('aria-current');
    this.#pressed = button;
    button.setAttribute('aria-current', 'true');
    const seconds = await this.#secondOf(call.id, place);
    if (asked !== this.#asked) return;
    this.element.hidden = false;
    setText(this.#what, parties(call));
    this.#what.href = `#/calls/${call.id}?t=${Math.floor(seconds * 10) / 10}`;
    if (this.#callId !== call.id) {
      this.#callId = call.id;
      this.#audio.src = `/api/calls/${call.id}/recording`;
    }
    this.#audio.currentTime = seconds;
    await this.#audio.play().catch((error) => {
      if (asked === this.#asked && error instanceof Error && error.name === 'NotAllowedError')
        setText(this.#problem, messageOf(error));
    });
  }

  /**
   * The second of the first marked word. A line that was read again has no times of its words: there the place in the
   * line tells roughly.
   * @param {string} callId
   * @param {FoundPlace} place
   */
  async #secondOf(callId, { utterance_id: id, text, start, end, marks }) {
    const [[from] = [0]] = marks;
    const said = (await this.#wordsOf(callId)).get(id ?? '');
    if (said !== undefined && said.text === text) {
      const spans = spansOf(text, said.words, ({ word }) => word.trim());
      const span = spans.find((one) => one.end > from);
      if (span) return span.item.start;
    }
    const share = text.length === 0 ? 0 : from / text.length;
    return (start ?? 0) + ((end ?? start ?? 0) - (start ?? 0)) * share;
  }

  /** @param {string} callId */
  #wordsOf(callId) {
    const known = this.#words.get(callId);
    if (known) return known;
    const read = readWords(callId).catch(() => {
      this.#words.delete(callId);
      return noWords;
    });
    if (this.#words.size >= maxCallsKept) this.#words.clear();
    this.#words.set(callId, read);
    return read;
  }
}

/**
 * @param {string} callId
 * @returns {Promise<WordsOfCall>}
 */
async function readWords(callId) {
  /** @type {WordsOfCall} */
  const words = new Map();
  let cursor = '';
  do {
    const page = await get(
      `/api/calls/${callId}/events?type=call.transcript&limit=${pageEvents}${cursor}`,
    );
    for (const event of page.items)
      if (event.type === 'call.transcript')
        words.set(event.data.utterance_id, { text: event.data.text, words: event.data.words });
    cursor = page.next_cursor === null ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (cursor);
  return words;
}

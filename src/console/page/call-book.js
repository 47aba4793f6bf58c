import { get } from './api.js';

/** @import { BookedCall, CallItem, LatestWords, LiveFeedMessage, Role, Turn } from './shapes.ts' */

const pageItems = 50;

/** Every call that this page knows, kept current by one feed while views come and go. */
export class CallBook {
  /** @type {Map<string, BookedCall>} */
  calls = new Map();
  /** True once the newest page was read. `problem` holds any later failure. */
  isLoaded = false;
  /** @type {unknown} */
  problem;
  /**
   * The start of the next page, or null if there is none.
   * @type {string | null}
   */
  #cursor = null;
  /**
   * Calls with an event that did not reach the CRM and waits for a person.
   * @type {Set<string>}
   */
  undelivered = new Set();
  /** @type {Set<(id: string | undefined) => void>} */
  #watchers = new Set();

  /** @param {(id: string | undefined) => void} watcher */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** @param {LiveFeedMessage} message */
  take(message) {
    switch (message.type) {
      case 'call':
        return this.#put(message.call);
      case 'call-deleted':
        this.calls.delete(message.call_id);
        return this.#changed(message.call_id);
      case 'partial':
        return this.#patch(message.call_id, words(message, message.utterance.text, true));
      case 'call.transcript':
        return this.#patch(message.call.id, words(message.leg, message.data.text, false));
      case 'call.ended':
        // Also set here, because after an outage no other message reports it.
        return this.#patch(message.call.id, {
          state: 'ended',
          ended_at: message.data.ended_at,
          hung_up_at: message.call.hung_up_at,
          duration: message.data.duration,
          incomplete: message.data.incomplete,
        });
      case 'reset':
        return this.#reset();
      default:
        return undefined;
    }
  }

  /**
   * Marks the calls that have a parked event for the CRM.
   * @param {Iterable<string>} ids
   */
  tellUndelivered(ids) {
    const now = new Set(ids);
    const before = this.undelivered;
    this.undelivered = now;
    for (const id of before.symmetricDifference(now)) this.#changed(id);
  }

  /** Loads the newest page. For calls that are already known, the feed has newer facts. */
  async loadNewest() {
    await this.#load('');
  }

  /** True while there are older calls to request. */
  hasOlder() {
    return this.#cursor !== null;
  }

  /**
   * True if the loaded pages reach back to this call. A single older call may have arrived alone.
   * @param {string} id
   */
  isListed(id) {
    return this.#cursor === null || id >= this.#cursor;
  }

  async loadOlder() {
    if (this.#cursor) await this.#load(`&cursor=${encodeURIComponent(this.#cursor)}`);
  }

  /** @param {string} cursor */
  async #load(cursor) {
    const page = await get(`/api/calls?limit=${pageItems}${cursor}`).catch((error) => {
      this.problem = error;
      this.#changed(undefined);
    });
    if (!page) return;
    this.isLoaded = true;
    this.problem = undefined;
    if (cursor || this.#cursor === null) this.#cursor = page.next_cursor;
    for (const call of page.items) {
      const known = this.calls.get(call.id);
      if (!known || (known.state !== 'ended' && call.state === 'ended')) this.#put(call);
    }
    this.#changed(undefined);
  }

  /** @param {BookedCall & { transcript?: Turn[], last_turn?: CallItem['last_turn'] }} call */
  #put(call) {
    const known = this.calls.get(call.id);
    // The feed sends a call with its transcript, its longest part. A list shows only the last words.
    const { transcript, last_turn: last, ...rest } = call;
    const turn = transcript?.at(-1) ?? last;
    const said = turn ? words(turn, turn.text, false) : {};
    this.calls.set(call.id, { ...rest, ...(known?.words ? { words: known.words } : said) });
    this.#changed(call.id);
  }

  /**
   * @param {string} id
   * @param {Partial<BookedCall>} change
   */
  #patch(id, change) {
    const call = this.calls.get(id);
    if (!call) return;
    Object.assign(call, change);
    this.#changed(id);
  }

  #reset() {
    const ids = [...this.calls.keys()];
    this.calls.clear();
    this.#cursor = null;
    for (const id of ids) this.#changed(id);
    void this.loadNewest();
  }

  /** @param {string | undefined} id */
  #changed(id) {
    for (const watcher of this.#watchers) watcher(id);
  }
}

/**
 * @param {{ role: Role, speaker?: number | undefined, speaker_provisional?: boolean | undefined } | undefined} who
 * @param {string} text
 * @param {boolean} partial
 * @returns {{ words?: LatestWords }}
 */
function words(who, text, partial) {
  if (who === undefined) return {};
  const { role, speaker, speaker_provisional } = who;
  return { words: { role, speaker, speaker_provisional, text, partial } };
}

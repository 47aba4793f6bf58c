import { h, onNextFrame } from './dom.js';
import { Hearing } from './hearing.js';
import { PageState } from './page-state.js';
import { entryElement, hearFrom, partialElement } from './utterance.js';

/** @import { Conversation } from './conversation.js' */

/** @import { ConversationEntry, TranscriptLine } from './shapes.ts' */

/** A reader this close to the end wants to keep seeing the newest words. */
const followsWithinPx = 120;

/** The live conversation: both roles on one timeline, finals above, partials below in grey. */
export class Transcript {
  element;
  #conversation;
  #list = h('ol', { class: 'conversation' });
  #partials = h('ol', { class: 'conversation partials', 'aria-hidden': 'true' });
  #state;
  /**
   * The line of each entry: its element, and its times for marking what is played.
   * @type {Map<ConversationEntry, TranscriptLine & { entry: ConversationEntry }>}
   */
  #lines = new Map();
  #hearing = new Hearing();
  /** @type {number | undefined} */
  #heardAt;
  /** @type {Map<string, HTMLLIElement>} */
  #partialElements = new Map();
  /** @type {Set<ConversationEntry>} */
  #changed = new Set();
  #isLoaded = false;
  #follows = false;
  #startsFollowing = false;
  #draw = onNextFrame(() => this.#drawChanged());

  /**
   * `reload` loads the words again.
   * @param {Conversation} conversation
   * @param {(seconds: number) => void} onHear
   * @param {() => unknown} reload
   */
  constructor(conversation, onHear, reload) {
    this.#conversation = conversation;
    this.#state = new PageState('the words', reload);
    this.element = h(
      'section',
      { class: 'transcript', 'aria-label': 'Transcript' },
      h('div', { role: 'log', 'aria-label': 'Conversation' }, this.#list),
      this.#partials,
      this.#state.element,
    );
    this.element.addEventListener('click', hearFrom(onHear));
  }

  close() {
    this.#state.close();
  }

  /** All words so far were loaded. */
  loaded() {
    this.#isLoaded = true;
    this.#draw();
  }

  /** @param {unknown} error */
  failed(error) {
    this.#state.failed(error);
  }

  /** Everything is drawn again, because the words have changed. */
  clear() {
    for (const { element } of this.#lines.values()) element.remove();
    this.#lines.clear();
    this.#changed.clear();
  }

  /** @param {readonly ConversationEntry[]} entries */
  changed(entries) {
    for (const entry of entries) this.#changed.add(entry);
    this.#draw();
  }

  /**
   * Marks the words that are being played, and keeps them visible for a reader who follows.
   * @param {number} seconds
   */
  heard(seconds) {
    const before = this.#current();
    const wasInSight = !before || isInSight(before.element);
    this.#heardAt = seconds;
    const begun = this.#hearing.show(this.#spoken(), seconds);
    if (begun && wasInSight) begun.element.scrollIntoView({ block: 'nearest' });
  }

  /**
   * Scrolls to the words at this second.
   * @param {number} seconds
   */
  goTo(seconds) {
    this.#heardAt = seconds;
    this.#hearing.show(this.#spoken(), seconds);
    const lines = this.#spoken();
    const line = lines.findLast(({ start }) => start <= seconds) ?? lines[0];
    line?.element.scrollIntoView({ block: 'center' });
  }

  /**
   * The start of the word that is `steps` words away from this second. Undefined beyond the ends.
   * @param {number} seconds
   * @param {number} steps
   */
  wordFrom(seconds, steps) {
    return placeFrom(
      this.#spoken().flatMap(({ entry }) => (entry.kind === 'utterance' ? entry.words : [])),
      seconds,
      steps,
    );
  }

  /**
   * @param {number} seconds
   * @param {number} steps
   */
  turnFrom(seconds, steps) {
    return placeFrom(this.#spoken(), seconds, steps);
  }

  #spoken() {
    return [...this.#lines.values()]
      .filter(({ entry }) => entry.kind === 'utterance')
      .sort((a, b) => a.start - b.start);
  }

  #current() {
    return this.#spoken().find(({ element }) => element.hasAttribute('aria-current'));
  }

  #drawChanged() {
    const follows = this.#showsNewest();
    for (const entry of this.#changed) this.#drawEntry(entry);
    this.#changed.clear();
    if (this.#heardAt !== undefined) this.#hearing.show(this.#spoken(), this.#heardAt);
    this.#drawPartials();
    const hasWords = this.#lines.size > 0 || this.#partialElements.size > 0;
    if (hasWords) this.#state.ready();
    else if (this.#isLoaded)
      this.#state.ready(this.#follows ? 'No words yet.' : 'No words were heard.');
    if (follows) this.#newest()?.scrollIntoView({ block: 'nearest' });
  }

  #newest() {
    return this.#partials.lastElementChild ?? this.#list.lastElementChild;
  }

  /**
   * Follows a running call. A finished call is shown from its beginning.
   * @param {boolean} isLive
   */
  follow(isLive) {
    this.#startsFollowing ||= isLive && !this.#follows;
    this.#follows = isLive;
  }

  /** A reader who has scrolled up is left there. */
  #showsNewest() {
    if (!this.#follows) return false;
    if (this.#startsFollowing) {
      this.#startsFollowing = false;
      return true;
    }
    const newest = this.#newest();
    return !newest || newest.getBoundingClientRect().bottom < innerHeight + followsWithinPx;
  }

  /** @param {ConversationEntry} entry */
  #drawEntry(entry) {
    const known = this.#lines.get(entry);
    const element = entryElement(entry, known?.element);
    this.#lines.set(entry, { entry, element, start: entry.start, end: entry.end });
    if (known) return this.#joinTurns(element);
    const { entries } = this.#conversation;
    const next = entries.slice(entries.indexOf(entry) + 1).find((one) => this.#lines.has(one));
    this.#list.insertBefore(element, (next && this.#lines.get(next)?.element) ?? null);
    this.#joinTurns(element);
  }

  /**
   * A speaker who continues is not named again.
   * @param {HTMLElement} element
   */
  #joinTurns(element) {
    for (const one of [element, element.nextElementSibling]) {
      if (!(one instanceof HTMLElement)) continue;
      const before = one.previousElementSibling;
      const isSame =
        before instanceof HTMLElement &&
        before.dataset['role'] !== undefined &&
        before.dataset['role'] === one.dataset['role'] &&
        before.dataset['voice'] === one.dataset['voice'];
      one.classList.toggle('goes-on', isSame);
    }
  }

  #drawPartials() {
    const { partials } = this.#conversation;
    for (const [legId, element] of this.#partialElements)
      if (!partials.has(legId)) {
        element.remove();
        this.#partialElements.delete(legId);
      }
    for (const [legId, partial] of partials) {
      const element = partialElement(partial, this.#partialElements.get(legId));
      this.#partialElements.set(legId, element);
      if (!element.isConnected) this.#partials.append(element);
    }
  }
}

/** The page's bar and the player cover part of the window. */
const coveredPx = { top: 200, bottom: 10 };

/** @param {HTMLElement} element */
function isInSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > coveredPx.top && top < innerHeight - coveredPx.bottom;
}

/** If a word's start was just requested, that word counts as the one being played. */
const nearS = 0.02;

/**
 * @param {readonly { start: number }[]} items
 * @param {number} seconds
 * @param {number} steps
 */
function placeFrom(items, seconds, steps) {
  const starts = [...new Set(items.map(({ start }) => start))].sort((a, b) => a - b);
  const now = starts.findLastIndex((start) => start <= seconds + nearS);
  return starts[Math.max(now, steps > 0 ? -1 : 0) + steps];
}

import { h, onNextFrame } from './dom.js';
import { PageState } from './page-state.js';
import { entryElement, partialElement } from './utterance.js';

/** Near enough to the end to mean: keep showing me the newest words. */
const followsWithinPx = 120;

/** The conversation as it happens: both roles on one timeline, what is final above, what is not in grey. */
export class Transcript {
  element;
  #conversation;
  #list = h('ol', { class: 'conversation' });
  #partials = h('ol', { class: 'conversation partials', 'aria-hidden': 'true' });
  #state;
  #elements = new Map();
  #partialElements = new Map();
  #changed = new Set();
  #isLoaded = false;
  #follows = false;
  #startsFollowing = false;
  #draw = onNextFrame(() => this.#drawChanged());

  /** `reload` reads the words again. */
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
    this.element.addEventListener('click', (event) => {
      const at = event.target.closest?.('[data-at]')?.dataset.at;
      if (at !== undefined && getSelection().isCollapsed) onHear(Number(at));
    });
  }

  close() {
    this.#state.close();
  }

  /** All words up to now were read. */
  loaded() {
    this.#isLoaded = true;
    this.#draw();
  }

  failed(error) {
    this.#state.failed(error);
  }

  /** Everything is drawn anew: the words are others. */
  clear() {
    for (const element of this.#elements.values()) element.remove();
    this.#elements.clear();
    this.#changed.clear();
  }

  changed(entries) {
    for (const entry of entries) this.#changed.add(entry);
    this.#draw();
  }

  /** Marks the utterance that is being heard. */
  heard(seconds) {
    for (const [entry, element] of this.#elements) {
      const isHeard = entry.kind === 'utterance' && seconds >= entry.start && seconds < entry.end;
      if (isHeard) element.setAttribute('aria-current', 'true');
      else element.removeAttribute('aria-current');
    }
  }

  #drawChanged() {
    const follows = this.#showsNewest();
    for (const entry of this.#changed) this.#drawEntry(entry);
    this.#changed.clear();
    this.#drawPartials();
    const hasWords = this.#elements.size > 0 || this.#partialElements.size > 0;
    if (hasWords) this.#state.ready();
    else if (this.#isLoaded)
      this.#state.ready(this.#follows ? 'No words yet.' : 'No words were heard.');
    if (follows) this.#newest()?.scrollIntoView({ block: 'nearest' });
  }

  #newest() {
    return this.#partials.lastElementChild ?? this.#list.lastElementChild;
  }

  /** A call that goes on is followed; one that is over is read from its beginning. */
  follow(isLive) {
    this.#startsFollowing ||= isLive && !this.#follows;
    this.#follows = isLive;
  }

  /** Whoever reads further up is left there. */
  #showsNewest() {
    if (!this.#follows) return false;
    if (this.#startsFollowing) {
      this.#startsFollowing = false;
      return true;
    }
    const newest = this.#newest();
    return !newest || newest.getBoundingClientRect().bottom < innerHeight + followsWithinPx;
  }

  #drawEntry(entry) {
    const known = this.#elements.get(entry);
    const element = entryElement(entry, known);
    if (known) return;
    this.#elements.set(entry, element);
    const { entries } = this.#conversation;
    const next = entries.slice(entries.indexOf(entry) + 1).find((one) => this.#elements.has(one));
    this.#list.insertBefore(element, next ? this.#elements.get(next) : null);
    this.#joinTurns(element);
  }

  /** Whoever goes on speaking is not named again. */
  #joinTurns(element) {
    for (const one of [element, element.nextElementSibling]) {
      const before = one?.previousElementSibling;
      one?.classList.toggle(
        'goes-on',
        before?.dataset.role !== undefined && before.dataset.role === one.dataset.role,
      );
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

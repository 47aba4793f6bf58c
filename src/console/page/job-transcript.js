import { h } from './dom.js';
import { Hearing } from './hearing.js';
import { entryElement, hearFrom } from './utterance.js';

/** @import { TranscriptLine, SpokenEntry } from './shapes.ts' */

/** The words of a job from beginning to end. A click on a word, or a key on its time, plays from there. */
export class JobTranscript {
  element = h('section', { class: 'transcript', 'aria-label': 'Transcript' });
  /** @type {TranscriptLine[]} */
  #lines = [];
  #hearing = new Hearing();

  /** @param {(seconds: number) => void} onHear */
  constructor(onHear) {
    this.element.addEventListener('click', hearFrom(onHear));
  }

  /** @param {readonly SpokenEntry[]} entries */
  draw(entries) {
    /** @type {string | undefined} */
    let before;
    this.#lines = entries.map((entry) => {
      const element = entryElement(entry);
      // A speaker who continues is not named again.
      element.classList.toggle('goes-on', before !== undefined && before === entry.name);
      before = entry.name;
      return { start: entry.start, end: entry.end, element };
    });
    const empty = h('p', { class: 'empty' }, 'No words were heard.');
    const list = h(
      'ol',
      { class: 'conversation long' },
      this.#lines.map(({ element }) => element),
    );
    this.element.replaceChildren(entries.length === 0 ? empty : list);
  }

  /**
   * Marks the words that are being played.
   * @param {number} seconds
   */
  heard(seconds) {
    this.#hearing.show(this.#lines, seconds);
  }
}

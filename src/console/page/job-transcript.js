import { h } from './dom.js';
import { entryElement } from './utterance.js';

/** What was said in a job, from beginning to end. A click on a word, or a key on its time, plays from there. */
export class JobTranscript {
  element = h('section', { class: 'transcript', 'aria-label': 'Transcript' });
  #lines = [];
  #current = new Set();
  #words = new Set();

  constructor(onHear) {
    this.element.addEventListener('click', (event) => {
      const at = event.target.closest?.('[data-at]')?.dataset.at;
      if (at !== undefined && getSelection().isCollapsed) onHear(Number(at));
    });
  }

  draw(entries) {
    let before;
    this.#lines = entries.map((entry) => {
      const element = entryElement(entry);
      // Whoever goes on speaking is not named again.
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

  /** Marks the utterances and the words that are being heard. Only what changes is touched. */
  heard(seconds) {
    const now = this.#lines.filter(({ start, end }) => seconds >= start && seconds < end);
    for (const line of this.#current)
      if (!now.includes(line)) line.element.removeAttribute('aria-current');
    for (const line of now) line.element.setAttribute('aria-current', 'true');
    this.#current = new Set(now);
    const words = new Set(now.flatMap((line) => wordAt((line.words ??= wordsOf(line)), seconds)));
    for (const word of this.#words) if (!words.has(word)) word.classList.remove('heard');
    for (const word of words) word.classList.add('heard');
    this.#words = words;
  }
}

/** The elements of the word that is being said; an entity may have cut it in two. */
function wordAt(words, seconds) {
  const last = words.findLast(({ at }) => at <= seconds);
  return words.filter(({ at }) => at === last?.at).map(({ element }) => element);
}

function wordsOf({ element }) {
  return [...element.querySelectorAll('.word')]
    .map((word) => ({ at: Number(word.dataset.at), element: word }))
    .sort((a, b) => a.at - b.at);
}

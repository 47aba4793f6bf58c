/** @import { TranscriptLine } from './shapes.ts' */

/** Marks the utterances and words that are being played. Only elements that change are touched. */
export class Hearing {
  /** @type {Set<TranscriptLine>} */
  #current = new Set();
  /** @type {Set<HTMLElement>} */
  #words = new Set();

  /**
   * `lines` have `start`, `end` and `element`. Returns the first line that is played now and was not before.
   * @param {readonly TranscriptLine[]} lines
   * @param {number} seconds
   */
  show(lines, seconds) {
    const now = lines.filter(({ start, end = start }) => seconds >= start && seconds < end);
    for (const line of this.#current)
      if (!now.includes(line)) line.element.removeAttribute('aria-current');
    for (const line of now) line.element.setAttribute('aria-current', 'true');
    const begun = now.find((line) => !this.#current.has(line));
    this.#current = new Set(now);
    const words = new Set(now.flatMap((line) => wordAt((line.words ??= wordsOf(line)), seconds)));
    for (const word of this.#words) if (!words.has(word)) word.classList.remove('heard');
    for (const word of words) word.classList.add('heard');
    this.#words = words;
    return begun;
  }
}

/**
 * The elements of the word at this second. An entity may have cut it in two.
 * @param {NonNullable<TranscriptLine['words']>} words
 * @param {number} seconds
 */
function wordAt(words, seconds) {
  const last = words.findLast(({ at }) => at <= seconds);
  return words.filter(({ at }) => at === last?.at).map(({ element }) => element);
}

/** @param {TranscriptLine} line */
function wordsOf({ element }) {
  return [...element.querySelectorAll('span')]
    .filter((word) => word.classList.contains('word'))
    .map((word) => ({ at: Number(word.dataset.at), element: word }))
    .sort((a, b) => a.at - b.at);
}

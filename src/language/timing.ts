import { round3 } from '../lib/round.ts';
import type { Utterance, Word } from '../protocol/addons.ts';

/**
 * The place of each word of an utterance in its text, so that a span of characters becomes a span of time.
 * Words are searched in order from where the last one ended; a word the text does not hold is passed over.
 */
type Timeline = (start: number, end: number) => { start: number; end: number };

export function timelineOf(utterance: Utterance): Timeline {
  const placed: { from: number; to: number; word: Word }[] = [];
  let at = 0;
  for (const word of utterance.words) {
    const text = word.word.trim();
    if (text === '') continue;
    // Bounded look-ahead: a word that is not there must not cost a scan of the whole text.
    const found = utterance.text.slice(at, at + text.length + 200).indexOf(text);
    if (found < 0) continue;
    placed.push({ from: at + found, to: at + found + text.length, word });
    at += found + text.length;
  }
  const length = Math.max(1, utterance.text.length);
  const spread = utterance.end - utterance.start;
  return (start, end) => {
    const first = placed[lowerBound(placed, start)];
    const last = placed[lowerBound(placed, end - 1)];
    return {
      start: first?.word.start ?? round3(utterance.start + (spread * start) / length),
      end: last?.word.end ?? round3(utterance.start + (spread * end) / length),
    };
  };
}

/** The first placed word that ends after the character. */
function lowerBound(placed: { to: number }[], character: number): number {
  let low = 0;
  let high = placed.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((placed[middle]?.to ?? 0) > character) high = middle;
    else low = middle + 1;
  }
  return low;
}

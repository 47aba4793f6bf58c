import { round3 } from '../lib/round.ts';
import type { Utterance, Word } from '../protocol/addons.ts';

/**
 * Locates each word of an utterance in its text, so that a span of characters becomes a span of time. Each search
 * begins where the last word ended. A word that the text does not contain is skipped.
 */
type Timeline = (start: number, end: number) => { start: number; end: number };

export function timelineOf(utterance: Utterance): Timeline {
  const placed: { from: number; to: number; word: Word }[] = [];
  let at = 0;
  for (const word of utterance.words) {
    const text = word.word.trim();
    if (text === '') continue;
    // The look-ahead is bounded: a missing word must not cost a scan of the whole text.
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

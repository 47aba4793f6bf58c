import { round3 } from '../lib/round.ts';
import type { Utterance, Word } from '../protocol/addons.ts';

/** Makes a span of characters a span of time. */
type Timeline = (start: number, end: number) => { start: number; end: number };

export function timelineOf(utterance: Utterance): Timeline {
  const placed = placedWords(utterance);
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

/**
 * Locates a span of characters with all that is heard beside it, up to the words before and behind. A digit that the
 * recogniser left out, or a time that is not exact, is in it too.
 */
export function surroundingsIn(utterance: Utterance): Timeline {
  const placed = placedWords(utterance);
  const inner = timelineOf(utterance);
  return (start, end) => {
    const own = inner(start, end);
    const before = placed[lowerBound(placed, start) - 1];
    const behind = placed[lowerBound(placed, end - 1) + 1];
    return {
      start: Math.min(own.start, before?.word.end ?? utterance.start),
      end: Math.max(own.end, behind?.word.start ?? utterance.end),
    };
  };
}

type FoundWord = { from: number; to: number; word: Word };

/**
 * Locates each word of an utterance in its text. Each search begins where the last word ended. A word that the text does
 * not contain is skipped.
 */
function placedWords({ text, words }: Utterance): FoundWord[] {
  const placed: FoundWord[] = [];
  let at = 0;
  for (const word of words) {
    const written = word.word.trim();
    if (written === '') continue;
    // The look-ahead is bounded: a missing word must not cost a scan of the whole text.
    const found = text.slice(at, at + written.length + 200).indexOf(written);
    if (found < 0) continue;
    placed.push({ from: at + found, to: at + found + written.length, word });
    at += found + written.length;
  }
  return placed;
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

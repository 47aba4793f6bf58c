import { alignedFrames } from './alignment.ts';
import type { Hypothesis } from './beam-search.ts';
import type { TokenTable } from '../making/token-table.ts';

/** One or more characters of a text with their tokens, their start and their confidence. */
type TimedToken = {
  text: string;
  ids: readonly number[];
  start: number;
  logProbability: number;
  /** The share of the other likely texts that contain this text: the least share of its tokens. */
  shared: number;
};

/** A text with the times of its tokens, in seconds from the start of the audio. */
export type TimedText = { text: string; tokens: readonly TimedToken[] };

/**
 * A text has at most this many tokens per second, known tokens included, and at least the second number in all. The
 * limit ends a loop, which would never end by itself.
 */
const tokensEachSecond = 6.5;
const tokensAtLeast = 12;

export function mostTokensOf(seconds: number, known = 0): number {
  return Math.floor(Math.max(0, tokensEachSecond * seconds - known) + tokensAtLeast);
}

/**
 * Makes a text from the result of a search. `secondOf` returns the time of a word whose first token was read from a
 * frame.
 */
export function timedText(
  table: TokenTable,
  { tokens, logProbabilities, attention, ended, shared }: Hypothesis,
  secondOf: (frame: number) => number,
): TimedText {
  const spoken = ended ? tokens.slice(0, -1) : tokens;
  const frames = alignedFrames(attention.slice(0, spoken.length).flatMap((row) => row ?? []));
  return {
    text: table.text(spoken).trim(),
    tokens: table.pieces(spoken).map(({ text, from, to }) => ({
      text,
      ids: spoken.slice(from, to),
      start: secondOf(frames[from] ?? 0),
      logProbability: Math.min(...logProbabilities.slice(from, to)),
      shared: Math.min(...shared.slice(from, to)),
    })),
  };
}

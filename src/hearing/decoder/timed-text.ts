import { alignedFrames } from './alignment.ts';
import type { Hypothesis } from './beam-search.ts';
import type { TokenTable } from '../making/tokens.ts';

/** One or more characters of a text: the tokens that spell them, when they begin, and how sure they are. */
type TimedToken = {
  text: string;
  ids: readonly number[];
  start: number;
  logProbability: number;
  /** The share of the other likely texts that contain it, too; the least share among its tokens. */
  shared: number;
};

/** A text with the times of its tokens in seconds from the beginning of the audio. */
export type TimedText = { text: string; tokens: readonly TimedToken[] };

/**
 * A text has at most this many tokens for each second, the known tokens included, and at least the second number: a
 * loop would never end by itself.
 */
const tokensEachSecond = 6.5;
const tokensAtLeast = 12;

export function mostTokensOf(seconds: number, known = 0): number {
  return Math.floor(Math.max(0, tokensEachSecond * seconds - known) + tokensAtLeast);
}

/**
 * Makes text out of the result of a search. `secondOf` tells when a word begins whose first token was read from a
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

import type { NextToken, Steps } from './beam-search.ts';
import { logProbability } from './log-probabilities.ts';

/**
 * The log-probability of each whole text, in nats. All texts are read in parallel, like the beams of a search, so that
 * they share the cost of each step.
 */
export function likelihoodsOf(
  steps: Steps,
  texts: readonly (readonly number[])[],
  endToken: number,
): number[] {
  const ended = texts.map((tokens) => [...tokens, endToken]);
  const sums = ended.map(() => 0);
  const longest = Math.max(0, ...ended.map(({ length }) => length));
  let said: NextToken[] = [steps.first()];
  for (let at = 0; at < longest; at++) {
    for (const [index, tokens] of ended.entries()) {
      const token = tokens[at];
      const next = said[said.length === 1 ? 0 : index];
      if (token === undefined || !next) continue;
      sums[index] = (sums[index] ?? 0) + logProbability(next, token);
    }
    if (at + 1 === longest) break;
    // A text that has ended is continued with its end token. That row is computed but not counted.
    said = steps.next(
      ended.map((tokens, index) => ({
        parent: at === 0 ? 0 : index,
        token: tokens[at] ?? endToken,
      })),
    );
  }
  return sums;
}

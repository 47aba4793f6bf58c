import { expect, test } from 'vitest';
import type { NextToken, Steps } from '../../../../src/hearing/decoder/beam-search.ts';
import { likelihoodsOf } from '../../../../src/hearing/decoder/likelihood.ts';

const end = 0;

/** A model of five tokens to which each token costs a nat for its distance to the one before, and the end nothing. */
function countingSteps(): Steps & { rows: number[] } {
  const rows: number[] = [];
  let beams: number[][] = [[]];
  const after = (tokens: readonly number[]): NextToken => ({
    scores: Float32Array.from({ length: 5 }, (_, token) =>
      token === end ? 0 : -Math.abs(token - (tokens.at(-1) ?? 0)),
    ),
    norm: 0,
  });
  return {
    rows,
    first: () => after([]),
    next(going) {
      rows.push(going.length);
      beams = going.map(({ parent, token }) => [...(beams[parent] ?? []), token]);
      return beams.map(after);
    },
  };
}

test('a text is as likely as its tokens and its end together, whatever is read beside it', () => {
  const steps = countingSteps();
  const texts = [[1, 2, 3], [3], [], [4, 1]];
  expect(likelihoodsOf(steps, texts, end)).toEqual([-3, -3, 0, -7]);
  expect(steps.rows, 'as many steps as the longest text has tokens').toEqual([4, 4, 4]);
  for (const [index, text] of texts.entries())
    expect(likelihoodsOf(countingSteps(), [text], end)).toEqual([[-3, -3, 0, -7][index]]);
  expect(likelihoodsOf(countingSteps(), [], end)).toEqual([]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blockS, quietCut } from '../../../../src/bridge/second-pass/quiet-cut.ts';

const blocks = (seconds: number, level: number): number[] =>
  Array.from({ length: Math.round(seconds / blockS) }, () => level);

test.each([
  ['the last of two long silences', [[3, 900], [2.5, 0], [3, 900], [2.5, 0], [4, 900]], 8.5, 11],
  ['a long silence before a later short one', [[3, 900], [2.2, 5], [3, 900], [0.6, 5], [4, 900]], 3, 5.2],
  ['a short pause where there is no other', [[3, 900], [0.3, 10], [3, 900]], 3, 3.3],
  ['a pause in line noise', [[3, 2_000], [0.6, 150], [3, 2_000], [0.1, 150]], 3, 3.6],
  ['the quietest moment of one who never pauses', [[3, 900], [0.2, 500], [3, 900]], 3, 3.2],
  ['the end of nothing but silence', [[10, 0]], 8, 10],
] as const)('a recording is cut in %s', (_what, spans, from, to) => {
  const levels = spans.flatMap(([seconds, level]) => blocks(seconds, level));
  const cutS = quietCut(levels) * blockS;
  expect(cutS).toBeGreaterThan(from);
  expect(cutS).toBeLessThan(to);
}); // prettier-ignore

test('whatever the levels are, the cut lies among them', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 32_768, noNaN: true }), { maxLength: 400 }), (levels) => {
      const at = quietCut(levels);
      expect(at).toBeGreaterThanOrEqual(0);
      expect(at).toBeLessThanOrEqual(levels.length);
      // A piece that has no length would be read for ever.
      if (levels.length > 0) expect(at).toBeGreaterThan(0);
    }),
  ); // prettier-ignore
});

import { describe, expect, test } from 'vitest';
import type { Split } from '../../support/language/language-scores.ts';
import { numberLines, scoreSecrets, scoreValues } from '../../support/language/number-scores.ts';

test.each<Split>(['dev', 'held'])(
  'of the secrets in several finals (%s) none leaves whole, and neutral sentences stay as they are',
  { timeout: 60_000 },
  (split) => {
    const score = scoreSecrets(numberLines(split), ['PCI', 'SSN']);
    console.log(
      [
        `${split}: of ${score.secrets} secrets ${score.whole.length} whole, ${score.part.length} in part`,
        `${score.alarms.length} alarms in ${score.neutral} sentences`,
        ...[...score.whole, ...score.part, ...score.alarms],
      ].join('\n'),
    );
    expect(score.whole).toEqual([]);
    expect(score.part.length / score.secrets).toBeLessThanOrEqual(0.02);
    expect(score.alarms.length / score.neutral).toBeLessThanOrEqual(0.01);
  },
);

test.each([
  { split: 'dev' as const, least: 0.98 },
  { split: 'held' as const, least: 0.98 },
])(
  'what people say in several finals is one entity with its value ($split)',
  ({ split, least }) => {
    const score = scoreValues(numberLines(split));
    console.log(
      [
        `${split}: of ${score.lines} answers ${score.one} are one entity, ${score.right} with the right value`,
        `of ${score.several} in several finals ${score.severalOne} are one`,
        ...score.misses,
      ].join('\n'),
    );
    expect(score.right / score.lines).toBeGreaterThanOrEqual(least);
    expect(score.severalOne / score.several).toBeGreaterThanOrEqual(least);
  },
);

/** Lines of another hand, who had not read the rules. The odd ones were looked at when the rules were mended. */
describe('secrets in the words of another hand', () => {
  const isOdd = ({ id }: { id: string }): boolean => Number(id.slice(1)) % 2 === 1;
  const lines = numberLines('fresh');

  test('no secret of the examined lines is left whole, and no plain number goes', () => {
    const { secrets, whole, part, alarms } = scoreSecrets(lines.filter(isOdd), ['PCI', 'SSN']);
    expect(secrets).toBe(60);
    expect(whole).toEqual([]);
    expect(part.length).toBeLessThanOrEqual(1);
    expect(alarms).toEqual([]);
  });

  test('few secrets of the unseen lines are left', () => {
    const { secrets, whole, part, alarms } = scoreSecrets(
      lines.filter((line) => !isOdd(line)),
      ['PCI', 'SSN'],
    );
    expect(secrets).toBe(60);
    expect([whole.length <= 4, part.length <= 3, alarms.length <= 2]).toEqual([true, true, true]);
  });
});

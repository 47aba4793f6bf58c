import { expect, test } from 'vitest';
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

import { expect, test } from 'vitest';
import type { Split } from '../../support/language/language-scores.ts';
import { numberLines, scoreSecrets } from '../../support/language/number-scores.ts';

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

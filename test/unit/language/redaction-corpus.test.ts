import { expect, test } from 'vitest';
import { redactStep } from '../../../src/language/redaction/redact.ts';
import {
  lines,
  scoreRedaction,
  type EntityLine,
  type Split,
} from '../../support/language/language-scores.ts';

/** As an operator would set it: names, payment data and what reaches a person. */
const entityTypes = ['NAME', 'PCI', 'EMAIL_ADDRESS', 'PHONE_NUMBER', 'LOCATION_ADDRESS'];

const coveredIn = (text: string) =>
  redactStep({ text, entityTypes, form: 'MARKER' }).released.flatMap(({ covered }) => covered);

test.each<Split>(['dev', 'held'])(
  'of what people say on the telephone (%s), names, payment data and contacts are taken out',
  { timeout: 60_000 },
  (split) => {
    const score = scoreRedaction(lines<EntityLine>(`redaction-${split}`), coveredIn);
    const { payment, name, contact } = score.recall;
    console.log(
      [
        `${split}: recall payment ${payment.toFixed(3)}, names ${name.toFixed(3)}, contacts ${contact.toFixed(3)}`,
        `alarms ${score.alarms.length} of ${score.freeLines} lines`,
        ...score.misses.map((miss) => `missed ${miss}`),
        ...score.alarms.map((alarm) => `alarm ${alarm}`),
      ].join('\n'),
    );
    expect(payment).toBeGreaterThanOrEqual(0.97);
    expect(name).toBeGreaterThanOrEqual(0.95);
    expect(contact).toBeGreaterThanOrEqual(0.95);
    expect(score.alarms.length / score.freeLines).toBeLessThanOrEqual(0.02);
  },
);

import { runAt } from '../entities/code-runs.ts';
import { Doc } from '../entities/doc.ts';
import type { EntitySpan } from '../types.ts';

/** Numbers that open an account or a purse, by the label of their marker. */
const secretLabels = [
  'CREDIT_CARD',
  'CREDIT_CARD_EXPIRATION',
  'CVV',
  'SSN',
  'ROUTING_NUMBER',
  'BANK_ACCOUNT',
] as const;
/** Fewer digits of a longer number are in many numbers. */
const shortestEcho = 4;

/** Digits of a secret that was taken out before, said again in whole or in part: the other party reads them back. */
export function echoesIn(
  text: string,
  numbers: Readonly<Record<string, Record<string, number>>>,
): EntitySpan[] {
  const secrets = secretLabels.flatMap((label) =>
    Object.keys(numbers[label] ?? {})
      // Others stand for numbers of before a restart, whose digits nobody kept.
      .filter((key) => key.startsWith('='))
      .map((key) => ({ label, key, digits: key.slice(1) })),
  );
  if (secrets.length === 0) return [];
  const echoes: EntitySpan[] = [];
  const doc = new Doc(text);
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    const secret = secrets.find(
      ({ digits }) =>
        digits === run.chars ||
        (run.digits >= shortestEcho && /^\d+$/.test(digits) && digits.includes(run.chars)),
    );
    const start = doc.tokens[run.from]?.start;
    const end = doc.tokens[run.to - 1]?.end;
    if (secret && start !== undefined && end !== undefined)
      echoes.push({ type: secret.label, text: secret.digits, start, end });
    i = Math.max(i, run.to - 1);
  }
  return echoes;
}

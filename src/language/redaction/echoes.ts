import { isExplained, runAt } from '../entities/code-runs.ts';
import { Doc } from '../entities/doc.ts';
import type { EntitySpan } from '../types.ts';
import { cardDatesIn } from './short-answers.ts';

/** Labels of numbers that give access to an account or to money. */
const secretLabels = [
  'CREDIT_CARD',
  'CREDIT_CARD_EXPIRATION',
  'CVV',
  'SSN',
  'ROUTING_NUMBER',
  'BANK_ACCOUNT',
] as const;
/** At least this many digits count as repeated. Shorter pieces of a number occur in many other numbers. */
const shortestEcho = 4;
/** The shortest security code. Three of its digits are the whole secret. */
const shortestCode = 3;

/**
 * True if the digits removed under this label are so few that they could be any other number: the "42" of a card says
 * nothing about a later "42".
 */
export function isTooShortToKnow(label: string, chars: string): boolean {
  return /^\d+$/.test(chars) && chars.length < (label === 'CVV' ? shortestCode : shortestEcho);
}

/**
 * Finds digits of a removed secret that are said again in whole or in part, as when the other party reads them back.
 */
export function echoesIn(
  text: string,
  numbers: Readonly<Record<string, Record<string, number>>>,
): EntitySpan[] {
  const secrets = secretLabels.flatMap((label) =>
    Object.keys(numbers[label] ?? {})
      // Keys without `=` stand for numbers from before a restart, whose digits were not kept.
      .filter((key) => key.startsWith('='))
      .map((key) => ({ label, key, digits: digitsOfKey(key.slice(1)) })),
  );
  if (secrets.length === 0) return [];
  const doc = new Doc(text);
  const echoes = dateEchoes(doc, secrets);
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    const secret = isExplained(doc, run)
      ? undefined
      : secrets.find(
          ({ label, digits }) =>
            !isTooShortToKnow(label, run.chars) &&
            (digits === run.chars ||
              (run.digits >= shortestEcho && /^\d+$/.test(digits) && digits.includes(run.chars))),
        );
    const start = doc.tokens[run.from]?.start;
    const end = doc.tokens[run.to - 1]?.end;
    const isFree = !echoes.some((echo) => echo.start < (end ?? 0) && (start ?? 0) < echo.end);
    if (secret && isFree && start !== undefined && end !== undefined)
      echoes.push({ type: secret.label, text: secret.digits, start, end });
    i = Math.max(i, run.to - 1);
  }
  return echoes;
}

/** A covered text may begin with a word that was taken for a digit: "so five three six one". */
function digitsOfKey(said: string): string {
  if (/^\d+$/.test(said) || said.length > longestKey) return said;
  const doc = new Doc(said);
  for (let i = 0; i < Math.min(doc.tokens.length, wordsBefore); i++) {
    const run = runAt(doc, i, false);
    if (run && run.to === doc.tokens.length && run.digits >= shortestEcho) return run.chars;
  }
  return said;
}

const longestKey = 120;
const wordsBefore = 3;

/** The date of a card that is said again in other words: "October twenty nine" for "ten twenty nine". */
function dateEchoes(doc: Doc, secrets: readonly { label: string; digits: string }[]): EntitySpan[] {
  const dates = secrets.filter(({ label }) => label === 'CREDIT_CARD_EXPIRATION');
  const said = dates.length === 0 ? [] : cardDatesIn(doc);
  return said.flatMap(({ date, from, to }) => {
    const same = dates.find(({ digits }) =>
      cardDatesIn(new Doc(digits)).some((one) => one.date === date),
    );
    const start = doc.tokens[from]?.start;
    const end = doc.tokens[to - 1]?.end;
    if (same === undefined || start === undefined || end === undefined) return [];
    return [{ type: same.label, text: same.digits, start, end }];
  });
}

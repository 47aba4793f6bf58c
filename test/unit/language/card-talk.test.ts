import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { redactStep, type RedactionState } from '../../../src/language/redaction/redact.ts';

/**
 * Short exchanges while two people speak of a card: "neutral" or "secret", what the agent says, what the customer says.
 * The lines of `held` were not looked at while rules were written.
 */
const exchanges = (name: string) =>
  readFileSync(new URL(`../../fixtures/language/card-talk-${name}.tsv`, import.meta.url), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [kind = '', turn = '', answer = ''] = line.split('\t');
      return { kind, turn, answer };
    });

const step = (text: string, asked: readonly string[], state: RedactionState, flush = false) =>
  redactStep({ text, asked, state, flush, mayHold: !flush, entityTypes: ['PCI', 'SSN'], form: 'MARKER' }); // prettier-ignore

/** The card was said before, or was only asked for. */
function shown({ turn, answer }: { turn: string; answer: string }, isSaid: boolean): string {
  const card = 'four one one one one one one one one one one one one one one one';
  const question = isSaid ? 'Your card number?' : 'Which card are we charging?';
  const before = isSaid ? step(card, [question], { numbers: {} }).state : { numbers: {} };
  const first = step(answer, [question, turn], before);
  const rest = step('', [question, turn], first.state, true);
  return [...first.released, ...rest.released].map(({ text }) => text).join(' / ');
}

const number =
  /\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|january|february|march|april|may|june|july|august|september|october|november|december)\b/i;

/** Neutral answers that are covered, and secrets of which a number is left. Each exchange counts in both ways. */
function mistakes(name: string) {
  const all = exchanges(name).flatMap((one) =>
    [true, false].map((isSaid) => ({ ...one, text: shown(one, isSaid) })),
  );
  const bare = (text: string) => text.replace(/\[[A-Z_]+_\d+\]/g, '');
  return {
    covered: all.filter(({ kind, text }) => kind === 'neutral' && text.includes('[')),
    left: all.filter(({ kind, text }) => kind === 'secret' && number.test(bare(text))),
    neutral: all.filter(({ kind }) => kind === 'neutral').length,
  };
}

test.each(['dev', 'held'])(
  'numbers that are something else stay in the talk of a card (%s)',
  { timeout: 30_000 },
  (name) => {
    const { covered, left, neutral } = mistakes(name);
    console.log(`${name}: covered ${String(covered.length)} of ${String(neutral)}`);
    expect(left.length).toBe(0);
    expect(covered.length / neutral).toBeLessThanOrEqual(0.1);
  },
);

/** Bare answers to questions that were understood, before anybody spoke of a card, while they do, and behind its number. */
test('bare answers to other questions stay, in the talk of a card and out of it', () => {
  const lines = readFileSync(
    new URL('../../fixtures/language/bare-answers.tsv', import.meta.url),
    'utf8',
  );
  const card = 'four one one one one one one one one one one one one one one one';
  const befores = [
    { asked: [], state: { numbers: {} } },
    { asked: ['Your card number?'], state: { numbers: {} } },
    { asked: ['Your card number?'], state: step(card, ['Your card number?'], { numbers: {} }).state },
  ]; // prettier-ignore
  const covered = lines.split('\n').filter(Boolean).flatMap((line) => {
    const [turn = '', answer = ''] = line.split('\t');
    return befores.flatMap(({ asked, state }) => {
      const first = step(answer, [...asked, turn], state);
      const rest = step('', [...asked, turn], first.state, true);
      const text = [...first.released, ...rest.released].map((one) => one.text).join(' / ');
      return text.includes('[') ? [`${turn} ${text}`] : [];
    });
  }); // prettier-ignore
  expect(covered).toEqual([]);
});

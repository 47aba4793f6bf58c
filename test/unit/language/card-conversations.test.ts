import { expect, test } from 'vitest';
import { redactStep, type RedactionState } from '../../../src/language/redaction/redact.ts';
import { digitsIn } from '../../support/language/digits-in.ts';

/**
 * Made-up talks of a card, the same in each run: groups of any size in digits, pairs or figures, over several finals,
 * with corrections, interruptions and acknowledgements; the agent reads back; a date, a code and a social security number
 * follow. Finals that wait leave at any moment.
 */
type TalkTurn = { party: 'agent' | 'customer'; text: string };
type ToldSecret = { digits: string; isShort: boolean };

let state = 7_002;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
const digitsOf = (count: number): string =>
  Array.from({ length: count }, () => String(Math.floor(random() * 10))).join('');

const names = 'zero one two three four five six seven eight nine'.split(' ');
const teens =
  'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(' ');
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');

function pair([high = '0', low = '0']: string): string {
  if (high === '0') return `oh ${names[Number(low)] ?? ''}`;
  if (high === '1') return teens[Number(low)] ?? '';
  return `${tens[Number(high) - 2] ?? ''}${low === '0' ? '' : ` ${names[Number(low)] ?? ''}`}`;
}

const forms: Record<string, (digits: string) => string> = {
  digits: (digits) => Array.from(digits, (digit) => names[Number(digit)]).join(pick([' ', ', '])),
  pairs: (digits) =>
    digits.length % 2 === 0
      ? (digits.match(/../g) ?? []).map(pair).join(' ')
      : (forms['digits']?.(digits) ?? ''),
  figures: (digits) => digits,
  doubled: (digits) =>
    Array.from(digits, (digit) => names[Number(digit)])
      .join(' ')
      .replace(/\b(\w+) \1\b/g, 'double $1'),
};
const said = (digits: string, form: string): string => forms[form]?.(digits) ?? digits;

function inGroups(digits: string, size: number): string[] {
  return digits.match(new RegExp(`.{1,${String(size)}}`, 'g')) ?? [];
}

function written(text: string): string {
  const sentence = text.slice(0, 1).toUpperCase() + text.slice(1);
  return pick([text, `${sentence}.`, `${text},`, sentence]);
}

function conversation(): { turns: TalkTurn[]; secrets: ToldSecret[] } {
  const turns: TalkTurn[] = [];
  const agent = (text: string) => turns.push({ party: 'agent', text });
  const customer = (text: string) => turns.push({ party: 'customer', text });
  const card = `4${digitsOf(15)}`;
  const [expiry, code, social] = [`0${String(1 + Math.floor(random() * 9))}${pick(['27', '28', '31', '33'])}`, digitsOf(3), `5${digitsOf(8)}`]; // prettier-ignore
  customer(pick(['I would like to order two of them.', 'My internet is down since March.']));
  agent(pick(['Could you read me the card number?', 'Which card are we charging?', 'And the long number on the front?', 'Card number please.'])); // prettier-ignore
  const form = pick(['digits', 'pairs', 'figures', 'doubled']);
  const lead = pick(['', 'it is ', 'sure, ', 'so ', 'yes, one second, it reads ', 'my visa is ']);
  const isReadBack = random() < 0.4;
  for (const [index, group] of inGroups(card, pick([2, 4, 4, 8, 16])).entries()) {
    const wrong = random() < 0.15 ? `${said(digitsOf(group.length), form)}, no wait, ` : '';
    customer(written((index === 0 ? lead : pick(['', 'then '])) + wrong + said(group, form)));
    if (isReadBack) agent(written(said(group, pick(['digits', form]))));
    else if (random() < 0.4) agent(pick(['Okay.', 'mm-hm', 'Go on.', 'Got it.']));
    if (index === 1 && random() < 0.2) customer('Sorry, somebody is at the door.');
  }
  agent(pick(['And the expiry date?', 'Valid until?', 'Good through?']));
  customer(written(`${pick(['', 'it is '])}${pair(expiry.slice(0, 2))}${pick([' ', ' slash '])}${pair(expiry.slice(2))}`)); // prettier-ignore
  agent(pick(['And the three digits on the back?', 'The security code?']));
  customer(written(`${pick(['', 'uh, '])}${said(code, pick(['digits', 'figures']))}`));
  agent(pick(['Your social?', 'Please confirm your social.']));
  for (const group of inGroups(social, 3)) customer(written(said(group, 'digits')));
  agent('Thank you, that went through.');
  const secrets = [card, social].map((digits) => ({ digits, isShort: false }));
  return { turns, secrets: [...secrets, ...[expiry, code].map((digits) => ({ digits, isShort: true }))] }; // prettier-ignore
}

/** The stretches of text that leave, without what was covered. */
function left(turns: readonly TalkTurn[]): string[] {
  let numbers: RedactionState['numbers'] = {};
  const states = new Map<string, Omit<RedactionState, 'numbers'>>();
  const heard: TalkTurn[] = [];
  const shown: string[] = [];
  const step = (party: TalkTurn['party'], text: string | undefined): void => {
    const asked = heard.filter((turn) => turn.party !== party).map((turn) => turn.text);
    const { released, state: next } = redactStep({
      ...(text === undefined ? { text: '', flush: true } : { text, mayHold: true }),
      entityTypes: ['PCI', 'SSN'],
      form: 'MARKER',
      asked: asked.slice(-4),
      state: { ...states.get(party), numbers },
    });
    numbers = next.numbers;
    states.set(party, next);
    shown.push(...released.map((one) => one.text));
  };
  const waitsInVain = pick([0, 0.5, 1]);
  for (const turn of turns) {
    if (random() < waitsInVain) step(turn.party === 'agent' ? 'customer' : 'agent', undefined);
    if (random() < waitsInVain / 2) step(turn.party, undefined);
    step(turn.party, turn.text);
    heard.push(turn);
  }
  for (const party of ['agent', 'customer'] as const) step(party, undefined);
  return shown.flatMap((text) => text.split(/\[[A-Z_]+_\d+\]/));
}

function isLeft({ digits, isShort }: ToldSecret, texts: readonly string[]): boolean {
  const runs = texts.map(digitsIn);
  if (isShort) return runs.some((run) => run === digits || run === digits.replace(/^0/, ''));
  return Array.from({ length: digits.length - 3 }, (_, at) => digits.slice(at, at + 4)).some(
    (part) => runs.some((run) => run.includes(part)),
  );
}

test(
  'of a hundred talks of a card no four digits, no date and no code are left',
  { timeout: 60_000 },
  () => {
    const leaks = Array.from({ length: 100 }, conversation).flatMap(({ turns, secrets }) => {
      const texts = left(turns);
      const open = secrets.filter((secret) => isLeft(secret, texts));
      return open.length === 0 ? [] : [{ open, turns: turns.map(({ text }) => text), texts }];
    });
    expect(leaks).toEqual([]);
  },
);

/** Questions and digits as a recogniser writes them when it mishears them. */
const misheardQuestions = {
  card: ['Which car are we charging?', 'And the lawn number on the font?', 'Go ahead.', 'I am ready.', 'With cart?'],
  expiry: ['Ballot until.', 'Expires Wednesday.', 'When does it rain out?', 'Good true?', 'Okay, next.'],
  code: ['The security coat?', 'And the cold on the back?', 'And the tree digits on the bag?', 'And the coat?'],
  social: ['Your so show?', 'What are the digits of your sofa security number?'],
}; // prettier-ignore
const misheardDigits: Record<string, string> = {
  zero: 'so', oh: 'or', one: 'won', two: 'to', three: 'tree', four: 'for', five: 'by', six: 'sex', seven: 'heaven', eight: 'ate',
}; // prettier-ignore

function misheard(turn: TalkTurn): TalkTurn {
  const { party, text } = turn;
  if (party === 'customer') {
    const mishear = (word: string) => (random() < 0.03 ? (misheardDigits[word] ?? word) : word);
    return { party, text: text.replace(/[a-z]+/gi, mishear) };
  }
  const kind = /card|front/i.test(text) && /\?|please/i.test(text) ? 'card'
    : /expiry|until|through\?/i.test(text) ? 'expiry'
    : /back|code/i.test(text) ? 'code'
    : /social/i.test(text) ? 'social' : undefined; // prettier-ignore
  return kind && random() < 0.5 ? { party, text: pick(misheardQuestions[kind]) } : turn;
}

test(
  'of talks in which half of the questions were misheard, one secret in two hundred has four digits left at most',
  { timeout: 60_000 },
  () => {
    const open = Array.from({ length: 100 }, conversation).map(({ turns, secrets }) => {
      const texts = left(turns.map(misheard));
      return secrets.filter((secret) => isLeft(secret, texts));
    });
    console.log(`left of 400 secrets: ${open.flat().length}`);
    expect(open.flat().length).toBeLessThanOrEqual(2);
  },
);

import type { ExpectedAnswer } from '../expected-words.ts';
import { isMailAddress } from './mail-words.ts';
import type { TokenBias } from './beam-search.ts';
import type { LogProbabilities } from './log-probabilities.ts';
import { spaceSign, type TokenTable } from '../making/token-table.ts';

const words = (text: string): string[] => text.split(' ');
const digits = words('zero oh one two three four five six seven eight nine');
const numbers = words(
  'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand double triple',
);
const months = words(
  'january february march april may june july august september october november december',
);
const ordinals = words(
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth',
);
const weekdays = words(
  'monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday next last this on',
);
const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
const lettersByName = words(
  'alpha bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu',
);
/** Words between the parts of an answer. They have no price and are not part of the answer. */
const fillers = words('uh um er no wait sorry');
/** Behind a digit "wait" is hardly ever said, and "eight" is heard as it: a correction begins with "no". */
const correction = /\bno[,.]? wait\b/g;
/**
 * The model expects names of letters less often than words that sound like them. Each of their bytes therefore gets a
 * bonus, in nats.
 */
export const expectedLetters = lettersByName.map((name) => ({
  text: name.slice(0, 1).toUpperCase() + name.slice(1),
  weight: 0.4,
}));
const spelling = [...letters, ...lettersByName, 'double'];

/** The kinds of answers that have a limited number of words. */
export type WordedAnswer = Exclude<ExpectedAnswer, 'email'>;

/** The words of each kind of answer. Figures belong to every kind. */
const wordsOf: Record<WordedAnswer, readonly string[]> = {
  digits: [...digits, ...numbers],
  letters: spelling,
  code: [...digits, ...numbers, ...spelling, ...words('dash hyphen')],
  date: [...digits, ...numbers, ...months, ...ordinals, ...weekdays],
  amount: [
    ...digits,
    ...numbers,
    ...words('dollar dollars cent cents euro euros pound pounds point million and'),
  ],
};

/** The price of a word outside the expected answer, in nats. With it 119 of 140 numbers are right instead of 113. */
const price = 2.5;

/** True if a text consists only of words and figures of the expected answer, and of fillers between them. */
export function isAnswer(text: string, kind: ExpectedAnswer): boolean {
  if (kind === 'email') return isMailAddress(text);
  // Nobody reads a code with thousands: "12,000,4275" was "romeo N 4275".
  if (kind === 'code' && /\d,\d{3}(?!\d)/.test(text)) return false;
  const plain = text
    .toLowerCase()
    .replace(/\bas in\b/g, ' ')
    .replace(correction, ' no ')
    .replace(/\b(?:the )?([a-z]+|\d+(?:th|st|nd|rd)) of (?=[a-z]{3})/g, '$1 ');
  // "M3467" is a letter and a number.
  const apart = kind === 'code' ? plain.replace(/\b([a-z])(?=\d)/g, '$1 ') : plain;
  const said = apart.match(/[\p{L}\p{N}']+/gu) ?? [];
  const own = said.filter((word) => /^\d+$/.test(word) || wordsOf[kind].includes(word));
  const others = said.filter((word) => !own.includes(word));
  return (
    own.length > others.length && others.every((word) => word !== 'wait' && fillers.includes(word))
  );
}

/** Words that the model writes for like-sounding words of an answer, with the word that was said. */
const soundsLike = new Map([
  ['to', 'two'],
  ['too', 'two'],
  ['for', 'four'],
  ['fore', 'four'],
  ['or', 'oh'],
  ['of', 'oh'],
  ['o', 'oh'],
  ['a', 'oh'],
  ['ah', 'oh'],
  ['owe', 'oh'],
  ['ate', 'eight'],
  ['won', 'one'],
  ['way', 'wait'],
  ['weight', 'wait'],
  ['julie', 'juliet'],
  // A hesitation in the midst of digits.
  ['but', 'uh'],
]);

/**
 * Returns the word of the answer that the model replaced by this like-sounding word. Undefined if it replaces none.
 * Between digits, "or" is read as "oh".
 */
export function soundingLike(word: string, kind: ExpectedAnswer): string | undefined {
  if (kind === 'email') return undefined;
  const like = soundsLike.get(word.toLowerCase());
  if (like === undefined || wordsOf[kind].includes(word.toLowerCase())) return undefined;
  return wordsOf[kind].includes(like) || fillers.includes(like) ? like : undefined;
}

/** True if at least a third of the words are words of the answer, or sound like one. */
export function soundsLikeAnswer(text: string, kind: ExpectedAnswer): boolean {
  if (kind === 'email') return true;
  const said = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  const like = said.filter(
    (word) =>
      /^\d+$/.test(word) || wordsOf[kind].includes(word) || soundingLike(word, kind) !== undefined,
  );
  return like.length * 3 >= said.length;
}

type AnswerBranch = { readonly next: Map<number, AnswerBranch>; ends: boolean };

/**
 * The position inside a word of the answer. `node` is undefined inside any other word, whose price was already counted.
 */
type AnswerState = { readonly node: AnswerBranch | undefined };

const [firstOfSpace = 0] = Buffer.from(spaceSign);
const isAscii = (byte: number): boolean => byte < 0x80;
const isLetter = (byte: number): boolean => /[a-z']/i.test(String.fromCharCode(byte));

/**
 * A preference for the words of an expected answer. Every other word costs its text some nats, once, at the byte where
 * the word leaves the expected ones:
 *
 *     ▁zero , ▁four     nothing
 *     ▁zero , ▁for ▁a   the price at the r, and again at the end of the a
 *
 * Prices are used instead of a bonus, because a bonus grows with the length of a text and made the model hear digits
 * that nobody said.
 */
export class AnswerPreference implements TokenBias {
  readonly #root: AnswerBranch = { next: new Map(), ends: true };
  readonly start: AnswerState = { node: this.#root };
  readonly #table: TokenTable;

  constructor(kind: WordedAnswer, table: TokenTable) {
    this.#table = table;
    // Hesitations have a price in codes, because a letter is easily heard as one.
    const free = kind === 'code' ? ['as', 'in'] : fillers;
    for (const word of [...wordsOf[kind], ...free]) {
      let node = this.#root;
      for (const byte of Buffer.from(word)) {
        const next: AnswerBranch = node.next.get(byte) ?? { next: new Map(), ends: false };
        node.next.set(byte, next);
        node = next;
      }
      node.ends = true;
    }
  }

  /** Returns all tokens that the graph lists as likely, because a word of the answer may rank below the first few. */
  continuing(_state: AnswerState, said: LogProbabilities): number[] {
    return [...(said.best?.keys() ?? [])];
  }

  after(state: AnswerState, token: number): { state: AnswerState; change: number } {
    let { node } = state;
    let change = 0;
    for (const byte of this.#table.bytesOf(token)) {
      if (byte === firstOfSpace || (isAscii(byte) && !isLetter(byte))) {
        if (node && !node.ends) change -= price;
        node = this.#root;
      } else if (node && (isAscii(byte) || node !== this.#root)) {
        node = node.next.get(byte | 0x20); // compared in small letters
        if (!node) change -= price;
      }
    }
    return { state: { node }, change };
  }
}

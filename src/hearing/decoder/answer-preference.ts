import type { ExpectedAnswer } from '../expected-words.ts';
import type { TokenBias } from './beam-search.ts';
import type { LogProbabilities } from './log-probabilities.ts';
import { spaceSign, type TokenTable } from '../making/token-table.ts';

const digits = 'zero oh one two three four five six seven eight nine'.split(' ');
const numbers =
  'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand double triple'.split(
    ' ',
  );
/** The words of each kind of answer. Figures belong to every kind. */
const wordsOf: Record<ExpectedAnswer, readonly string[]> = { digits: [...digits, ...numbers] };

/** The price of a word outside the expected answer, in nats. With it 119 of 140 numbers are right instead of 113. */
const price = 2.5;

/** True if a text consists only of words and figures of the expected answer. */
export function isAnswer(text: string, kind: ExpectedAnswer): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  return (
    words.length > 0 && words.every((word) => /^\d+$/.test(word) || wordsOf[kind].includes(word))
  );
}

type AnswerBranch = { readonly next: Map<number, AnswerBranch>; ends: boolean };

/** The position inside a word of the answer. Undefined inside another word, whose price is already paid. */
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

  constructor(kind: ExpectedAnswer, table: TokenTable) {
    this.#table = table;
    for (const word of wordsOf[kind]) {
      let node = this.#root;
      for (const byte of Buffer.from(word)) {
        const next: AnswerBranch = node.next.get(byte) ?? { next: new Map(), ends: false };
        node.next.set(byte, next);
        node = next;
      }
      node.ends = true;
    }
  }

  /** All tokens that the graph names as likely: a word of the answer may rank below the first few. */
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

import { TrunklineError } from '../lib/errors.ts';

/** The network was made for at most this many pieces of one text. The rest of a longer text is not read. */
export const maxPieces = 256;
/** A word of more letters has no pieces: it stands for "unknown". */
const maxLetters = 100;
/** More letters than this cannot become `maxPieces`, so nobody makes us look at a megabyte. */
export const maxTextLetters = 8_000;

/** Cuts a text into the pieces of words that the network knows, by their numbers. */
export class WordPieces {
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #begin: number;
  readonly #end: number;
  readonly #unknown: number;

  /** The vocabulary has one piece in each line. A piece inside a word begins with `##`. */
  constructor(vocabulary: string) {
    const pieces = vocabulary.split('\n').map((line) => line.trimEnd());
    this.#numbers = new Map(pieces.map((piece, at) => [piece, at]));
    const [begin, end, unknown] = ['[CLS]', '[SEP]', '[UNK]'].map((one) => this.#numbers.get(one));
    if (begin === undefined || end === undefined || unknown === undefined)
      throw new TrunklineError('MODEL_INVALID', 'the vocabulary of the sentence encoder has no marks for the ends of a text'); // prettier-ignore
    [this.#begin, this.#end, this.#unknown] = [begin, end, unknown];
  }

  of(text: string): number[] {
    const numbers = [this.#begin];
    for (const word of wordsOf(text.slice(0, maxTextLetters))) {
      numbers.push(...this.#piecesOf(word));
      if (numbers.length >= maxPieces) break;
    }
    return [...numbers.slice(0, maxPieces - 1), this.#end];
  }

  /** The longest known piece first, then the longest one that goes on. */
  #piecesOf(word: string): number[] {
    const letters = Array.from(word);
    if (letters.length > maxLetters) return [this.#unknown];
    const found: number[] = [];
    for (let from = 0; from < letters.length;) {
      let to = letters.length;
      let number: number | undefined;
      for (; to > from; to--) {
        const piece = (from > 0 ? '##' : '') + letters.slice(from, to).join('');
        number = this.#numbers.get(piece);
        if (number !== undefined) break;
      }
      if (number === undefined) return [this.#unknown];
      found.push(number);
      from = to;
    }
    return found;
  }
}

/** Lower case without accents. Each mark, and each Chinese letter, is a word of its own. */
function wordsOf(text: string): string[] {
  const plain = text
    .replaceAll(/[\p{Cc}\p{Cf}\uFFFD]/gu, (letter) => (/\s/.test(letter) ? ' ' : ''))
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '');
  return plain
    .replaceAll(/[!-/:-@[-`{-~\p{P}\p{Script=Han}]/gu, ' $& ')
    .split(/\s+/)
    .filter(Boolean);
}

import { TrunklineError } from '../lib/errors.ts';
import { maxPieces, maxTextLetters } from './word-pieces.ts';

/** The file of the published encoder keeps the beginning of a word as this mark. */
const wordMark = '▁';
/** An unknown letter costs this much more than the least likely piece. */
const unknownCost = 10;

/**
 * Cuts a text in any language into the pieces that the network knows: of all ways to cut it, the likeliest one. The file
 * holds the pieces with their scores, and a table of letters that stand for others ("ﬁ" is "fi").
 */
export class UnigramPieces {
  readonly #scores = new Map<string, { number: number; score: number }>();
  readonly #letters = new Map<string, string>();
  readonly #begin: number;
  readonly #end: number;
  readonly #unknown: number;
  readonly #unknownScore: number;
  readonly #longest: number;

  constructor(bytes: Uint8Array) {
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    try {
      const count = file.readInt32LE(0);
      [this.#begin, this.#end, this.#unknown] = [4, 8, 16].map((at) => file.readInt32LE(at)) as [number, number, number]; // prettier-ignore
      const offsets = 28;
      const scores = offsets + 4 * (count + 1);
      const blob = scores + 4 * count;
      let [lowest, longest] = [Infinity, 1];
      for (let number = 0; number < count; number++) {
        const [from, to] = [0, 4].map((next) => file.readUInt32LE(offsets + 4 * number + next));
        const piece = file.toString('utf8', blob + (from ?? 0), blob + (to ?? 0));
        const score = file.readFloatLE(scores + 4 * number);
        lowest = Math.min(lowest, score);
        longest = Math.max(longest, piece.length);
        if (number !== this.#unknown && !this.#scores.has(piece)) this.#scores.set(piece, { number, score }); // prettier-ignore
      }
      [this.#unknownScore, this.#longest] = [lowest - unknownCost, longest];
      this.#readLetters(file, blob + Number(file.readBigUInt64LE(20)));
    } catch (error) {
      throw new TrunklineError('MODEL_INVALID', 'the pieces of the sentence encoder end too early', { cause: error }); // prettier-ignore
    }
  }

  of(text: string): number[] {
    // The ends of a text are pieces too.
    const found = this.#likeliest(this.#plain(text.slice(0, maxTextLetters)));
    return [this.#begin, ...found.slice(0, maxPieces - 2), this.#end];
  }

  #readLetters(file: Buffer, from: number): void {
    let at = from + 8;
    for (let left = file.readInt32LE(from); left > 0; left--) {
      const letter = String.fromCodePoint(file.readUInt32LE(at));
      const others = Array.from({ length: file.readUInt8(at + 4) }, (_, index) =>
        String.fromCodePoint(file.readUInt32LE(at + 5 + 4 * index)),
      );
      this.#letters.set(letter, others.join(''));
      at += 5 + 4 * others.length;
    }
  }

  #plain(text: string): string {
    const letters = Array.from(
      text.toWellFormed(),
      (letter) => this.#letters.get(letter) ?? letter,
    );
    const spaced = letters.join('').replaceAll(/ {2,}/g, ' ');
    return (spaced.startsWith(' ') ? spaced : ` ${spaced}`).replaceAll(' ', wordMark);
  }

  /** For each place the likeliest way to it, each from an earlier place with one piece more. */
  #likeliest(text: string): number[] {
    const letters = Array.from(text);
    const ways: { score: number; from: number; number: number }[] = [{ score: 0, from: 0, number: -1 }]; // prettier-ignore
    for (let from = 0; from < letters.length; from++) {
      const here = ways[from]?.score ?? -Infinity;
      let piece = '';
      for (let to = from + 1; to <= letters.length; to++) {
        piece += letters[to - 1] ?? '';
        if (piece.length > this.#longest) break;
        const known = this.#scores.get(piece);
        if (known) better(ways, to, { score: here + known.score, from, number: known.number });
      }
      better(ways, from + 1, { score: here + this.#unknownScore, from, number: this.#unknown });
    }
    const found: number[] = [];
    for (let to = letters.length; to > 0; to = ways[to]?.from ?? 0) found.push(ways[to]?.number ?? this.#unknown); // prettier-ignore
    return found.toReversed();
  }
}

function better<Way extends { score: number }>(ways: Way[], to: number, way: Way): void {
  const known = ways[to];
  if (known === undefined || way.score > known.score) ways[to] = way;
}

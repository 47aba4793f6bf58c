import { directionSize, type SentenceDirection } from '../meaning/directions.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { askedShare } from './ranking.ts';

/** The model and the form that made directions. Others are not comparable. */
const madeBy = 'all-MiniLM-L6-v2/8:';

/** Directions as a text that every database keeps: whole passage, title, body, and then each question. */
export function textOfDirections(directions: readonly SentenceDirection[]): string {
  return madeBy + Buffer.concat(directions.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength))).toString('base64'); // prettier-ignore
}

export function directionsFrom(text: string): Int8Array | undefined {
  if (!text.startsWith(madeBy)) return undefined;
  const bytes = Buffer.from(text.slice(madeBy.length), 'base64');
  if (bytes.length === 0 || bytes.length % directionSize !== 0) return undefined;
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A directions' comparison goes on for so long, and then others have their turn. */
const sliceMs = 2;
const comparedAtOnce = 200;

/** The directions of all passages, in one piece of memory that a loop walks through. */
export class PassageDirections {
  #numbers = new Int8Array(0);
  #lengths: number[] = [];
  readonly #first: number[] = [];
  readonly #pieces: Int8Array[] = [];
  #count = 0;

  /** The directions of the next passage: three or more. */
  add(directions: Int8Array): void {
    this.#first.push(this.#count);
    this.#count += directions.length / directionSize;
    this.#pieces.push(directions);
  }

  get size(): number {
    return this.#first.length;
  }

  done(): void {
    this.#numbers = new Int8Array(this.#count * directionSize);
    let at = 0;
    for (const piece of this.#pieces.splice(0)) {
      this.#numbers.set(piece, at);
      at += piece.length;
    }
    this.#lengths = Array.from(
      { length: this.#count },
      (_, row) =>
      Math.sqrt(this.#product(row, this.#numbers.subarray(row * directionSize, (row + 1) * directionSize)) || 1), // prettier-ignore
    );
  }

  /** The nearness of each passage to a question, in their order. */
  async nearness(question: SentenceDirection): Promise<Float32Array> {
    const near = new Float32Array(this.#first.length);
    const length = Math.hypot(...question) || 1;
    const slice = new TimeSlice(sliceMs);
    for (let passage = 0; passage < near.length; passage++) {
      const from = this.#first[passage] ?? 0;
      const to = this.#first[passage + 1] ?? this.#count;
      const of = (row: number): number => this.#product(row, question) / ((this.#lengths[row] ?? 1) * length); // prettier-ignore
      const [whole, title, body] = [of(from), of(from + 1), of(from + 2)];
      const score = (2 * whole + title + Math.max(title, body)) / 4;
      let asked = score;
      for (let row = from + 3; row < to; row++) asked = Math.max(asked, of(row));
      near[passage] = score + askedShare * (asked - score);
      if (passage % comparedAtOnce === 0) await slice.stepped();
    }
    return near;
  }

  #product(row: number, other: Int8Array): number {
    const numbers = this.#numbers;
    const from = row * directionSize;
    let sum = 0;
    for (let at = 0; at < directionSize; at++) sum += (numbers[from + at] ?? 0) * (other[at] ?? 0);
    return sum;
  }
}

import { cosine, directionSize, type SentenceDirection } from '../meaning/directions.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { askedShare } from './ranking.ts';
import type { QuestionDirections } from './sayings.ts';

/** The model and the form that made directions. Others are not comparable, and are made again. */
const madeBy = 'all-MiniLM-L6-v2/8+sentences:';
/** The whole passage, its title and its body. */
const kinds = 3;

/** A passage as it is known by its meaning. */
export type PassageMeaning = {
  /** The directions of the whole passage, its title, its body, and then each question that its author gave. */
  whole: Int8Array;
  /** A direction a sentence. */
  sentences: Int8Array;
};

/** Directions as a text that every database keeps: whole passage, title, body, questions; and then the sentences. */
export function textOfDirections(
  whole: readonly SentenceDirection[],
  sentences: readonly SentenceDirection[],
): string {
  return `${madeBy}${inBase64(whole)}.${inBase64(sentences)}`;
}

function inBase64(directions: readonly SentenceDirection[]): string {
  return Buffer.concat(
    directions.map((one) => Buffer.from(one.buffer, one.byteOffset, one.byteLength)),
  ).toString('base64');
}

export function meaningFrom(text: string): PassageMeaning | undefined {
  if (!text.startsWith(madeBy)) return undefined;
  const [whole, sentences] = text.slice(madeBy.length).split('.').map(bytesFrom);
  if (whole === undefined || sentences === undefined) return undefined;
  return whole.length < kinds * directionSize ? undefined : { whole, sentences };
}

function bytesFrom(base64: string): Int8Array | undefined {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length % directionSize !== 0) return undefined;
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * The nearness of a passage to a question: half of it is that of the passage, half that of its nearest sentence. Callers
 * tell what happened to them, which is often one sentence of many. A question that the article answers is like a
 * sentence of it, but two questions are likelier alike than a question and a text: it counts in part. Questions are
 * compared as they were said, texts with what is meant.
 */
export function nearnessOf(
  { whole, sentences }: PassageMeaning,
  { said, meant }: QuestionDirections,
  kept: readonly SentenceDirection[],
): number {
  const rows = rowsOf(whole);
  const [all = 0, title = 0, body = 0] = rows.slice(0, kinds).map((one) => cosine(one, meant));
  const passage = ofPassage(all, title, body);
  const sentence = Math.max(...rowsOf(sentences).map((one) => cosine(one, meant)));
  const nearest = sentences.length === 0 ? passage : sentence;
  const asked = [...rows.slice(kinds), ...kept].map((one) => cosine(one, said));
  const known = Math.max(nearest, ...asked);
  return (passage + nearest + askedShare * (known - nearest)) / 2;
}

function ofPassage(whole: number, title: number, body: number): number {
  return (2 * whole + title + Math.max(title, body)) / 4;
}

function rowsOf(directions: Int8Array): SentenceDirection[] {
  return Array.from({ length: directions.length / directionSize }, (_, row) =>
    directions.subarray(row * directionSize, (row + 1) * directionSize),
  );
}

/** A directions' comparison goes on for so long, and then others have their turn. */
const sliceMs = 2;
const comparedAtOnce = 200;

/** The directions of all passages, in one piece of memory that a loop walks through: it finds the likely ones. */
export class PassageDirections {
  #numbers = new Int8Array(0);
  #lengths: number[] = [];
  readonly #first: number[] = [];
  readonly #pieces: Int8Array[] = [];
  #count = 0;

  /** Adds the next passage. Its sentences stay in the database: few passages are looked at that closely. */
  add({ whole: directions }: PassageMeaning): void {
    this.#first.push(this.#count);
    this.#count += directions.length / directionSize;
    this.#pieces.push(directions.slice());
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
  async nearness({ said, meant }: QuestionDirections): Promise<Float32Array> {
    const near = new Float32Array(this.#first.length);
    const [lengthSaid, lengthMeant] = [lengthOf(said), lengthOf(meant)];
    const slice = new TimeSlice(sliceMs);
    for (let passage = 0; passage < near.length; passage++) {
      const from = this.#first[passage] ?? 0;
      const to = this.#first[passage + 1] ?? this.#count;
      const of = (row: number): number => this.#product(row, meant) / ((this.#lengths[row] ?? 1) * lengthMeant); // prettier-ignore
      const ofAsked = (row: number): number => this.#product(row, said) / ((this.#lengths[row] ?? 1) * lengthSaid); // prettier-ignore
      const [whole, title, body] = [of(from), of(from + 1), of(from + 2)];
      const score = ofPassage(whole, title, body);
      let asked = score;
      for (let row = from + kinds; row < to; row++) asked = Math.max(asked, ofAsked(row));
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

function lengthOf(direction: SentenceDirection): number {
  return Math.hypot(...direction) || 1;
}

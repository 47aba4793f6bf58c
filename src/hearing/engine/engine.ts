import type { TextLanguage } from './language-choice.ts';
import type { MoonshineReader } from '../decoder/moonshine-reader.ts';
import type { ExpectedAnswer } from '../expected-words.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from '../recogniser.ts';

export const engineRateHz = 16000;

/**
 * The arrival time of a block of audio, and whether the audio comes as it is spoken. Nobody waits for a recording that
 * is sent at once.
 */
export type Arrival = { atMs: number; live: boolean };

/**
 * The kinds of a stream's next reading, in the order in which the loop serves them. Every step is one
 * reading, so that no stream waits longer than for one of another stream.
 *
 *   first    the first reading of a piece whose end a live caller waits for
 *   more     a further reading of such a piece, which makes its final better
 *   glimpse  a short reading that may bring an utterance's first partial
 *   ahead    a reading during a pause that may turn out to be the end
 *   partial  a reading for a later partial
 *   bulk     audio that came faster than it was spoken: nobody waits for it
 */
export const ranks = { first: 0, more: 1, glimpse: 2, ahead: 3, partial: 4, bulk: 5 } as const;
/** `needed`: a live caller cannot do without this reading, at whatever moment it is made. */
export type Urgency = { rank: number; dueMs: number; needed: boolean };

/** One stream inside a child: takes 16 kHz blocks and emits what it recognises. */
export type EngineSession = {
  /** Takes a block of 16 kHz audio. */
  push(block: Float32Array): void;
  /** Listens to what was pushed. Events that need no reading are emitted before it returns. */
  listen(arrival: Arrival): void;
  /** The kind of answer that is expected from this second on; missing where the engine prefers no words. */
  expect?(answer: ExpectedAnswer | undefined, fromS: number): void;
  /** No more audio comes. `finished` is emitted after the last step. */
  finish(arrival: Arrival): void;
  /** True when no reading waits: everything is decided except the utterance that is still being spoken. */
  readonly settled: boolean;
  /** True while so much audio waits to be read that more of it would only fill the memory. */
  readonly full: boolean;
  /** The moment by which a live caller's final was due; undefined while no live caller waits. */
  readonly dueMs: number | undefined;
  /** The expected time of the first readings that live callers of this stream will wait for. */
  readonly firstReadingMs: number;
  /** The urgency of the next step; undefined when there is none. */
  urgency(nowMs: number): Urgency | undefined;
  step(nowMs: number): void;
};

export type Engine = {
  /** True where the times of words are estimated from the audio, because no reading tells them. */
  readonly estimatedTimes: boolean;
  /**
   * The cost of a caller who speaks all the time, in shares of a core: voice detection, and one reading of everything.
   */
  measure(): { listening: number; reading: number };
  /** The share of a core for one reading of everything, learned from real readings; 0 where listening is reading. */
  readingShare(): number;
  /** Processor seconds that all readings so far took. */
  readonly readS: number;
  open(options: RecogniserStreamOptions, emit: (event: RecogniserEvent) => void): EngineSession;
};

export type EngineOptions = {
  vadModel: string;
  load: () => LoadLevel;
  textLanguage: TextLanguage;
  /** The model for our own decoder; undefined where the native engine has to read it. */
  reader: MoonshineReader | undefined;
};

/** The load of the process. Readings that only make an answer better are given up first. */
export type LoadLevel = {
  /** The share of the time that voice detection and the first readings of live callers' finals take, also those ahead. */
  needed: number;
  /** The lateness of the oldest audio or final of a live caller. */
  latenessMs: number;
  /** The time for the first readings of all live callers, if everybody who speaks now stops together. */
  togetherMs: number;
  /** True where nobody waits for the words: they are read with more care. */
  isPatient?: boolean;
};

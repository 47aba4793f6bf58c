import type { TextLanguage } from './language-choice.ts';
import type { MoonshineReader } from '../decoder/moonshine-reader.ts';
import type { ExpectedAnswer } from '../expected-words.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from '../recogniser.ts';

export const engineRateHz = 16000;

/**
 * The time at which a block of audio arrived, and whether it comes as fast as it is spoken. Nobody waits for a
 * recording that is sent at once.
 */
export type Arrival = { atMs: number; live: boolean };

/**
 * The kinds of a stream's next reading, in the order in which the loop serves them. Every step is one
 * reading, so that no stream waits longer than for one reading of another stream.
 *
 *   first    the first reading of a piece whose end a live caller waits for
 *   more     a further reading of such a piece, which makes its final better
 *   glimpse  a short reading that may bring an utterance's first partial
 *   ahead    a reading during a pause that may turn out to be the end
 *   partial  a reading for a later partial
 *   bulk     audio that came faster than it was spoken: nobody waits for it
 */
export const ranks = { first: 0, more: 1, glimpse: 2, ahead: 3, partial: 4, bulk: 5 } as const;
/** `needed` means that a live caller cannot do without this reading, whenever it is made. */
export type Urgency = { rank: number; dueMs: number; needed: boolean };

/** One stream inside a child. It takes 16 kHz blocks and emits what it recognises. */
export type EngineSession = {
  /** Takes a block of 16 kHz audio. */
  push(block: Float32Array): void;
  /** Processes what was pushed. Events that need no reading are emitted before it returns. */
  listen(arrival: Arrival): void;
  /** Sets the kind of answer expected from this second on. Missing if the engine cannot prefer words. */
  expect?(answer: ExpectedAnswer | undefined, fromS: number): void;
  /** Tells that no more audio comes. `finished` is emitted after the last step. */
  finish(arrival: Arrival): void;
  /** True if no reading waits: everything is decided except the utterance that is still being spoken. */
  readonly settled: boolean;
  /** True while so much audio waits for a reading that more would only fill the memory. */
  readonly full: boolean;
  /** The time at which a live caller's final was due. Undefined while no live caller waits. */
  readonly dueMs: number | undefined;
  /** The expected duration of the first readings that live callers of this stream will wait for. */
  readonly firstReadingMs: number;
  /** The urgency of the next step, or undefined if there is none. */
  urgency(nowMs: number): Urgency | undefined;
  step(nowMs: number): void;
};

export type Engine = {
  /** True if the times of words are estimated from the audio, because no reading provides them. */
  readonly estimatedTimes: boolean;
  /**
   * The cost of a caller who speaks all the time, as a share of a core: voice detection, and one reading of all speech.
   */
  measure(): { listening: number; reading: number };
  /**
   * The share of a core for one reading of all speech, learned from real readings. 0 if the model reads while it
   * listens.
   */
  readingShare(): number;
  /** The processor seconds of all readings so far. */
  readonly readS: number;
  open(options: RecogniserStreamOptions, emit: (event: RecogniserEvent) => void): EngineSession;
};

export type EngineOptions = {
  vadModel: string;
  load: () => LoadLevel;
  textLanguage: TextLanguage;
  /** The model for our own decoder. Undefined if the native engine has to read it. */
  reader: MoonshineReader | undefined;
};

/** The load of the process. Readings that only improve an answer are given up first. */
export type LoadLevel = {
  /** The share of time that voice detection and first readings of live finals need, including those made in advance. */
  needed: number;
  /** The lateness of the oldest audio or final of a live caller. */
  latenessMs: number;
  /** The time for the first readings of all live callers if everybody stops speaking now. */
  togetherMs: number;
  /** True if nobody waits for the words, so they are read with more care. */
  isPatient?: boolean;
};

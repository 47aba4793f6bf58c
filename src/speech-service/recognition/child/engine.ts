import type { TextLanguage } from './language-choice.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from '../recogniser.ts';

export const engineRateHz = 16000;

/** When a block of audio came, and whether it comes as it is spoken: a recording sent at once is in no hurry. */
export type Heard = { atMs: number; live: boolean };

/**
 * What a stream could do next. Every step is one reading, so that nobody waits longer than for one:
 * first what a caller waits for, last what nobody does. A glimpse is what may bring an utterance's
 * first partial: it is short.
 */
export const ranks = { first: 0, more: 1, glimpse: 2, ahead: 3, partial: 4, bulk: 5 } as const;
export type Urgency = { rank: number; dueMs: number };

/** One stream inside a child: gets 16 kHz blocks, tells what it heard. */
export type EngineSession = {
  /** A block of 16 kHz audio; what needs no reading is emitted before it returns. */
  accept(block: Float32Array, heard: Heard): void;
  /** No more audio: `finished` is emitted when the last step is done. */
  finish(heard: Heard): void;
  /** Has decided all that it was given, but for what is still being said: readings wait otherwise. */
  readonly settled: boolean;
  /** So much waits to be read that more audio would only grow the heap. */
  readonly full: boolean;
  /** When what a live caller waits for was to be told; undefined while nobody waits. */
  readonly dueMs: number | undefined;
  /** The next step, if there is one. */
  urgency(nowMs: number): Urgency | undefined;
  step(nowMs: number): void;
};

export type Engine = {
  /** Shares of a core that somebody who speaks all the time costs in voice detection and one reading of everything. */
  measure(): { listening: number; reading: number };
  /** The latter as learned from readings since; 0 where listening is reading. */
  readingShare(): number;
  /** Processor seconds that all readings took. */
  readonly readS: number;
  open(options: RecogniserStreamOptions, emit: (event: RecogniserEvent) => void): EngineSession;
};

export type EngineOptions = {
  vadModel: string;
  load: () => LoadLevel;
  textLanguage: TextLanguage;
};

/** How hard the process is working; what is optional gives way first. */
export type LoadLevel = {
  /** Share of the time that goes into what must be done for live callers: listening and one reading of everything. */
  needed: number;
  /** By how much audio or finals are overdue. */
  latenessMs: number;
};

import type { TextLanguage } from './language-choice.ts';
import type { LegCost } from './messages.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from './recogniser.ts';

export const engineRateHz = 16000;

/** One stream inside a child: gets 16 kHz blocks, tells what it heard. */
export type EngineSession = {
  /** A block of 16 kHz audio; finals that it completes are emitted before it returns. */
  accept(block: Float32Array): void;
  finish(): void;
  /** A partial is worth its price now: asked only while nothing more urgent waits. */
  partialDue?(nowMs: number): boolean;
  emitPartial?(nowMs: number): void;
};

export type Engine = {
  estimatedTimes: boolean;
  /** Runs something like a leg and measures it. */
  measure(): LegCost;
  open(options: RecogniserStreamOptions, emit: (event: RecogniserEvent) => void): EngineSession;
};

export type EngineOptions = {
  vadModel: string;
  load: () => LoadLevel;
  textLanguage: TextLanguage;
};

/** How hard the process is working; what is optional gives way first. */
export type LoadLevel = { busy: number; latenessMs: number };

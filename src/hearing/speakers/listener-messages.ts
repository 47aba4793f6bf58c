import type { LiveTurns } from './speaker-turns.ts';

/** Messages to the process that listens to all live legs. Legs are our own numbers, and no message names a call. */
export type ToLiveListener =
  | { type: 'load'; weights: string; voiceActivityModel: string }
  | { type: 'open'; leg: number; rateHz: number }
  /** The next samples of a leg. Each order gets one answer. With `group` the answer tells who speaks when. */
  | { type: 'hear'; leg: number; samples: Int16Array; group: boolean; isLast: boolean }
  | { type: 'close'; leg: number };

export type FromLiveListener =
  | { type: 'heard'; leg: number; told?: LiveTurns | undefined }
  /** The message is for the log. */
  | { type: 'failed'; message: string };

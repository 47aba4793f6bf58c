import type { VoiceTurn } from './turns.ts';

/** Messages to the process that listens to all live legs. Legs are numbers of ours, and no message names a call. */
export type ToLiveListener =
  | { type: 'load'; weights: string; voiceActivityModel: string }
  | { type: 'open'; leg: number; rateHz: number }
  /** The next samples of a leg; each order gets one answer. With `group` the answer says who speaks when. */
  | { type: 'hear'; leg: number; samples: Int16Array; group: boolean; isLast: boolean }
  | { type: 'close'; leg: number };

export type FromLiveListener =
  | { type: 'heard'; leg: number; told?: LiveTurns }
  /** The message is for the log. */
  | { type: 'failed'; message: string };

export type LiveTurns = {
  turns: VoiceTurn[];
  /** The second up to which the turns are known. Behind it somebody may still be speaking. */
  knownS: number;
};

import type { VoiceTurn } from './turns.ts';

/** To the process that listens to all live legs. Legs are numbers of ours; nothing in it names a call. */
export type ToLiveListener =
  | { type: 'load'; weights: string; voiceActivityModel: string }
  | { type: 'open'; leg: number; rateHz: number }
  /** The next samples of a leg; one answer each. `group`: who speaks when is asked for, too. */
  | { type: 'hear'; leg: number; samples: Int16Array; group: boolean; isLast: boolean }
  | { type: 'close'; leg: number };

export type FromLiveListener =
  | { type: 'heard'; leg: number; told?: LiveTurns }
  /** The message is for the log. */
  | { type: 'failed'; message: string };

export type LiveTurns = {
  turns: VoiceTurn[];
  /** Seconds up to which the turns are known: behind it somebody may still be speaking. */
  knownS: number;
};

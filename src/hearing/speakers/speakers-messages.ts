import type { VoiceTurn } from './speaker-turns.ts';
import type { SpeakerHints } from './voice-groups.ts';

/** Decoded audio: headerless 16-bit little-endian mono at 16 kHz. */
export type SpokenChannel = { channel: number; path: string; samples: number };

export type SpeakersOrder = {
  channels: readonly SpokenChannel[];
  hints: SpeakerHints;
  weights: string;
  voiceActivityModel: string;
};

export type SpeakersAnswer =
  /** The turns of each channel of the order. */
  | { outcome: 'found'; turns: VoiceTurn[][] }
  /** The message is for the client, the reason for the log. */
  | { outcome: 'failed'; message: string; reason: string };

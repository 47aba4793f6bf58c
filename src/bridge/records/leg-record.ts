import type { Role } from '../../protocol/events.ts';
import type { StreamEncoding } from '../streams.ts';

export type LegFormat = { encoding: StreamEncoding; sampleRate: number; channels: 1 | 2 };

export type LegRecord = LegFormat & {
  readonly id: string;
  readonly role: Role;
  /** The role of each channel of a stereo leg. */
  readonly channelRoles: readonly [Role, Role];
  readonly track: string;
  readonly startedAt: number;
  /** The languages that an earlier process had heard, the present one last. */
  readonly languages?: readonly string[] | undefined;
};

export type LegSession = {
  id: string;
  /** The leg time of the session's first byte, in seconds. */
  offsetS: number;
};

const bytesPerSample: Record<StreamEncoding, number> = { mulaw: 1, alaw: 1, pcm8: 1, pcm16: 2 };

export function bytesPerSecondOf(leg: LegFormat): number {
  return leg.sampleRate * leg.channels * bytesPerSample[leg.encoding];
}

/** Rounds to whole samples: half a sample would turn every later byte into noise. */
export function wholeBytes(leg: LegFormat, seconds: number): number {
  const frame = leg.channels * bytesPerSample[leg.encoding];
  return Math.max(0, Math.round(seconds * leg.sampleRate)) * frame;
}

export function isSameFormat(a: LegFormat, b: LegFormat): boolean {
  return a.encoding === b.encoding && a.sampleRate === b.sampleRate && a.channels === b.channels;
}

import { bytesPerSecondOf } from '../records/leg-record.ts';
import { round3 } from '../../lib/round.ts';
import type { CallRow, LegRow } from '../events/call-rows.ts';
import type { StreamEncoding } from '../streams.ts';
import type { CallLength } from '../records/call-record.ts';

type LengthFacts = {
  startedAt: number;
  hungUpAt: number;
  reason: string | null;
  /** The end of the last audio of any leg, in seconds of the call. */
  audioS: number;
};

export function callLength({ startedAt, hungUpAt, reason, audioS }: LengthFacts): CallLength {
  // After a restart nobody knows when the caller hung up. The length of the received audio is used instead.
  if (reason === 'restart')
    return { hungUpAt: Math.round(startedAt + audioS * 1_000), durationS: round3(audioS) };
  // The call is at least as long as its audio. A recorded call may be played faster than real time.
  return { hungUpAt, durationS: round3(Math.max(audioS, (hungUpAt - startedAt) / 1_000)) };
}

/** Computes the length from the rows. Returns undefined until somebody has hung up. */
export function lengthOf(
  call: Pick<CallRow, 'started_at' | 'hung_up_at' | 'end_reason'>,
  legs: readonly LegRow[],
  openLegEndsS: readonly number[] = [],
): CallLength | undefined {
  if (call.hung_up_at === null) return undefined;
  return callLength({
    startedAt: call.started_at,
    hungUpAt: call.hung_up_at,
    reason: call.end_reason,
    audioS: Math.max(0, ...openLegEndsS, ...legs.map(legEndS)),
  });
}

function legEndS(leg: LegRow): number {
  return (leg.offset_ms ?? 0) / 1_000 + legDurationS(leg);
}

/** Silence in place of paused audio counts in both `received` and `filler`, so it is subtracted once. */
export function legDurationS(leg: LegRow): number {
  const rate = bytesPerSecondOf({
    encoding: leg.encoding as StreamEncoding,
    sampleRate: leg.sample_rate,
    channels: leg.channels === 2 ? 2 : 1,
  });
  return round3((leg.received + leg.filler - leg.paused) / rate);
}

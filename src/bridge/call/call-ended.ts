import type { StreamEncoding } from '../seam.ts';
import { Role, type CallEventData, type Turn } from '../../protocol/events.ts';
import { bytesPerSecondOf } from './leg.ts';
import type { LegRow } from '../events/call-rows.ts';
import { statisticsOf } from './statistics.ts';

export type EndedFacts = {
  reason: CallEventData<'call.ended'>['reason'];
  startedAt: number;
  hungUpAt: number;
  endedAt: number;
  deadline: string | null;
  gaps: number;
  legs: readonly LegRow[];
  turns: readonly Turn[];
};

/** What `call.ended` says: the books of every leg, and how the conversation went. Pure. */
export function endedData(facts: EndedFacts): CallEventData<'call.ended'> {
  const legs = facts.legs.map((leg) => ({
    id: leg.id,
    role: Role.safeParse(leg.role).data ?? 'customer',
    track: leg.track,
    duration: durationOf(leg),
    ledger: ledgerOf(leg),
  }));
  const endOf = (leg: LegRow): number => (leg.offset_ms ?? 0) / 1_000 + durationOf(leg);
  // Nobody saw the end of a call whose stream was gone after a restart: it is as long as what was heard of it.
  const seenS = facts.reason === 'restart' ? 0 : (facts.hungUpAt - facts.startedAt) / 1_000;
  // A call that was played faster than life is as long as its audio.
  const durationS = Math.max(seenS, ...facts.legs.map(endOf));
  return {
    reason: facts.reason,
    ended_at: new Date(facts.endedAt).toISOString(),
    deadline: facts.deadline,
    legs,
    ...statisticsOf(facts.turns, durationS),
    gaps: facts.gaps,
    reconnects: facts.legs.reduce((sum, leg) => sum + leg.reconnects, 0),
  };
}

/** Design.md section 1: every received byte is acknowledged, in a declared gap, or paused. */
export function isBalanced(ledger: {
  received: number;
  acknowledged: number;
  gaps: number;
  paused: number;
}): boolean {
  return ledger.received === ledger.acknowledged + ledger.gaps + ledger.paused;
}

function durationOf(leg: LegRow): number {
  const rate = bytesPerSecondOf({
    encoding: leg.encoding as StreamEncoding,
    sampleRate: leg.sample_rate,
    channels: leg.channels === 2 ? 2 : 1,
  });
  return Math.round(((leg.received + leg.filler) / rate) * 1_000) / 1_000;
}

function ledgerOf({ received, acknowledged, gaps, paused, filler }: LegRow) {
  return { received, acknowledged, gaps, paused, filler };
}

import { LegLedger } from './ledger.ts';
import type { LegSnapshot } from './snapshot.ts';

/** What another node keeps of a leg for the case that its own is lost: no audio, and no words, which may be unredacted. */
export type SharedLegState = Omit<LegSnapshot, 'waiting'>;

type LegAfterLoss = {
  snapshot: LegSnapshot;
  /** Leg positions that nobody has any more. */
  gap: { start: number; end: number } | undefined;
};

/**
 * The leg of a node that is gone with its disk, as another goes on with it. What the service has heard of it, `heard`
 * bytes of its last session, counts as acknowledged, also where it is more than the lost node had written down; the
 * rest is lost. The old session hears no more: the next bytes go to a new one. Pure.
 */
export function legAfterLoss(
  state: SharedLegState,
  heard: number | undefined,
  bytesPerSecond: number,
): LegAfterLoss {
  const ledger = new LegLedger(state.ledger);
  const { current, ...left } = state;
  const base = current?.flight.base ?? 0;
  if (current !== undefined && heard !== undefined) {
    const said = base + heard;
    // Durations come in milliseconds at best: one that lies this close to the last byte means that byte.
    const slack = Math.ceil(bytesPerSecond / 1_000);
    const position = Math.abs(said - ledger.end) <= slack ? ledger.end : said;
    if (position > ledger.end) ledger.audio(position - ledger.end);
    ledger.acknowledge(position);
  }
  const gap = { start: ledger.settled, end: ledger.end };
  if (gap.end > gap.start) ledger.gap(gap.start, gap.end);
  const sessions = state.sessions.map((session) =>
    session.id === current?.id && heard !== undefined ? { ...session, end: base + heard } : session,
  );
  return {
    snapshot: { ...left, sessions, spilled: 0, ledger: ledger.snapshot() },
    gap: gap.end > gap.start ? gap : undefined,
  };
}

import { LegLedger } from '../records/ledger.ts';
import type { LegSnapshot } from '../records/leg-snapshot.ts';

/** What another node keeps of a leg for the case that its own is lost: no audio, and no words, which may be unredacted. */
export type SharedLegState = Omit<LegSnapshot, 'waiting'>;

type LegAfterLoss = {
  snapshot: LegSnapshot;
  /** Leg positions that nobody has any more, in order. */
  gaps: LegRange[];
};

type LegRange = { start: number; end: number };

/**
 * The leg of a node that is gone with its disk, as another goes on with it. What the service has heard of it, `heard`
 * bytes of its last session, counts as acknowledged, also where it is more than the lost node had written down. What was
 * kept elsewhere (`kept`, in order) goes to the service again; the rest is lost. The old session hears no more: the next bytes go to a new one. Pure.
 */
export function legAfterLoss(
  state: SharedLegState,
  heard: number | undefined,
  bytesPerSecond: number,
  kept: readonly LegRange[] = [],
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
  const keptTo = kept.at(-1)?.end ?? 0;
  if (keptTo > ledger.end) ledger.audio(keptTo - ledger.end);
  const gaps: LegRange[] = [];
  let at = ledger.settled;
  for (const { start, end } of [...kept, { start: ledger.end, end: ledger.end }]) {
    if (start > at) gaps.push({ start: at, end: start });
    at = Math.max(at, end);
  }
  for (const { start, end } of gaps) ledger.gap(start, end);
  const sessions = state.sessions.map((session) =>
    session.id === current?.id && heard !== undefined ? { ...session, end: base + heard } : session,
  );
  return {
    snapshot: { ...left, sessions, spilled: keptTo, ledger: ledger.snapshot() },
    gaps,
  };
}

import { LegLedger } from '../records/ledger.ts';
import type { LegSnapshot } from '../records/leg-snapshot.ts';

/**
 * The state of a leg that the database keeps for other nodes, in case this node is lost. It contains no audio and no
 * words, because the words may be unredacted.
 */
export type SharedLegState = Omit<LegSnapshot, 'waiting'>;

type LegAfterLoss = {
  snapshot: LegSnapshot;
  /** Leg positions of audio that no longer exists anywhere, in order. */
  gaps: LegRange[];
};

type LegRange = { start: number; end: number };

/**
 * Computes the state from which another node continues a leg whose node was lost with its disk. Audio that the service
 * has heard (`heard` bytes of the leg's last session) counts as acknowledged, even if the lost node had not recorded
 * that yet. Audio that is stored elsewhere (`kept`, in order) is sent to the service again; the rest is lost. The next
 * bytes go to a new session. Pure.
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
    // Durations are exact to milliseconds at best. A duration that ends this close to the last byte means the last
    // byte.
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

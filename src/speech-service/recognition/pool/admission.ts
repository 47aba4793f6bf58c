import type { LegCost } from './messages.ts';

/**
 * The share of a core that recognition may plan with. Each leg counts with its whole cost from the
 * moment it is promised, whatever it does yet; the rest absorbs that several finals are due at once.
 */
const plannedShare = 0.45;
/** A bound where cost is next to nothing: sockets and messages have a price too. */
const mostPerProcess = 400;
/** Work that has waited this long at every report in a row makes finals too late. */
const lateMs = 500;
const reportsInARow = 4;
/** With fewer streams it is not they who make the machine late, and refusing one more would mend nothing. */
const leastShare = 0.25;

/** Legs that may speak all the time in one process and still be served in time. */
export function capacityOf(cost: LegCost | undefined): number {
  if (!cost || cost.least <= 0) return mostPerProcess; // not measured yet: audio waits in the streams
  return Math.max(1, Math.min(mostPerProcess, Math.floor(plannedShare / cost.least)));
}

/** One process as admission sees it. */
export type Occupied = { streams: number; capacity: number; lateness: readonly number[] };

/** Late for a while, and because of what it serves: a burst that is being caught up with is neither. */
export function overloaded({ streams, capacity, lateness }: Occupied): boolean {
  const recent = lateness.slice(-reportsInARow);
  return (
    streams >= capacity * leastShare &&
    recent.length === reportsInARow &&
    recent.every((ms) => ms > lateMs)
  );
}

import type { LegCost } from '../engine/child-messages.ts';

/**
 * The share of a core that admission gives away. A leg counts with its whole cost from the moment when its place is
 * promised, also while it is silent. The rest absorbs the moments in which several callers stop speaking together and
 * all their finals are due at once.
 */
const plannedShare = 0.65;
/** The bound for models whose readings cost next to nothing: sockets and messages cost something, too. */
const mostPerProcess = 400;
/** A process is late when its work has waited longer than this at each of its last reports. */
const lateMs = 500;
const reportsInARow = 4;
/**
 * A process that serves less than this share of its capacity cannot be late because of its own streams:
 * something else keeps the machine busy. Refusing one more session would not make it faster.
 */
const leastShare = 0.25;

/** The number of legs that one process serves in time although all of them speak all the time. */
export function capacityOf(cost: LegCost | undefined): number {
  if (!cost || cost.least <= 0) return mostPerProcess; // not measured yet: the audio waits in its stream
  return Math.max(1, Math.min(mostPerProcess, Math.floor(plannedShare / cost.least)));
}

/**
 * Every machine takes at least the channels of one session, whatever they cost there. A service that is idle and
 * refuses helps nobody, and under load partials, further readings and beams are given up before finals are late.
 */
const leastCapacity = 8;

/** The number of legs that all processes of a machine serve together, from the costs that they have measured. */
export function capacityOfAll(costs: readonly LegCost[], processes: number): number {
  return Math.max(leastCapacity, capacityOf(leastOf(costs)) * processes);
}

/**
 * The lowest cost that a process has measured. All processes share one machine, and a higher measurement is caused by
 * something else that ran beside it.
 */
export function leastOf(costs: readonly LegCost[]): LegCost | undefined {
  return costs.length === 0 ? undefined : { least: Math.min(...costs.map(({ least }) => least)) };
}

/** One process as admission sees it. */
type Occupied = { streams: number; capacity: number; lateness: readonly number[] };

/**
 * True when a process has been late for several reports in a row and its own streams are the reason.
 * A single late report is a burst that is being caught up with; nobody is refused for it.
 */
export function overloaded({ streams, capacity, lateness }: Occupied): boolean {
  const recent = lateness.slice(-reportsInARow);
  return (
    streams >= capacity * leastShare &&
    recent.length === reportsInARow &&
    recent.every((ms) => ms > lateMs)
  );
}

import type { LegCost } from '../engine/child-messages.ts';

/**
 * The share of a core that admission may assign. A leg counts with its whole cost from the moment its place is
 * reserved, also while it is silent. The rest absorbs moments in which several callers stop together and all their
 * finals are due at once.
 */
const plannedShare = 0.65;
/** The limit for models whose readings cost almost nothing: sockets and messages also have a cost. */
const mostPerProcess = 400;
/** A process is late if its work waited longer than this in each of its last reports. */
const lateMs = 500;
const reportsInARow = 4;
/**
 * A process that serves less than this share of its capacity is not late because of its own streams: other work keeps
 * the machine busy. Refusing a session would not make it faster.
 */
const leastShare = 0.25;

/** The number of legs that one process serves in time if all of them speak all the time. */
export function capacityOf(cost: LegCost | undefined): number {
  if (!cost || cost.least <= 0) return mostPerProcess; // not measured yet; the audio waits in its stream
  return Math.max(1, Math.min(mostPerProcess, Math.floor(plannedShare / cost.least)));
}

/**
 * Every machine accepts at least the channels of one session, whatever they cost. A service that is idle and refuses
 * helps nobody. Under load, partials, further readings and beams are given up before finals become late.
 */
const leastCapacity = 8;

/** The number of legs that all processes of a machine serve together, from their measured costs. */
export function capacityOfAll(costs: readonly LegCost[], processes: number): number {
  return Math.max(leastCapacity, capacityOf(leastOf(costs)) * processes);
}

/**
 * The lowest cost that a process measured. All processes share one machine, and a higher value means that other work
 * ran beside the measurement.
 */
export function leastOf(costs: readonly LegCost[]): LegCost | undefined {
  return costs.length === 0 ? undefined : { least: Math.min(...costs.map(({ least }) => least)) };
}

/** One process as admission sees it. */
type Occupied = { streams: number; capacity: number; lateness: readonly number[] };

/**
 * True if a process was late in several consecutive reports because of its own streams. A single late report is a burst
 * that will be caught up, and nobody is refused for it.
 */
export function overloaded({ streams, capacity, lateness }: Occupied): boolean {
  const recent = lateness.slice(-reportsInARow);
  return (
    streams >= capacity * leastShare &&
    recent.length === reportsInARow &&
    recent.every((ms) => ms > lateMs)
  );
}

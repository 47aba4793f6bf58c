import type { ChildLoad, LegCost } from './messages.ts';

/** The share of a core that recognition may plan with: the rest absorbs that people speak at once. */
const plannedShare = 0.75;
/** A bound where cost is next to nothing: sockets and messages have a price too. */
const mostPerProcess = 400;
/** Finals this late are too late; nobody else is let in until it is over. */
const lateMs = 800;

/** Legs that may speak all the time in one process and still be served in time. */
export function capacityOf(cost: LegCost | undefined): number {
  if (!cost || cost.least <= 0) return mostPerProcess; // not measured yet: audio waits in the streams
  return Math.max(1, Math.min(mostPerProcess, Math.floor(plannedShare / cost.least)));
}

export function overloaded(load: ChildLoad): boolean {
  return load.latenessMs > lateMs;
}

import type { GapCause } from '../../protocol/events.ts';

/** A stretch of a leg without words, on the call's clock. */
export type Gap = { cause: GapCause; start: number; end: number; bytes: number; detail: string };

/** The total of gaps that are too short for an event. */
export type ShortGaps = { count: number; seconds: number; bytes: number };

/** The gaps in a leg's journal. They are stored so that a killed process neither loses one nor reports it twice. */
export type WaitingGaps = { open?: Gap | undefined; short: ShortGaps };

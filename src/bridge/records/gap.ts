import type { GapCause } from '../../protocol/events.ts';

/** A stretch of a leg without words, on the call's clock. */
export type Gap = { cause: GapCause; start: number; end: number; bytes: number; detail: string };

/** Gaps that are too short for an event, as one figure. */
export type ShortGaps = { count: number; seconds: number; bytes: number };

/** What a leg's journal keeps of its gaps: a killed process must neither lose one nor tell it twice. */
export type WaitingGaps = { open?: Gap; short: ShortGaps };

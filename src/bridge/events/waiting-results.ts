import type { Result } from './timeline.ts';

/** What a leg's journal keeps of results that have not left yet: a killed process must not lose them. */
export type WaitingResults = {
  /** Of the whole call: in which order they came. */
  results: { order: number; result: Result }[];
  /** Of each channel: the end of what was said last, where a number that goes on may have begun. */
  tails: Record<string, string>;
  /** Entities that have a number, by label. */
  used: Record<string, number>;
};

/** Bytes of one leg's carrier audio. received = acknowledged + gaps + paused + what is still under way. */
export type LedgerCounts = {
  received: number;
  acknowledged: number;
  gaps: number;
  paused: number;
  /** Silence that we added, outside the sum. */
  filler: number;
};

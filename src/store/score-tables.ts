/* Tables of scorecards. */

/** The score of a call by one scorecard. */
export type CallScoresTable = {
  call_id: string;
  scorecard: string;
  version: number;
  digest: string;
  /** The agent who had the call when it was scored. */
  agent: string | null;
  state: 'auto' | 'reviewed' | 'disputed' | 'settled';
  percent: number | null;
  critical_failed: number;
  /** Items that wait for a reviewer. */
  open_items: number;
  /** Rises with each change. A change of an older number is refused. */
  revision: number;
  scored_at: number;
  /** JSON: the items with answers and evidence, the reviews, the dispute. */
  body: string;
};

/** What goes between the process and its two SQLite threads; both sides import only this. */
export type Step = { sql: string; parameters: readonly unknown[] };

/** Steps run in order and stop at the first that fails; the answer is the last one's. */
export type SqliteRequest = { id: number; steps: Step[] };

export type SqliteReply = {
  id: number;
  /** Whether a transaction is open afterwards: SQLite ends one by itself after some errors. */
  inTransaction: boolean;
} & (
  | { rows: unknown[]; changes: number; lastId: number }
  | { error: { message: string; code: number } }
);

export type SqliteThreadOptions = {
  path: string;
  role: 'writer' | 'reader';
  busyTimeoutMs: number;
};

export type SqliteReady = { ready: true; version: string };
export type SqliteRefused = { refused: { message: string; code: number } };

/** How a session came to its end, for the row and for the log. */
export type SessionEnd =
  | { outcome: 'done'; result: string; audioS: number }
  | { outcome: 'error'; errorCode: number; audioS: number };

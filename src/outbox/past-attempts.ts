/* Attempts as the row of a delivery keeps them. */

export type PastAttempt = { at: number; ms: number; status: number | null; error: string | null };

/** The latest time that a Date can hold. */
const latestTimeMs = 8.64e15;

/**
 * The attempts that a row holds. A damaged row is delivered all the same, and a note takes the place of its attempts.
 */
export function pastAttempts(history: string | null): PastAttempt[] {
  if (history === null) return [];
  try {
    const past = JSON.parse(history) as unknown;
    if (Array.isArray(past)) return past.filter(isAttempt);
  } catch {
    // The note below covers this, like any other text that is no list of attempts.
  }
  return [{ at: 0, ms: 0, status: null, error: 'earlier attempts are unreadable' }];
}

function isAttempt(value: unknown): value is PastAttempt {
  if (typeof value !== 'object' || value === null) return false;
  return 'at' in value && typeof value.at === 'number' && Math.abs(value.at) <= latestTimeMs;
}

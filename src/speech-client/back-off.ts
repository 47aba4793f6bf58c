import { retryAfterMs as askedWaitMs } from '../lib/retry-after.ts';

/** A doubling delay with jitter: 80 to 120 % of it, so that a thousand legs do not come back at the same moment. */
export function backOffMs(
  attempt: number,
  bounds: { firstMs: number; maxMs: number },
  random: () => number = Math.random,
): number {
  const delay = Math.min(bounds.maxMs, bounds.firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(delay * (0.8 + 0.4 * random()));
}

/** `Retry-After` in seconds or as a date, limited to between 1 s and a minute. Undefined for an invalid value. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  return askedWaitMs(header, nowMs, 60_000);
}

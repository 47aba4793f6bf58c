const second = 1_000;

/**
 * The wait that a `Retry-After` header requests, in seconds or as a date, limited to between one second and `mostMs`.
 * An invalid value requests nothing; a past date requests the shortest wait.
 */
export function retryAfterMs(
  value: string | string[] | undefined,
  nowMs: number,
  mostMs: number,
): number | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (text === undefined || text === '') return undefined;
  const bounded = (waitMs: number): number => Math.min(mostMs, Math.max(second, waitMs));
  if (/^-?\d{1,18}(\.\d+)?$/.test(text)) return bounded(Number(text) * second);
  // Only HTTP's three date forms are accepted. Date.parse alone would take "1" or "May" for a date.
  if (!/^[A-Z][a-z]+,? .*\d{2}:\d{2}:\d{2}/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : bounded(date - nowMs);
}

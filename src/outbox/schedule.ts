/*
 * When to try again. Pure: the numbers of the delivery contract in one place.
 *
 *   0, 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 8 h, then every 12 h, each ±20 %
 */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const delaysMs = [
  5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute,
  hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour,
]; // prettier-ignore

/** No lane ever waits longer than this; more than it means that the clock has jumped. */
export const longestDelayMs = 12 * hour * 1.2;

/** The wait after the nth failed attempt, the first being 1. `random` in [0, 1). */
export function retryDelayMs(attempt: number, random: number): number {
  const plain = delaysMs[Math.min(attempt, delaysMs.length) - 1] ?? 5 * second;
  return Math.round(plain * (0.8 + 0.4 * random));
}

/**
 * What a receiver asks for, in seconds or as a date, held between one second and one hour.
 * Rubbish is no answer; a negative number or a past date is the shortest wait.
 */
export function retryAfterMs(
  value: string | string[] | undefined,
  nowMs: number,
): number | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^-?\d{1,18}(\.\d+)?$/.test(text)) return held(Number(text) * second);
  // Only the three date forms of HTTP: Date.parse alone would take "1" or "May" for one.
  if (!/^[A-Z][a-z]+,? .*\d{2}:\d{2}:\d{2}/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : held(date - nowMs);
}

function held(waitMs: number): number {
  return Math.min(hour, Math.max(second, waitMs));
}

export type Next = { do: 'retry'; at: number } | { do: 'give-up'; reason: string };

export type Failed = {
  /** `item`: this event's content is refused; `endpoint`: anything else would have failed too. */
  scope: 'item' | 'endpoint';
  reason: string;
  retryAfterMs?: number;
};

export type Rules = { retryBudgetMs: number; refusedTries: number };

/** After a failed attempt: when the next one is, or that this event has had its chances. */
export function nextAttempt(
  failed: Failed,
  attempts: number,
  firstAttemptAt: number,
  now: number,
  random: number,
  rules: Rules,
): Next {
  const lastChance = firstAttemptAt + rules.retryBudgetMs;
  if (failed.scope === 'item' && attempts >= rules.refusedTries)
    return { do: 'give-up', reason: `${failed.reason} (${attempts} attempts)` };
  if (now >= lastChance)
    return {
      do: 'give-up',
      reason: `${failed.reason} (for ${spanOf(rules.retryBudgetMs)})`,
    };
  const wait =
    failed.retryAfterMs === undefined
      ? retryDelayMs(attempts, random)
      : Math.round(failed.retryAfterMs * (1 + 0.2 * random));
  // The last attempt is at the end of the budget, not before it: an outage may end in between.
  return { do: 'retry', at: Math.min(now + wait, lastChance) };
}

function spanOf(ms: number): string {
  if (ms >= 2 * hour) return `${Math.round(ms / hour)} h`;
  return ms >= 120_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 1_000)} s`;
}

import type { GuardedAnswer } from '../lib/guarded-fetch.ts';
import { retryAfterMs as askedWaitMs } from '../lib/retry-after.ts';

/*
 * The meaning of an answer for an event, and when the event is tried again. Pure: the numbers of the delivery contract
 * in one place.
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

/** No lane ever waits longer than this. A later time comes from a clock that was wrong. */
export const longestDelayMs = 12 * hour * 1.2;

/** The wait after the nth failed attempt, the first being 1. `random` in [0, 1). */
export function retryDelayMs(attempt: number, random: number): number {
  const plain = delaysMs[Math.min(attempt, delaysMs.length) - 1] ?? 5 * second;
  return Math.round(plain * (0.8 + 0.4 * random));
}

/** The wait that a receiver asks for, at most one hour: a receiver must not stop its own deliveries for a year. */
export function retryAfterMs(
  value: string | string[] | undefined,
  nowMs: number,
): number | undefined {
  return askedWaitMs(value, nowMs, hour);
}

type NextAttempt = { do: 'retry'; at: number } | { do: 'give-up'; reason: string };

type FailedAttempt = {
  /** `item`: this event's content is refused. `endpoint`: any other event would have failed too. */
  scope: 'item' | 'endpoint';
  reason: string;
  retryAfterMs?: number | undefined;
};

export type RetryRules = { retryBudgetMs: number; refusedTries: number };

/** The next attempt after a failed one, or the end if this event has used up its attempts. */
export function nextAttempt(
  failed: FailedAttempt,
  attempts: number,
  firstAttemptAt: number,
  now: number,
  random: number,
  rules: RetryRules,
): NextAttempt {
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
  // The last attempt is made at the end of the budget, not before: the outage may end in between.
  return { do: 'retry', at: Math.min(now + wait, lastChance) };
}

function spanOf(ms: number): string {
  if (ms >= 2 * hour) return `${Math.round(ms / hour)} h`;
  return ms >= 120_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 1_000)} s`;
}

/** The outcome of one attempt. `hard`: the endpoint did not answer at all, or asked for quiet. */
export type DeliveryVerdict =
  | { kind: 'delivered'; status: number; answer: string }
  | ({
      kind: 'failed';
      status: number | null;
      answer: string | null;
      hard: boolean;
    } & FailedAttempt)
  /** 410: the receiver wants no more events. The operator decides. */
  | { kind: 'gone'; status: number; answer: string; reason: string };

const answerKeptBytes = 512;

/** Refusals that concern the address, the key or the moment, and not this event's content. */
const endpointStatuses = new Set([401, 402, 403, 404, 405, 407, 408, 421, 423, 425, 426, 429, 451]);

/** The meaning of an answer for the event. `accept`: further statuses that a mapping counts as an answer. */
export function judge(
  answer: GuardedAnswer,
  nowMs: number,
  accept: readonly number[] = [],
): DeliveryVerdict {
  if (!answer.ok)
    return {
      kind: 'failed', scope: 'endpoint', hard: true, status: null, answer: null, reason: answer.reason,
    }; // prettier-ignore
  const { status } = answer;
  const text = firstBytes(answer.body);
  // A complete 2xx head counts as success. A body that breaks off or never ends does not change that.
  if ((status >= 200 && status < 300) || accept.includes(status))
    return { kind: 'delivered', status, answer: text };
  if (status === 410)
    return { kind: 'gone', status, answer: text, reason: 'the endpoint answered 410: gone' };
  const isEndpoint = status >= 500 || status < 400 || endpointStatuses.has(status);
  const asked =
    status === 429 || status === 503
      ? retryAfterMs(answer.headers['retry-after'], nowMs)
      : undefined;
  return {
    kind: 'failed',
    scope: isEndpoint ? 'endpoint' : 'item',
    hard: status === 429 || status === 502 || status === 503 || status === 504,
    status,
    answer: text,
    reason:
      status >= 300 && status < 400
        ? `the endpoint answered ${status}: redirects are not followed`
        : `the endpoint answered ${status}`,
    retryAfterMs: asked,
  };
}

/** The beginning of the body as text without control characters, for operators. */
export function firstBytes(body: Buffer): string {
  return body
    .subarray(0, answerKeptBytes)
    .toString('utf8')
    .replace(/[\p{Cc}\p{Cs}\uFFFD]+/gu, ' ')
    .trim();
}

import type { GuardedAnswer } from '../lib/guarded-fetch.ts';
import { retryAfterMs, type Failed } from './schedule.ts';

export type Verdict =
  | { kind: 'delivered'; status: number; answer: string }
  | ({ kind: 'failed'; status: number | null; answer: string | null; hard: boolean } & Failed)
  /** 410: the receiver wants nothing more; the operator decides. */
  | { kind: 'gone'; status: number; answer: string; reason: string };

const answerKeptBytes = 512;

/** Refusals that speak of the address, the key or the moment rather than of this event's content. */
const endpointStatuses = new Set([401, 402, 403, 404, 405, 407, 408, 421, 423, 425, 426, 429, 451]);

/** What an answer means for the event. `accept`: further statuses that a mapping counts as an answer. */
export function judge(
  answer: GuardedAnswer,
  nowMs: number,
  accept: readonly number[] = [],
): Verdict {
  if (!answer.ok)
    return {
      kind: 'failed', scope: 'endpoint', hard: true, status: null, answer: null, reason: answer.reason,
    }; // prettier-ignore
  const { status } = answer;
  const text = firstBytes(answer.body);
  // A complete 2xx head is the receiver's word; what becomes of the body does not take it back.
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
    ...(asked === undefined ? {} : { retryAfterMs: asked }),
  };
}

/** For the operator's eyes: text without control characters. */
export function firstBytes(body: Buffer): string {
  return body
    .subarray(0, answerKeptBytes)
    .toString('utf8')
    .replace(/[\p{Cc}\p{Cs}\uFFFD]+/gu, ' ')
    .trim();
}

import type { GuardedAnswer, GuardedRequest } from '../../../../src/lib/guarded-fetch.ts';
import type { EndpointSetting } from '../../../../src/outbox/config.ts';

/** A request as the rules of a CRM see it. */
export type CrmAsked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  body: unknown;
};
export type CrmAnswer = { status: number; body?: unknown; headers?: Record<string, string> };

/** A person of the CRM. The numbers are as somebody typed them. */
export type CrmPerson = { id: string; phones: string[]; at: string };

/** A record of one call, for the test's questions. */
export type KeptRecord = { id: string; text: string; contact: string | undefined };

/** The trouble of one request. */
export type CrmFault =
  'lost-before' | 'lost-after' | 'busy' | 'broken' | 'expired' | 'crash-before' | 'crash-after';
export const faults: readonly CrmFault[] = [
  'lost-before', 'lost-after', 'busy', 'broken', 'expired', 'crash-before', 'crash-after',
]; // prettier-ignore

/** The process ended here: nothing of the attempt is known afterwards but what is in the database. */
export class Crash extends Error {}

/**
 * A CRM with its own rules, as far as a preset meets them: unique keys, answers that hold an error under a 2xx, limits,
 * proofs that end, a search that lags behind. Faults are put in front of it or behind it.
 */
export abstract class CrmDouble {
  abstract readonly setting: Omit<EndpointSetting, 'headers' | 'secrets' | 'timeoutMs' | 'ordering' | 'concurrency' | 'shape'>; // prettier-ignore
  people: CrmPerson[] = [];
  /** Faults of the coming requests, in order; undefined is none. */
  plan: (CrmFault | undefined)[] = [];
  requests: CrmAsked[] = [];
  nowMs = (): number => Date.now();
  #lastId = 100;

  /** The records that name this call. */
  abstract recordsOf(callId: string): KeptRecord[];
  /** Somebody deletes the record at the CRM. */
  remove(_id: string): void {
    throw new Error('nothing of this CRM is deleted in a test');
  }
  protected abstract rules(asked: CrmAsked): CrmAnswer;
  /** The proof that holds now; an expired one is refused with 401. */
  protected abstract proves(asked: CrmAsked): boolean;
  /** The address that gives tokens; undefined for a request that is none of its own. */
  protected token(_asked: CrmAsked): CrmAnswer | undefined {
    return undefined;
  }
  expire(): void {
    // A proof that never ends, unless the CRM says otherwise.
  }

  newId(): string {
    return String(++this.#lastId);
  }

  async send(request: GuardedRequest): Promise<GuardedAnswer> {
    await Promise.resolve();
    const url = new URL(request.url);
    const text = request.body === undefined ? '' : Buffer.from(request.body).toString('utf8');
    const asked: CrmAsked = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers ?? {},
      body: parsed(text),
    };
    const token = this.token(asked);
    if (token) return answer(token, request.url);
    this.requests.push(asked);
    const fault = this.plan.shift();
    if (fault === 'crash-before') throw new Crash();
    if (fault === 'lost-before') return { ok: false, failure: 'closed', reason: 'cut before' };
    if (fault === 'busy')
      return answer({ status: 429, headers: { 'retry-after': '2' } }, request.url);
    if (fault === 'broken') return answer({ status: 503, body: 'maintenance' }, request.url);
    if (fault === 'expired') this.expire();
    const told = this.proves(asked) ? this.rules(asked) : { status: 401, body: { message: 'expired' } }; // prettier-ignore
    if (fault === 'crash-after') throw new Crash();
    if (fault === 'lost-after') return { ok: false, failure: 'closed', reason: 'cut after' };
    return answer(told, request.url);
  }
}

function answer({ status, body, headers = {} }: CrmAnswer, url: string): GuardedAnswer {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  return { ok: true, status, headers, body: bytes, bodyEnd: 'complete', url };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

export const digits = (text: string): string => text.replace(/\D/g, '');

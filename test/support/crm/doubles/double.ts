import type { GuardedAnswer, GuardedRequest } from '../../../../src/lib/guarded-fetch.ts';
import type { EndpointSetting } from '../../../../src/outbox/config.ts';

/** A request in the form that the rules of a CRM check. */
export type CrmAsked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  body: unknown;
};
export type CrmAnswer = { status: number; body?: unknown; headers?: Record<string, string> };

/** A person in the CRM. The numbers stand as somebody typed them. */
export type CrmPerson = { id: string; phones: string[]; at: string; name?: string };

/** A record of one call, as tests inspect it. */
export type KeptRecord = { id: string; text: string; contact: string | undefined };

/** A task of one promise, as tests inspect it. */
export type KeptTask = {
  title: string;
  until: string | undefined;
  contact: string | undefined;
  isOpen: boolean;
};

/** A fault that the double applies to one request. */
export type CrmFault =
  'lost-before' | 'lost-after' | 'busy' | 'broken' | 'expired' | 'crash-before' | 'crash-after';
export const faults: readonly CrmFault[] = [
  'lost-before', 'lost-after', 'busy', 'broken', 'expired', 'crash-before', 'crash-after',
]; // prettier-ignore

/** The process ends here. Only what is in the database survives the attempt. */
export class Crash extends Error {}

/**
 * A CRM with its own rules, as far as a preset meets them: unique keys, errors inside a 2xx answer, limits, proofs that
 * expire, a search that lags behind. Faults can strike before or after it handles a request.
 */
export abstract class CrmDouble {
  abstract readonly setting: Omit<EndpointSetting, 'headers' | 'secrets' | 'timeoutMs' | 'ordering' | 'concurrency' | 'shape'>; // prettier-ignore
  people: CrmPerson[] = [];
  /** The faults of the next requests, in order. Undefined means no fault. */
  plan: (CrmFault | undefined)[] = [];
  requests: CrmAsked[] = [];
  nowMs = (): number => Date.now();
  #lastId = 100;

  /** The records that name this call. */
  abstract recordsOf(callId: string): KeptRecord[];
  /** The wrap-up of this call: in most CRMs it is the text of the record. */
  wrapUpOf(callId: string): string | undefined {
    return this.recordsOf(callId)[0]?.text;
  }
  /** The tasks for promises of this call, in the order of the promises' ids. */
  abstract tasksOf(callId: string): KeptTask[];
  /** Does every task of this call, as somebody at the CRM would. */
  abstract doTasks(callId: string): void;
  /** Deletes a record as somebody at the CRM would. */
  remove(_id: string): void {
    throw new Error('nothing of this CRM is deleted in a test');
  }
  protected abstract rules(asked: CrmAsked): CrmAnswer;
  /** True for the currently valid proof. An expired proof is refused with 401. */
  protected abstract proves(asked: CrmAsked): boolean;
  /** Answers at the address that issues tokens. Undefined for any other request. */
  protected token(_asked: CrmAsked): CrmAnswer | undefined {
    return undefined;
  }
  expire(): void {
    // By default a proof never expires.
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

/** The tasks whose key is one of this call's promises, in the order of their keys. */
export function ofCall<Task>(
  tasks: readonly Task[],
  callId: string,
  keyOf: (task: Task) => string | undefined,
): Task[] {
  return tasks
    .filter((task) => keyOf(task)?.startsWith(`${callId}.`))
    .toSorted((one, other) => ((keyOf(one) ?? '') < (keyOf(other) ?? '') ? -1 : 1));
}

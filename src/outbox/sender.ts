import { GuardedClient, type GuardedAnswer, type GuardedRequest } from '../lib/guarded-fetch.ts';
import { reasonOf } from '../lib/errors.ts';
import { signWebhook } from '../lib/webhook-signature.ts';
import type { Endpoint } from './config.ts';
import type { Item } from './lanes.ts';
import { compileMapping, type Answers, type CompiledStep, type StepRequest } from './mapping.ts';
import { markerOf } from './marker.ts';
import { judge, type Verdict } from './verdict.ts';

/** The way out; a test may stand in for the network. */
export type Client = { send(request: GuardedRequest): Promise<GuardedAnswer> };

export type Sent = { verdict: Verdict; progress: string | null };

/** Of an answer this much is read: enough for a look-up, little enough for a hostile one. */
const answerMaxBytes = 16_384;

/** Turns an event into the requests that its endpoint wants, and their answers into a verdict. */
export class Sender implements AsyncDisposable {
  readonly #endpoint: Endpoint;
  readonly #client: Client;
  readonly #own: GuardedClient | undefined;
  readonly #steps: CompiledStep[];

  constructor(endpoint: Endpoint, client?: Client) {
    this.#endpoint = endpoint;
    this.#steps = compileMapping(endpoint);
    // The operator wrote this address: it is trusted as written, its redirects are not.
    this.#own = client
      ? undefined
      : new GuardedClient({ trust: 'as-written', connections: endpoint.concurrency });
    this.#client = client ?? (this.#own as GuardedClient);
  }

  async send(item: Item, deadlineMs: number, nowMs: number, signal: AbortSignal): Promise<Sent> {
    if (this.#endpoint.shape !== 'envelope' && item.type !== 'call.skipped')
      return this.#sendMapped(item, deadlineMs, nowMs, signal);
    const { id, body } =
      item.type === 'call.skipped' ? markerOf(item) : { id: item.eventId, body: item.body };
    const bytes = Buffer.from(body);
    const answer = await this.#client.send({
      url: this.#endpoint.url,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers(id, bytes, nowMs) },
      body: bytes,
      deadlineMs,
      maxBytes: answerMaxBytes,
      resendWhenStale: true,
      signal,
    });
    return { verdict: judge(answer, nowMs), progress: item.progress };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.[Symbol.asyncDispose]();
  }

  #headers(id: string, body: Buffer, nowMs: number): Record<string, string> {
    return {
      'user-agent': 'Trunkline',
      ...this.#endpoint.headers,
      ...signWebhook(this.#endpoint.secrets, id, Math.floor(nowMs / 1000), body),
    };
  }

  /** Step by step, none repeated that has its answer from an earlier attempt. */
  async #sendMapped(
    item: Item,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<Sent> {
    const endsMs = performance.now() + deadlineMs;
    const answers = progressOf(item.progress);
    let verdict: Verdict = {
      kind: 'delivered',
      status: 204,
      answer: 'this event needs no request',
    };
    for (const step of this.#steps) {
      if (answers[step.name]) continue;
      const request = await stepRequest(step, item, answers);
      if ('unusable' in request) {
        const reason = `mapping step ${step.name}: ${request.unusable}`;
        verdict = {
          kind: 'failed',
          scope: 'item',
          hard: false,
          status: null,
          answer: null,
          reason,
        };
        break;
      }
      if (!request.made) continue;
      const answer = await this.#sendStep(
        step,
        item,
        request.made,
        Math.max(1, endsMs - performance.now()),
        nowMs,
        signal,
      );
      verdict = judge(answer, nowMs, step.accept);
      if (verdict.kind !== 'delivered') break;
      answers[step.name] = {
        status: verdict.status,
        body: answer.ok ? parsedBody(answer.body) : null,
      };
    }
    return { verdict, progress: JSON.stringify(answers) };
  }

  #sendStep(
    step: CompiledStep,
    item: Item,
    made: StepRequest,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<GuardedAnswer> {
    const body = made.body ?? Buffer.alloc(0);
    return this.#client.send({
      url: made.url,
      method: made.method,
      headers: {
        'idempotency-key': `${item.eventId}/${step.name}`,
        ...made.headers,
        ...this.#headers(item.eventId, body, nowMs),
      },
      ...(made.body ? { body: made.body } : {}),
      deadlineMs,
      maxBytes: answerMaxBytes,
      resendWhenStale: true,
      signal,
    });
  }
}

type Made = { made: StepRequest | undefined } | { unusable: string };

async function stepRequest(step: CompiledStep, item: Item, answers: Answers): Promise<Made> {
  try {
    return { made: await step.request(JSON.parse(item.body), answers) };
  } catch (error) {
    return {
      unusable: (error instanceof Error ? reasonOf(error) : messageOf(error)).slice(0, 300),
    };
  }
}

/** JSONata throws plain objects. */
function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : 'failed';
}

function progressOf(progress: string | null): Answers {
  return progress === null ? {} : (JSON.parse(progress) as Answers);
}

function parsedBody(body: Buffer): unknown {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // an answer that is not JSON is still there for the next step to look at
  }
}

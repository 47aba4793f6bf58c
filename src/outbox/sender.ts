import { systemClock, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { GuardedClient, type GuardedAnswer, type GuardedRequest } from '../lib/guarded-fetch.ts';
import { newId } from '../lib/ids.ts';
import { signWebhook } from '../lib/webhook-signature.ts';
import { envelopeVersion, type CallEvent } from '../protocol/events.ts';
import type { ApiExchange } from '../protocol/api.ts';
import type { Endpoint } from './config.ts';
import { exchangeOf, exchangesText, withoutValues } from './exchanges.ts';
import { Mapping, MappingBusy, type StepAnswers, type StepRequest } from './mapping.ts';
import { judge, type DeliveryVerdict } from './retry-rules.ts';
import type { QueuedEvent } from './claim-rows.ts';

/** The way out to the network. A simulation may stand in for it. */
export type WebhookClient = { send(request: GuardedRequest): Promise<GuardedAnswer> };

export type SendResult = {
  verdict: DeliveryVerdict;
  progress: string | null;
  /** The request and its answer, for the row; null where nothing was sent. */
  exchanges: string | null;
};

/** This much of an answer is read: enough for a look-up of a mapping, and a hostile answer costs no more. */
export const maxAnswerBytes = 16_384;

/** Turns an event into the requests that its endpoint wants, and their answers into a verdict. */
export class Sender implements AsyncDisposable {
  readonly #endpoint: Endpoint;
  readonly #client: WebhookClient;
  readonly #ownClient: GuardedClient | undefined;
  readonly #clock: Clock;
  readonly #mapping: Mapping;

  constructor(endpoint: Endpoint, clock: Clock, client?: WebhookClient) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#mapping = new Mapping(endpoint, clock);
    // The operator wrote this address: it is trusted as written, its redirects are not.
    this.#ownClient = client
      ? undefined
      : new GuardedClient({ trust: 'as-written', connections: endpoint.concurrency });
    this.#client = client ?? (this.#ownClient as GuardedClient);
  }

  async send(
    item: QueuedEvent,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<SendResult> {
    if (this.#endpoint.shape !== 'envelope' && item.type !== 'call.skipped')
      return this.#sendMapped(item, deadlineMs, nowMs, signal);
    const { id, body } =
      item.type === 'call.skipped' ? markerOf(item) : { id: item.eventId, body: item.body };
    const bytes = Buffer.from(body);
    const request = {
      url: this.#endpoint.url,
      method: 'POST' as const,
      headers: this.#headers({ 'content-type': 'application/json' }, id, bytes, nowMs),
      body: bytes,
    };
    const answer = await this.#exchange(request, deadlineMs, signal);
    const isEvent = item.type !== 'call.skipped';
    const exchange = exchangeOf({ request, answer, own: this.#endpoint.headers, isEvent });
    const exchanges = exchangesText([exchange]);
    return { verdict: this.#judged(answer, nowMs), progress: item.progress, exchanges };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mapping[Symbol.asyncDispose]();
    await this.#ownClient?.[Symbol.asyncDispose]();
  }

  /** The operator's headers go before those of a mapping, and the signature goes before all. */
  #headers(
    made: Record<string, string>,
    id: string,
    body: Buffer,
    nowMs: number,
  ): Record<string, string> {
    return mergedHeaders(
      { 'user-agent': 'Trunkline' },
      made,
      this.#endpoint.headers,
      signed(this.#endpoint, id, body, nowMs),
    );
  }

  /** Step by step. A step that has its answer from an earlier attempt is not repeated. */
  async #sendMapped(
    item: QueuedEvent,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const endsMs = this.#clock.monotonicMs() + deadlineMs;
    const leftMs = (): number => Math.max(1, endsMs - this.#clock.monotonicMs());
    const answers = progressOf(item.progress);
    const exchanges: ApiExchange[] = [];
    let verdict: DeliveryVerdict = {
      kind: 'delivered',
      status: 204,
      answer: 'this event needs no request',
    };
    for (const [index, step] of this.#mapping.steps.entries()) {
      if (Object.hasOwn(answers, step.name)) continue;
      let made: StepRequest | undefined;
      try {
        made = await this.#mapping.request(index, item.body, answers, leftMs());
      } catch (error) {
        verdict = unmappable(step.name, error);
        break;
      }
      if (made === undefined) continue;
      const request = this.#stepRequest(step.name, item, made, nowMs);
      const answer = await this.#exchange(request, leftMs(), signal);
      const about = { step: step.name, own: this.#endpoint.headers, isEvent: false };
      exchanges.push(exchangeOf({ ...about, request, answer }));
      verdict = this.#judged(answer, nowMs, step.accept);
      if (verdict.kind !== 'delivered') break;
      answers[step.name] = {
        status: verdict.status,
        body: answer.ok ? parsedBody(answer.body) : null,
      };
    }
    const told = exchanges.length === 0 ? null : exchangesText(exchanges);
    return { verdict, progress: JSON.stringify(answers), exchanges: told };
  }

  #stepRequest(
    step: string,
    item: QueuedEvent,
    made: StepRequest,
    nowMs: number,
  ): Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'body'> {
    const body = made.body ?? Buffer.alloc(0);
    return {
      url: made.url,
      method: made.method,
      headers: this.#headers(
        mergedHeaders({ 'idempotency-key': `${item.eventId}/${step}` }, made.headers),
        item.eventId,
        body,
        nowMs,
      ),
      ...(made.body ? { body: made.body } : {}),
    };
  }

  #exchange(
    request: Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'body'>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<GuardedAnswer> {
    return this.#client.send({
      ...request,
      deadlineMs,
      maxBytes: maxAnswerBytes,
      resendWhenStale: true,
      signal,
    });
  }

  /** The first bytes of an answer are shown and kept: a receiver that repeats its keys must not spread them. */
  #judged(...given: Parameters<typeof judge>): DeliveryVerdict {
    const verdict = judge(...given);
    if (verdict.answer === null) return verdict;
    return { ...verdict, answer: withoutValues(verdict.answer, this.#endpoint.headers) };
  }
}

/** Nothing where the endpoint has no secret. */
function signed(
  { secrets }: Endpoint,
  id: string,
  body: Uint8Array,
  nowMs: number,
): Record<string, string> {
  return secrets.length === 0 ? {} : signWebhook(secrets, id, Math.floor(nowMs / 1000), body);
}

/**
 * An expression that fails on this event is the event's own trouble. A process that was busy with other events is not:
 * the event is tried again like after any failure of the endpoint.
 */
function unmappable(step: string, error: unknown): DeliveryVerdict {
  const reason = `mapping step ${step}: ${reasonOf(error).slice(0, 300)}`;
  const scope = error instanceof MappingBusy ? 'endpoint' : 'item';
  return { kind: 'failed', scope, hard: false, status: null, answer: null, reason };
}

/**
 * Headers under lower-case names, the last of a name wins: a receiver never meets one header twice. Without a
 * prototype, because names come from a mapping, and so perhaps from a caller.
 */
function mergedHeaders(...sources: Record<string, string>[]): Record<string, string> {
  const merged = Object.create(null) as Record<string, string>;
  for (const source of sources)
    for (const [name, value] of Object.entries(source)) merged[name.toLowerCase()] = value;
  return merged;
}

/** Without a prototype: a step may have the name of an inherited property. */
function progressOf(progress: string | null): StepAnswers {
  const answers = Object.create(null) as StepAnswers;
  if (progress === null) return answers;
  return Object.assign(answers, JSON.parse(progress) as StepAnswers);
}

function parsedBody(body: Buffer): unknown {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // the next step can look at an answer that is not JSON as well
  }
}

/* ---- Markers ---- */

/** An endpoint with the ordering rule `skip` gets this in place of an event that it keeps refusing. */
type SkipMarker = { id: string; body: string };

/** Made once and kept beside the delivery, so that every attempt sends the same bytes. */
export function makeMarker(
  item: QueuedEvent,
  failed: { status: number | null; reason: string },
  nowMs: number,
): string {
  const id = newId('evt');
  const { call, leg, custom_metadata } = contextOf(item);
  const body = JSON.stringify({
    id,
    type: 'call.skipped',
    version: envelopeVersion,
    sequence: item.sequence,
    occurred_at: new Date(nowMs).toISOString(),
    call,
    ...(leg === undefined ? {} : { leg }),
    custom_metadata,
    data: {
      event_id: item.eventId,
      type: item.type,
      attempts: item.attempts + 1,
      status: failed.status,
      reason: failed.reason,
    },
  });
  return JSON.stringify({ id, body } satisfies SkipMarker);
}

/** A stored body that cannot be read is refused too, and its marker must still say which call it is of. */
function contextOf(item: QueuedEvent): Record<string, unknown> {
  try {
    const event = JSON.parse(item.body) as unknown;
    if (typeof event === 'object' && event !== null) return event as Record<string, unknown>;
  } catch {
    // The context below says which call it is of.
  }
  return { call: { id: item.callId }, custom_metadata: {} };
}

function markerOf(item: QueuedEvent): SkipMarker {
  return JSON.parse(item.progress ?? '{}') as SkipMarker;
}

/* ---- For commands: what would be sent ---- */

/** A command waits this long for the process of the mapping. */
const previewMs = 20_000;

/** The requests that an event becomes, as text for a person; the operator's own headers are only named. */
export async function previewOf(
  endpoint: Endpoint,
  event: CallEvent,
  given: StepAnswers,
): Promise<string[]> {
  if (endpoint.shape === 'envelope') {
    const body = Buffer.from(JSON.stringify(event));
    return [
      requestText(
        endpoint,
        'POST',
        endpoint.url,
        { 'content-type': 'application/json' },
        body,
        event.id,
      ),
    ];
  }
  const texts: string[] = [];
  await using mapping = new Mapping(endpoint, systemClock);
  const answers = progressOf(null);
  const body = JSON.stringify(event);
  for (const [index, step] of mapping.steps.entries()) {
    try {
      const { request, lost } = await mapping.watched(index, body, answers, previewMs);
      texts.push(
        request === undefined
          ? `# step ${step.name}: nothing for ${event.type}\n`
          : `# step ${step.name}\n${requestText(endpoint, request.method, request.url, request.headers, request.body ?? Buffer.alloc(0), event.id)}`,
        ...lost.map((one) => `# step ${step.name} warns: ${one}\n`),
      );
      // The answer that this step would get: as the person says, else as the settings do.
      const answer = Object.hasOwn(given, step.name) ? given[step.name] : step.example;
      if (answer !== undefined) answers[step.name] = answer;
    } catch (error) {
      texts.push(`# step ${step.name}: cannot be made: ${reasonOf(error)}\n`);
    }
  }
  return texts;
}

function requestText(
  endpoint: Endpoint,
  method: string,
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  id: string,
): string {
  const signature = signed(endpoint, id, body, systemClock.now());
  const own = Object.fromEntries(Object.keys(endpoint.headers).map((name) => [name, '********']));
  const lines = Object.entries(mergedHeaders(headers, own, signature)).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${url}\n${lines.join('\n')}\n\n${pretty(body)}\n`;
}

function pretty(body: Buffer): string {
  const text = body.toString('utf8');
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // a mapping may make something other than JSON
  }
}

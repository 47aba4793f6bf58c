import { Authorizer } from '../crm/authorizer.ts';
import type { CallLinkStore } from '../crm/link-rows.ts';
import { RateLimit } from '../crm/rate-limit.ts';
import type { TokenRows } from '../crm/token-rows.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { GuardedClient, type GuardedAnswer, type GuardedRequest } from '../lib/guarded-fetch.ts';
import { newId } from '../lib/ids.ts';
import { signWebhook } from '../lib/webhook-signature.ts';
import { envelopeVersion, type CallEvent } from '../protocol/events.ts';
import type { Endpoint } from './config.ts';
import type { EarlierRows } from './earlier-rows.ts';
import { exchangeOf, exchangesText, withoutValues } from './exchanges.ts';
import { MappedSender, progressOf } from './mapped-sender.ts';
import { Mapping, type StepAnswers, type StepContext } from './mapping.ts';
import { judge, type DeliveryVerdict } from './retry-rules.ts';
import type { QueuedEvent } from './claim-rows.ts';

/** Sends requests through the network. A simulation may replace it. */
export type WebhookClient = { send(request: GuardedRequest): Promise<GuardedAnswer> };

export type SendResult = {
  verdict: DeliveryVerdict;
  progress: string | null;
  /** The request and its answer as stored with the delivery; null if nothing was sent. */
  exchanges: string | null;
};

/** The most bytes of an answer that are read: enough for a mapping's look-up, and a hostile answer costs no more. */
export const maxAnswerBytes = 16_384;
/** The most bytes of an answer in which a mapping searches: a list of contacts, or of the newest records. */
const maxMappedAnswerBytes = 262_144;

/** The rows that keep a CRM's ids and tokens; without them nothing is remembered. */
export type CrmRows = { links: CallLinkStore; tokens?: TokenRows; earlier?: EarlierRows };

/** Turns an event into the requests that its endpoint wants, and their answers into a verdict. */
export class Sender implements AsyncDisposable {
  readonly #endpoint: Endpoint;
  readonly #client: WebhookClient;
  readonly #ownClient: GuardedClient | undefined;
  readonly #mapping: Mapping;
  readonly #mapped: MappedSender;

  constructor(endpoint: Endpoint, clock: Clock, client?: WebhookClient, rows?: CrmRows) {
    this.#endpoint = endpoint;
    this.#mapping = new Mapping(endpoint, clock);
    // An address of the settings is trusted as written. Its redirects are not.
    const { concurrency: connections, guarded } = endpoint;
    this.#ownClient = client
      ? undefined
      : new GuardedClient(
          guarded === undefined
            ? { trust: 'as-written', connections }
            : { trust: 'checked', allow: guarded.hosts, connections },
        );
    this.#client = client ?? (this.#ownClient as GuardedClient);
    const { name, url, auth, scheme = 'Bearer', limits } = endpoint;
    this.#mapped = new MappedSender({
      endpoint,
      clock,
      mapping: this.#mapping,
      links: rows?.links,
      earlier: rows?.earlier,
      authorizer: auth && new Authorizer({ endpoint: name, url, auth, scheme, client: this.#client, rows: rows?.tokens, clock }), // prettier-ignore
      rate: limits && new RateLimit(name, limits, clock, rows?.tokens),
      headersFor: (made, proof, item, body) =>
        this.#headers(made, item.eventId, body, clock.now(), proof),
      exchange: (request, deadlineMs, signal) =>
        this.#exchange(request, deadlineMs, signal, maxMappedAnswerBytes),
    });
  }

  async send(
    item: QueuedEvent,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<SendResult> {
    if (this.#endpoint.shape !== 'envelope' && item.type !== 'call.skipped') {
      return this.#mapped.send(item, deadlineMs, nowMs, signal);
    }
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
    const verdict = this.#withoutKeys(judge(answer, nowMs));
    return { verdict, progress: item.progress, exchanges };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mapping[Symbol.asyncDispose]();
    await this.#ownClient?.[Symbol.asyncDispose]();
  }

  /** A mapping's headers are overridden by the operator's, and those by the signature. */
  #headers(
    made: Record<string, string>,
    id: string,
    body: Buffer,
    nowMs: number,
    proof: Record<string, string> = {},
  ): Record<string, string> {
    return mergedHeaders(
      { 'user-agent': 'Trunkline' },
      made,
      proof,
      this.#endpoint.headers,
      signed(this.#endpoint, id, body, nowMs),
    );
  }

  #exchange(
    request: Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'body'>,
    deadlineMs: number,
    signal: AbortSignal,
    maxBytes = maxAnswerBytes,
  ): Promise<GuardedAnswer> {
    return this.#client.send({
      ...request,
      deadlineMs,
      maxBytes,
      resendWhenStale: true,
      signal,
    });
  }

  /** The first bytes of an answer are shown and stored, so keys that a receiver repeats are masked. */
  #withoutKeys(verdict: DeliveryVerdict): DeliveryVerdict {
    if (verdict.answer === null) return verdict;
    return { ...verdict, answer: withoutValues(verdict.answer, this.#endpoint.headers) };
  }
}

/** Returns nothing if the endpoint has no secret. */
function signed(
  { secrets }: Endpoint,
  id: string,
  body: Uint8Array,
  nowMs: number,
): Record<string, string> {
  return secrets.length === 0 ? {} : signWebhook(secrets, id, Math.floor(nowMs / 1000), body);
}

/**
 * Headers with lower-case names; the last value of a name wins, so no header is sent twice. The object has no
 * prototype, because names come from a mapping and so perhaps from a caller.
 */
function mergedHeaders(...sources: Record<string, string>[]): Record<string, string> {
  const merged = Object.create(null) as Record<string, string>;
  for (const source of sources)
    for (const [name, value] of Object.entries(source)) merged[name.toLowerCase()] = value;
  return merged;
}

/* ---- Markers ---- */

/** Sent to an endpoint with the ordering rule `skip`, in place of an event that it keeps refusing. */
type SkipMarker = { id: string; body: string };

/** The marker is made once and stored with the delivery, so that every attempt sends the same bytes. */
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
    leg,
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

/** An unreadable stored body is refused too, and its marker must still name the call. */
function contextOf(item: QueuedEvent): Record<string, unknown> {
  try {
    const event = JSON.parse(item.body) as unknown;
    if (typeof event === 'object' && event !== null) return event as Record<string, unknown>;
  } catch {
    // The context below names the call.
  }
  return { call: { id: item.callId }, custom_metadata: {} };
}

function markerOf(item: QueuedEvent): SkipMarker {
  return JSON.parse(item.progress ?? '{}') as SkipMarker;
}

/* ---- For commands: what would be sent ---- */

/** An event that is in no row, as the sender takes it. */
export function queuedOf(event: CallEvent, body = JSON.stringify(event)): QueuedEvent {
  return {
    eventId: event.id, callId: event.call.id, sequence: event.sequence, type: event.type, attempts: 0,
    history: null, progress: null, bytes: 0, occurredAt: systemClock.now(), speechEndedAt: null, body,
  }; // prettier-ignore
}

/** A command waits this long for the process of the mapping. */
const previewMs = 20_000;

/** The requests for an event, as text for a person. The operator's own headers are only named. */
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
  const context: StepContext = { answers, links: {}, unsure: {} };
  const body = JSON.stringify(event);
  for (const [index, step] of mapping.steps.entries()) {
    try {
      const { request, lost } = await mapping.watched(index, body, context, previewMs);
      texts.push(
        request === undefined
          ? `# step ${step.name}: nothing for ${event.type}\n`
          : `# step ${step.name}\n${requestText(endpoint, request.method, request.url, request.headers, request.body ?? Buffer.alloc(0), event.id)}`,
        ...lost.map((one) => `# step ${step.name} warns: ${one}\n`),
      );
      // The answer that this step would get: the given one, else the example in the settings.
      const answer = Object.hasOwn(given, step.name) ? given[step.name] : step.example;
      if (answer === undefined || request === undefined) continue;
      answers[step.name] = answer;
      const opinion = await mapping.judgedAnswer(index, body, context, answer, previewMs);
      if ('reason' in opinion)
        texts.push(`# step ${step.name}: its answer is refused: ${opinion.reason}\n`);
      else Object.assign(context.links, opinion.links);
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
    return text; // a mapping may make text that is not JSON
  }
}

import type { Readable } from 'node:stream';
import { Agent, request, type Dispatcher } from 'undici';
import { z } from 'zod';
import { deadline, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { withoutUndefined } from '../lib/without-undefined.ts';
import type { StreamingRequest } from '../protocol/live-request.ts';
import { retryAfterMs } from './back-off.ts';

/** The address of the service and our credentials. Read again for every request, because keys may change. */
export type SpeechTarget = {
  url: string;
  key?: string | undefined;
  keyHeader: string;
  /** Other hosts that a session's address may lead to. */
  hosts?: readonly string[];
  /**
   * True for a process of this installation. Its sessions are reached at `url`, whatever address it gives to others.
   */
  own?: boolean;
  /** The authority that signed its certificate, if it is not publicly known. */
  ca?: string | undefined;
  /** True if the port requires the key on sockets too, as the port between our nodes does. */
  keyOnSockets?: boolean;
};

/** Pools of connections, one for each trusted authority: the nodes of an installation may have one of their own. */
export class ServiceAgents {
  readonly #agents = new Map<string | undefined, Agent>();
  readonly #options: Agent.Options;

  constructor(options: Agent.Options) {
    this.#options = options;
  }

  of({ ca }: SpeechTarget): Agent {
    const known = this.#agents.get(ca);
    if (known !== undefined) return known;
    const connect = { timeout: 5_000, ca };
    const agent = new Agent({ ...this.#options, connect });
    this.#agents.set(ca, agent);
    return agent;
  }

  /**
   * One request to the service, with its key. Redirects are not followed, because neither the key nor the audio may
   * travel to another host.
   */
  async ask(
    target: SpeechTarget,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    signal: AbortSignal,
    { body, headers }: { body?: string | Readable; headers?: Record<string, string> } = {},
  ): Promise<Dispatcher.ResponseData> {
    return await request(`${target.url.replace(/\/+$/, '')}${path}`, {
      method,
      dispatcher: this.of(target),
      signal,
      body: body ?? null,
      headers: {
        accept: 'application/json',
        ...headers,
        ...withoutUndefined({ [target.keyHeader]: target.key }),
      },
    });
  }

  async close(): Promise<void> {
    for (const agent of this.#agents.values()) await agent.destroy();
  }
}

export function jsonBody(body: Record<string, unknown>) {
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

type CreateResult =
  | { outcome: 'created'; id: string; url: string }
  | { outcome: 'unauthorized'; status: number; reason: string }
  | { outcome: 'busy'; waitMs: number | undefined }
  /**
   * The request itself is wrong, so repeating it is useless. `isMade` means that a session exists, but its address
   * cannot be used.
   */
  | { outcome: 'refused'; status: number; reason: string; isMade?: boolean }
  /** `uncertain` means that the answer was lost, so a session may exist. */
  | { outcome: 'unreachable'; reason: string; waitMs: number | undefined; uncertain: boolean };

export type RecordResult =
  | { outcome: 'found'; record: SessionRecord }
  | { outcome: 'unknown' }
  | { outcome: 'unavailable'; reason: string };

/** The fields of a job record that reconciling needs. A hosted service may write any others. */
const SessionRecord = z.looseObject({
  status: z.string(),
  result: z
    .looseObject({
      messages: z.array(z.string()).nullish(),
      metadata: z.looseObject({ audio_duration: z.number().min(0).nullish() }).nullish(),
      transcription: z.looseObject({ utterances: z.array(z.unknown()).nullish() }).nullish(),
    })
    .nullish(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

const SessionList = z.looseObject({
  items: z.array(z.looseObject({ id: z.string().min(1).max(200) })),
});

const attemptMs = 10_000;
const probeMs = 2_000;
const eraseMs = 60_000;
const answerBytes = 1_048_576;
const recordBytes = 67_108_864;

/** The fields that we need from the answer to a request for a session. */
const CreatedAnswer = z.looseObject({
  // An id becomes part of addresses and rows, so only printable characters are accepted.
  id: z.string().regex(/^[\x21-\x7e]{1,200}$/),
  url: z.string().min(1).max(4_096),
});
const Refusal = z.looseObject({
  message: z.string().optional(),
  validation_errors: z.array(z.string()).optional(),
});

/** The HTTP half of the speech API. Each method makes one attempt with a deadline and never throws. */
export class SpeechApi {
  readonly #agents = new ServiceAgents({
    keepAliveTimeout: 4_000,
    headersTimeout: attemptMs,
    bodyTimeout: attemptMs,
  });
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async create(
    target: SpeechTarget,
    body: StreamingRequest,
    region: string | undefined,
    signal: AbortSignal,
    withinMs = attemptMs,
  ): Promise<CreateResult> {
    const query = region === undefined ? '' : `?region=${encodeURIComponent(region)}`;
    let sent = false;
    try {
      using attempt = deadline(this.#clock, withinMs, signal);
      const response = await this.#agents.ask(
        target,
        'POST',
        `/v2/live${query}`,
        attempt.signal,
        jsonBody(body),
      );
      sent = true;
      const text = await readBody(response, answerBytes);
      return createResult(target, response, text, this.#clock.now());
    } catch (error) {
      return {
        outcome: 'unreachable',
        reason: codeOf(error),
        waitMs: undefined,
        uncertain: sent || !neverArrived(error),
      };
    }
  }

  /** GET /v2/live/{id}. */
  async record(
    target: SpeechTarget,
    sessionId: string,
    signal: AbortSignal,
  ): Promise<RecordResult> {
    try {
      using attempt = deadline(this.#clock, attemptMs, signal);
      const response = await this.#agents.ask(
        target,
        'GET',
        `/v2/live/${encodeURIComponent(sessionId)}`,
        attempt.signal,
      );
      const text = await readBody(response, recordBytes);
      if (response.statusCode === 404) return { outcome: 'unknown' };
      if (response.statusCode !== 200)
        return { outcome: 'unavailable', reason: `status ${response.statusCode}` };
      const record = SessionRecord.safeParse(JSON.parse(text));
      return record.success
        ? { outcome: 'found', record: record.data }
        : { outcome: 'unavailable', reason: 'the record has another form' };
    } catch (error) {
      return { outcome: 'unavailable', reason: codeOf(error) };
    }
  }

  /** GET /v2/live: the ids of the sessions with this metadata. Undefined if the service gives no answer. */
  async find(
    target: SpeechTarget,
    metadata: Record<string, unknown>,
  ): Promise<string[] | undefined> {
    try {
      const query = `limit=100&custom_metadata=${encodeURIComponent(JSON.stringify(metadata))}`;
      using attempt = deadline(this.#clock, attemptMs);
      const response = await this.#agents.ask(target, 'GET', `/v2/live?${query}`, attempt.signal);
      const list = SessionList.safeParse(parseJson(await readBody(response, recordBytes)));
      return response.statusCode === 200 ? list.data?.items.map(({ id }) => id) : undefined;
    } catch {
      return undefined; // the caller tries again, within its own bound
    }
  }

  /** DELETE /v2/live/{id}: 202 means erased, 404 unknown, 403 not finished yet. */
  async erase(
    target: SpeechTarget,
    sessionId: string,
    signal?: AbortSignal,
  ): Promise<'erased' | 'unknown' | 'unfinished' | 'failed'> {
    try {
      using attempt = deadline(this.#clock, eraseMs, signal);
      const response = await this.#agents.ask(
        target,
        'DELETE',
        `/v2/live/${encodeURIComponent(sessionId)}`,
        attempt.signal,
      );
      await readBody(response, answerBytes);
      if (response.statusCode >= 200 && response.statusCode < 300) return 'erased';
      if (response.statusCode === 404) return 'unknown';
      return response.statusCode === 403 ? 'unfinished' : 'failed';
    } catch {
      return 'failed'; // the caller tries again, within its own bound
    }
  }

  /** True if a service that knows the speech API answers at this address. */
  async answers(target: SpeechTarget): Promise<boolean> {
    try {
      using attempt = deadline(this.#clock, probeMs);
      const response = await this.#agents.ask(target, 'GET', '/v2/live?limit=1', attempt.signal);
      await response.body.dump();
      return response.statusCode < 500 && response.statusCode !== 401;
    } catch {
      return false; // the caller looks again
    }
  }

  async close(): Promise<void> {
    await this.#agents.close();
  }
}

function createResult(
  target: SpeechTarget,
  response: Dispatcher.ResponseData,
  text: string,
  nowMs: number,
): CreateResult {
  const status = response.statusCode;
  const header = response.headers['retry-after'];
  const waitMs = retryAfterMs(Array.isArray(header) ? header[0] : header, nowMs);
  if (status === 200 || status === 201) {
    const created = CreatedAnswer.safeParse(parseJson(text));
    if (!created.success)
      return {
        outcome: 'unreachable',
        reason: 'answer without id and url',
        waitMs,
        uncertain: true,
      };
    const url = sessionUrl(target, created.data.url);
    return url === undefined
      ? {
          outcome: 'refused',
          status,
          reason: 'the session leads to a host that is not allowed (TRUNKLINE_SPEECH_HOSTS)',
          isMade: true,
        }
      : { outcome: 'created', id: created.data.id, url };
  }
  if (status === 401 || status === 403)
    return { outcome: 'unauthorized', status, reason: withoutKey(refusalIn(text), target.key) };
  if (status === 429) return { outcome: 'busy', waitMs };
  if (status === 408 || status >= 500 || (status >= 300 && status < 400))
    return { outcome: 'unreachable', reason: `status ${status}`, waitMs, uncertain: false };
  return { outcome: 'refused', status, reason: withoutKey(refusalIn(text), target.key) };
}

/**
 * Removes our key from a service's words: a service may repeat the key that it refuses, and its words are shown and
 * logged.
 */
function withoutKey(reason: string, key: string | undefined): string {
  return key === undefined ? reason : reason.replaceAll(key, '…');
}

/** The service's own reason for refusing a request. */
export function refusalIn(text: string): string {
  const refusal = Refusal.safeParse(parseJson(text)).data;
  return (refusal?.validation_errors ?? [refusal?.message ?? '']).join('; ').slice(0, 500);
}

/**
 * The address of a session's socket, checked. It may be relative, as vendor clients resolve it. It must lead to the
 * service's own host or to one that the operator allowed, and never from an encrypted service to a plain socket.
 * Otherwise anyone who can change an answer could get the audio of a call.
 */
export function sessionUrl(target: SpeechTarget, given: string): string | undefined {
  const base = new URL(target.url);
  if (!URL.canParse(given, base.href)) return undefined;
  const url = new URL(given, base.href);
  if (url.protocol === 'https:') url.protocol = 'wss:';
  if (url.protocol === 'http:') url.protocol = 'ws:';
  if (url.username !== '' || url.password !== '') return undefined;
  // A fragment means nothing to a server (RFC 6455), and a WebSocket cannot be opened with one.
  url.hash = '';
  if (target.own === true) {
    // The public address may lead through a proxy that changes the path, and an address from before a restart may have
    // an old port. Only the query is used.
    const here = new URL(`/v2/live${url.search}`, base);
    here.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
    return here.href;
  }
  const secure = base.protocol === 'https:';
  if (url.protocol !== 'wss:' && (url.protocol !== 'ws:' || secure)) return undefined;
  const allowed =
    url.host === base.host || (target.hosts ?? []).some((pattern) => hostMatches(pattern, url));
  return allowed ? url.href : undefined;
}

function hostMatches(pattern: string, url: URL): boolean {
  const wanted = pattern.toLowerCase();
  if (wanted.startsWith('*.')) return url.hostname.endsWith(wanted.slice(1));
  return url.host === wanted || url.hostname === wanted;
}

export async function readBody(
  response: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBytes) throw new Error('answer too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** A short name of an error for the log. The error's own text may contain addresses. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return error.code;
  return error instanceof Error ? error.name : reasonOf(error);
}

function neverArrived(error: unknown): boolean {
  return [
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'UND_ERR_CONNECT_TIMEOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
  ].includes(codeOf(error));
}

import { Agent, type Dispatcher } from 'undici';
import { parseAllowance, type Allowance } from './guarded-fetch-addresses.ts';
import {
  guardedConnector,
  resolveAll,
  type GuardedConnectOptions,
} from './guarded-fetch-connect.ts';
import { failureOf, type FetchFailure } from './guarded-fetch-failures.ts';
import { checkUrl } from './guarded-fetch-url.ts';

export type { FetchFailure } from './guarded-fetch-failures.ts';

export type GuardedClientOptions = {
  trust: GuardedConnectOptions['trust'];
  /** Internal hosts or ranges that may be dialled all the same. */
  allow?: readonly string[];
  /** Connections to one origin. */
  connections?: number;
  connectMs?: number;
  resolve?: GuardedConnectOptions['resolve'];
  tls?: GuardedConnectOptions['tls'];
};

export type GuardedRequest = {
  url: string;
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** For the whole attempt: name, connection, head and body together. */
  deadlineMs: number;
  /** Bytes of the answer that are kept; what follows is not read. */
  maxBytes: number;
  /** Followed for GET and HEAD only, each hop judged like the first. None unless asked. */
  redirects?: number;
  /** One more send when a kept-alive connection closed under the request: for requests that may repeat. */
  resendWhenStale?: boolean;
  signal?: AbortSignal;
};

export type GuardedAnswer =
  | {
      ok: true;
      status: number;
      headers: Record<string, string | string[] | undefined>;
      body: Buffer;
      /** `cut`: longer than asked for. `broken`: the head is whole, the body never ended properly. */
      bodyEnd: 'complete' | 'cut' | 'broken';
      url: string;
    }
  | { ok: false; failure: FetchFailure; reason: string };

type Once = Omit<GuardedRequest, 'redirects' | 'resendWhenStale'> & { target: URL };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
/** Sent to one origin, never carried to another. */
const originOnly = new Set(['authorization', 'cookie', 'x-service-key', 'proxy-authorization']);

/**
 * The only way out of this process to an address that somebody gave us. Bounded in time and bytes, no
 * redirects unless asked, nothing decompressed, connections kept and never shared with another client.
 */
export class GuardedClient implements AsyncDisposable {
  readonly #agent: Agent;
  readonly #allowances: Allowance[];
  readonly #trust: GuardedClientOptions['trust'];
  #connects = 0;

  constructor(options: GuardedClientOptions) {
    this.#trust = options.trust;
    this.#allowances = (options.allow ?? []).map(parseAllowance);
    this.#agent = new Agent({
      connections: options.connections ?? 16,
      pipelining: 1,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 30_000,
      maxHeaderSize: 16_384,
      // The one deadline over head and body is ours; these two do not bound a body that drips.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: guardedConnector({
        trust: options.trust,
        allowances: this.#allowances,
        connectMs: options.connectMs ?? 3_000,
        resolve: options.resolve ?? resolveAll,
        ...(options.tls ? { tls: options.tls } : {}),
        onConnect: () => {
          this.#connects++;
        },
      }),
    });
  }

  async send(request: GuardedRequest): Promise<GuardedAnswer> {
    const signal = AbortSignal.any([
      AbortSignal.timeout(Math.max(1, Math.ceil(request.deadlineMs))),
      ...(request.signal ? [request.signal] : []),
    ]);
    let { url, headers = {} } = request;
    for (let hops = request.redirects ?? 0; ; hops--) {
      const checked = this.#check(url);
      if (!checked.ok) return { ok: false, failure: 'refused', reason: checked.reason };
      const answer = await this.#sendOnce(
        { ...request, headers, target: checked.url, signal },
        request.resendWhenStale,
      );
      const next = answer.ok ? redirectOf(answer, request) : undefined;
      if (next === undefined || !answer.ok) return answer;
      if (hops <= 0)
        return request.redirects === undefined
          ? answer
          : { ok: false, failure: 'redirects', reason: 'too many redirects' };
      if (next.origin !== checked.url.origin) headers = withoutOriginOnly(headers);
      url = next.href;
    }
  }

  /** Idle connections go, running requests end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  #check(url: string): ReturnType<typeof checkUrl> {
    if (this.#trust === 'checked') return checkUrl(url, this.#allowances);
    const parsed = URL.parse(url);
    return parsed && /^https?:$/.test(parsed.protocol)
      ? { ok: true, url: parsed }
      : { ok: false, reason: 'not an http or https URL' };
  }

  async #sendOnce(request: Once, resendWhenStale = false): Promise<GuardedAnswer> {
    const connects = this.#connects;
    const answer = await this.#dispatch(request);
    // No connection was made since: the request went out on a kept one, which the peer was just closing.
    const wasKept = this.#connects === connects;
    if (answer.ok || answer.failure !== 'closed' || !resendWhenStale || !wasKept) return answer;
    return this.#dispatch(request);
  }

  async #dispatch(request: Once): Promise<GuardedAnswer> {
    let response: Dispatcher.ResponseData;
    try {
      response = await this.#agent.request({
        origin: request.target.origin,
        path: request.target.pathname + request.target.search,
        method: request.method ?? 'GET',
        headers: request.headers ?? {},
        body: request.body ?? null,
        signal: request.signal ?? null,
      });
    } catch (error) {
      return { ok: false, ...failureOf(error) };
    }
    const { body, bodyEnd } = await readUpTo(response.body, request.maxBytes);
    return {
      ok: true,
      status: response.statusCode,
      headers: response.headers,
      body,
      bodyEnd,
      url: request.target.href,
    };
  }
}

type Body = { body: Buffer; bodyEnd: 'complete' | 'cut' | 'broken' };

async function readUpTo(stream: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      // Leaving the loop destroys the stream, and with it a connection that nobody can use again.
      if (bytes > maxBytes)
        return { body: Buffer.concat(chunks).subarray(0, maxBytes), bodyEnd: 'cut' };
    }
  } catch {
    // The head is whole and that is what decides; a body that breaks off is told, not thrown.
    return { body: Buffer.concat(chunks), bodyEnd: 'broken' };
  }
  return { body: Buffer.concat(chunks), bodyEnd: 'complete' };
}

function redirectOf(
  answer: GuardedAnswer & { ok: true },
  request: GuardedRequest,
): URL | undefined {
  if (request.redirects === undefined || !redirectStatuses.has(answer.status)) return undefined;
  const method = request.method ?? 'GET';
  const { location } = answer.headers;
  if ((method !== 'GET' && method !== 'HEAD') || typeof location !== 'string') return undefined;
  return URL.parse(location, answer.url) ?? undefined;
}

function withoutOriginOnly(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !originOnly.has(name.toLowerCase())),
  );
}

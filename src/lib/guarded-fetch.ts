import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import {
  checkUrl,
  isAllowed,
  parseAllowance,
  whyForbidden,
  type Allowance,
  type CheckedUrl,
} from './guarded-fetch-addresses.ts';

type GuardedClientOptions = {
  trust: GuardedConnectOptions['trust'];
  /** Internal hosts or ranges that may be dialled. */
  allow?: readonly string[];
  /** The number of connections to one origin. */
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
  /** The deadline of the whole attempt: name, connection, head and body together. */
  deadlineMs: number;
  /** At most this many bytes of the answer are kept. The rest is not read. */
  maxBytes: number;
  /**
   * The most redirects to follow, for GET and HEAD only. Each target is checked like the first address. None by
   * default.
   */
  redirects?: number;
  /** Sends the request again if a kept-alive connection closed during it. Only for requests that may be repeated. */
  resendWhenStale?: boolean;
  signal?: AbortSignal | undefined;
};

/** A request with a streamed body, which is sent once and never repeated. */
type GuardedUpload = Omit<GuardedRequest, 'body' | 'resendWhenStale'> & { body: Readable };

export type GuardedAnswer =
  | {
      ok: true;
      status: number;
      headers: Record<string, string | string[] | undefined>;
      body: Buffer;
      /** `cut` means longer than allowed, `broken` that the head is complete but the body never ended properly. */
      bodyEnd: 'complete' | 'cut' | 'broken';
      url: string;
    }
  | { ok: false; failure: FetchFailure; reason: string };

type GuardedStreamRequest = Omit<GuardedRequest, 'method' | 'body' | 'maxBytes'> & {
  /** The time from the sending of the request to the head of its answer. */
  firstByteMs: number;
};

/** An answer whose body the caller reads and bounds. The body fails at the deadline or with the signal. */
type GuardedStream =
  | {
      ok: true;
      status: number;
      headers: Record<string, string | string[] | undefined>;
      body: Readable;
      url: string;
    }
  | (NoAnswer & { ok: false });

/** The part of an answer's head that redirects need. */
type Head = { ok: true } & Pick<GuardedAnswer & { ok: true }, 'status' | 'headers' | 'url'>;

type Once = Omit<GuardedRequest, 'redirects' | 'resendWhenStale' | 'body'> & {
  body?: Uint8Array | Readable;
  target: URL;
};

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
/** Headers that are meant for one origin. A redirect to another origin must not carry them there. */
const originOnly = new Set(['authorization', 'cookie', 'x-service-key', 'proxy-authorization']);

/**
 * The only way from this process to an address that somebody else gave us: a webhook, a callback, a recording to fetch.
 * The address is checked before and after dialling. Time and bytes are bounded. Redirects are followed only on request
 * and checked again. Nothing is decompressed, so no small answer can become a large one. Connections are kept, and
 * never shared with another client.
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
      // `deadlineMs` bounds head and body together. These two time-outs would restart with each byte, so a body that
      // drips would never meet them.
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
    const signal = signalOf(request);
    return this.#follow<GuardedAnswer & { ok: true }>(request, (target, headers) =>
      this.#sendOnce({ ...request, headers, target, signal }, request.resendWhenStale),
    );
  }

  /** Sends a body that may be larger than memory. */
  async upload(request: GuardedUpload): Promise<GuardedAnswer> {
    const checked = this.#check(request.url);
    if (!checked.ok) return { ok: false, failure: 'refused', reason: checked.reason };
    return this.#dispatch({ ...request, target: checked.url, signal: signalOf(request) });
  }

  /** Sends a GET and passes the body on as it comes, for bodies that may be larger than memory. */
  async stream(request: GuardedStreamRequest): Promise<GuardedStream> {
    const signal = signalOf(request);
    return this.#follow<GuardedStream & { ok: true }>(
      request,
      async (target, headers) => {
        const response = await this.#respond({ ...request, headers, target, signal });
        if ('failure' in response) return { ok: false, ...response };
        const { statusCode: status, body } = response;
        // An abandoned body fails once more when nobody listens any longer. Without this listener that would end the
        // process.
        body.on('error', () => undefined);
        return { ok: true, status, headers: response.headers, body, url: target.href };
      },
      ({ body }) => body.destroy(),
    );
  }

  /** Checks the address and that of each redirect. `leave` gets the answers that were only redirects. */
  async #follow<A extends Head>(
    request: Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'redirects'>,
    go: (target: URL, headers: Record<string, string>) => Promise<A | (NoAnswer & { ok: false })>,
    leave: (answer: A) => void = () => undefined,
  ): Promise<A | (NoAnswer & { ok: false })> {
    let { url, headers = {} } = request;
    for (let hops = request.redirects ?? 0; ; hops--) {
      const checked = this.#check(url);
      if (!checked.ok) return { ok: false, failure: 'refused', reason: checked.reason };
      const answer = await go(checked.url, headers);
      const next = answer.ok ? redirectOf(answer, request) : undefined;
      if (next === undefined || !answer.ok) return answer;
      if (hops <= 0 && request.redirects === undefined) return answer;
      leave(answer);
      if (hops <= 0) return { ok: false, failure: 'redirects', reason: 'too many redirects' };
      if (next.origin !== checked.url.origin) headers = withoutOriginOnly(headers);
      url = next.href;
    }
  }

  /** Closes idle connections and ends running requests. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  #check(url: string): CheckedUrl {
    if (this.#trust === 'checked') return checkUrl(url, this.#allowances);
    const parsed = URL.parse(url);
    return parsed && /^https?:$/.test(parsed.protocol)
      ? { ok: true, url: parsed }
      : { ok: false, reason: 'not an http or https URL' };
  }

  async #sendOnce(request: Once, resendWhenStale = false): Promise<GuardedAnswer> {
    const connects = this.#connects;
    const answer = await this.#dispatch(request);
    // No new connection was made, so the request used a kept one that the peer was closing at that moment.
    const wasKept = this.#connects === connects;
    if (answer.ok || answer.failure !== 'closed' || !resendWhenStale || !wasKept) return answer;
    return this.#dispatch(request);
  }

  async #dispatch(request: Once): Promise<GuardedAnswer> {
    const response = await this.#respond(request);
    if ('failure' in response) return { ok: false, ...response };
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

  async #respond(
    request: Omit<Once, 'maxBytes'> & { firstByteMs?: number },
  ): Promise<Dispatcher.ResponseData | NoAnswer> {
    const { target, firstByteMs } = request;
    try {
      return await this.#agent.request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: request.method ?? 'GET',
        headers: request.headers ?? {},
        body: request.body ?? null,
        signal: request.signal ?? null,
        ...(firstByteMs === undefined ? {} : { headersTimeout: firstByteMs }),
      });
    } catch (error) {
      return failureOf(error);
    }
  }
}

function signalOf({
  deadlineMs,
  signal,
}: Pick<GuardedRequest, 'deadlineMs' | 'signal'>): AbortSignal {
  return AbortSignal.any([
    AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs))),
    ...(signal ? [signal] : []),
  ]);
}

type ReadBody = { body: Buffer; bodyEnd: 'complete' | 'cut' | 'broken' };

async function readUpTo(
  stream: Dispatcher.ResponseData['body'],
  maxBytes: number,
): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      // Leaving the loop destroys the stream and its connection. Otherwise the rest of this answer would precede the
      // next one.
      if (bytes > maxBytes)
        return { body: Buffer.concat(chunks).subarray(0, maxBytes), bodyEnd: 'cut' };
    }
  } catch {
    // The status is known and decides what the caller does, so a body that breaks off is reported and not thrown.
    return { body: Buffer.concat(chunks), bodyEnd: 'broken' };
  }
  return { body: Buffer.concat(chunks), bodyEnd: 'complete' };
}

function redirectOf(
  answer: Head,
  request: Pick<GuardedRequest, 'method' | 'redirects'>,
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

type Resolve = (hostname: string) => Promise<LookupAddress[]>;

type GuardedConnectOptions = {
  /** `as-written` accepts the operator's own address, whatever it is; `checked` only public or allowed ones. */
  trust: 'checked' | 'as-written';
  allowances: readonly Allowance[];
  connectMs: number;
  resolve: Resolve;
  tls?: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>;
  onConnect?: (origin: string) => void;
};

/**
 * The guard refused the address. A network failure is another error, because only there may a later attempt succeed.
 */
class AddressRefused extends Error {
  constructor(reason: string) {
    super(`the address is refused: ${reason}`);
    this.name = 'AddressRefused';
  }
}

const resolveAll: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true, order: 'verbatim' }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    );
  });

/**
 * Dials only checked addresses. The name is resolved once and every address of it must pass, since a second look-up
 * could answer differently (DNS rebinding). The socket gets exactly those addresses. The address it connects to is
 * checked once more, because a literal address is never looked up.
 */
function guardedConnector(options: GuardedConnectOptions): buildConnector.connector {
  const base = { timeout: options.connectMs, allowH2: false, ...options.tls };
  return (target, done) => {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    const judge = (address: string): string | undefined =>
      options.trust === 'as-written' ||
      isAllowed(options.allowances, { hostname: target.hostname, port, address })
        ? undefined
        : whyForbidden(address);
    const lookup: LookupFunction = (hostname, _how, answer) => {
      options.resolve(hostname).then(
        (addresses) => {
          const why = addresses
            .map(({ address }) => judge(address))
            .find((reason) => reason !== undefined);
          if (why !== undefined) answer(new AddressRefused(why), []);
          else if (addresses.length === 0) answer(new Error('the name has no address'), []);
          else answer(null, addresses);
        },
        (error: unknown) => answer(error instanceof Error ? error : new Error(String(error)), []),
      );
    };
    // Our look-up returns a list, which only the connector that tries several addresses accepts.
    const connect = buildConnector({
      ...base,
      lookup,
      autoSelectFamily: true,
    });
    connect(target, (error, socket) => {
      if (error) return done(error, null);
      const why = judge(socket.remoteAddress ?? '');
      if (why !== undefined) {
        socket.destroy();
        return done(new AddressRefused(why), null);
      }
      options.onConnect?.(target.hostname);
      done(null, socket);
    });
  };
}

/**
 * The reason why there was no answer. `refused`: the guard refused the address. `dns`, `connect`, `tls`: the peer never
 * spoke. `closed`: the connection ended before an answer. `timeout`: the deadline passed. `protocol`: the answer is not
 * HTTP.
 */
export type FetchFailure =
  | 'refused'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'closed'
  | 'timeout'
  | 'protocol'
  | 'redirects'
  | 'aborted';

type NoAnswer = { failure: FetchFailure; reason: string };

const byCode: Record<string, FetchFailure> = {
  ENOTFOUND: 'dns', EAI_AGAIN: 'dns', EAI_FAIL: 'dns', EAI_NODATA: 'dns', EAI_NONAME: 'dns',
  ECONNREFUSED: 'connect', EHOSTUNREACH: 'connect', ENETUNREACH: 'connect', EADDRNOTAVAIL: 'connect',
  EACCES: 'connect', EMFILE: 'connect', UND_ERR_CONNECT_TIMEOUT: 'connect', ETIMEDOUT: 'connect', UND_ERR_HEADERS_TIMEOUT: 'timeout',
  ECONNRESET: 'closed', EPIPE: 'closed', UND_ERR_SOCKET: 'closed', ECONNABORTED: 'closed',
  UND_ERR_HEADERS_OVERFLOW: 'protocol', UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
}; // prettier-ignore

/**
 * A failure with its reason in one line. Error texts of libraries may contain the address, so they are not passed on.
 */
export function failureOf(error: unknown): NoAnswer {
  for (let cause: unknown = error, depth = 0; cause !== undefined && depth < 5; depth++) {
    const failure = judged(cause);
    if (failure) return failure;
    cause =
      cause instanceof AggregateError
        ? cause.errors[0]
        : cause instanceof Error
          ? cause.cause
          : undefined;
  }
  return { failure: 'protocol', reason: 'no answer that could be read' };
}

function judged(error: unknown): NoAnswer | undefined {
  if (error instanceof AddressRefused) return { failure: 'refused', reason: error.message };
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'TimeoutError')
    return { failure: 'timeout', reason: 'no answer within the deadline' };
  if (error.name === 'AbortError')
    return { failure: 'aborted', reason: 'the request was given up' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = byCode[code];
  if (known) return { failure: known, reason: `${known}: ${code}` };
  if (code.startsWith('HPE_')) return { failure: 'protocol', reason: `not HTTP: ${code}` };
  if (
    /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/.test(code)
  )
    return { failure: 'tls', reason: `tls: ${code}` };
  return undefined;
}

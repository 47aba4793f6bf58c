import type { RequestHandler } from 'express';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { jobsPaths, keyHeaders, keyNotFound } from '../protocol/names.ts';
import {
  clientAddress,
  hostOf,
  isForwarded,
  isFromOwnOrigin,
  isFromOwnPage,
  isLoopback,
} from './addresses.ts';
import type { IsProxy, PublicUrl } from './addresses.ts';
import type { HttpConfig } from './config.ts';
import { networkOf } from './connections.ts';
import { pathOf, Problem } from './problem.ts';

/**
 * The keys of this installation. Only keyed digests are kept, so that a heap dump does not give the keys away and a
 * comparison takes the same time whatever the guess.
 */
export class ApiKeys {
  readonly #salt = randomBytes(32);
  readonly #digests: Buffer[];

  constructor(keys: readonly string[]) {
    this.#digests = keys.map((key) => this.#digest(key));
  }

  get required(): boolean {
    return this.#digests.length > 0;
  }

  accepts(key: string | undefined): boolean {
    if (key === undefined) return false;
    const digest = this.#digest(key);
    let found = false;
    // The loop does not stop at the key that matches: the time must not tell which of several it was.
    for (const known of this.#digests) found = timingSafeEqual(known, digest) || found;
    return found;
  }

  #digest(key: string): Buffer {
    return createHmac('sha256', this.#salt).update(key).digest();
  }
}

/** Compares two secrets in a time that depends on neither. */
export function equalSecrets(left: string, right: string): boolean {
  const salt = randomBytes(16);
  const digest = (text: string): Buffer => createHmac('sha256', salt).update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** Wrong keys of one client before it has to wait. */
const freeGuesses = 10;
/** The first wait; each further wrong key doubles it, up to the longest. */
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;
/** A client without a wrong key for so long begins anew. */
const forgetMs = 900_000;
/** Clients remembered at once; beyond it the one that was heard of the longest ago is forgotten. */
export const maxClientsRemembered = 10_000;
/** Nobody guesses a key of this length over a network, whatever the number of tries. */
const unguessableLength = 24;

type Client = { wrong: number; waitUntilMs: number; latestMs: number; hadRightKey: boolean };

/**
 * Counts the wrong keys of each client: keys are long, but a door that takes any number of guesses invites them. A
 * client that has shown a right key before passes with it at any time, because others may share its address.
 */
export class WrongKeys {
  readonly #clock: Clock;
  readonly #clients = new Map<string, Client>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds this client has to wait, 0 when it may try now. */
  waitS(address: string): number {
    const client = this.#clients.get(networkOf(address));
    const leftMs = (client?.waitUntilMs ?? 0) - this.#clock.monotonicMs();
    return leftMs > 0 ? Math.ceil(leftMs / 1_000) : 0;
  }

  hadRightKey(address: string): boolean {
    return this.#clients.get(networkOf(address))?.hadRightKey ?? false;
  }

  wrong(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const client = this.#heardOf(address);
    client.wrong++;
    const waits = client.wrong - freeGuesses;
    if (waits >= 0)
      client.waitUntilMs = nowMs + Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(waits, 20));
  }

  right(address: string): void {
    // The commonest case is a client that is known already and never sent a wrong key: nothing to note.
    if (this.hadRightKey(address)) return;
    this.#heardOf(address).hadRightKey = true;
  }

  /** The client, as the one that was heard of latest. */
  #heardOf(address: string): Client {
    const nowMs = this.#clock.monotonicMs();
    const name = networkOf(address);
    const before = this.#clients.get(name);
    this.#clients.delete(name);
    for (const oldest of this.#clients.keys()) {
      if (this.#clients.size < maxClientsRemembered) break;
      this.#clients.delete(oldest);
    }
    const client = before ?? { wrong: 0, waitUntilMs: 0, latestMs: nowMs, hadRightKey: false };
    if (nowMs - client.latestMs > forgetMs) client.wrong = 0;
    client.latestMs = nowMs;
    this.#clients.set(name, client);
    return client;
  }
}

type KeyCheckOptions = {
  config: HttpConfig;
  insecure: boolean;
  /** Opens the speech interface to the bridge of this process, and nothing else to anybody. */
  internalKey: string;
  publicUrl: PublicUrl;
  isProxy: IsProxy;
  clock: Clock;
  /** Told of each request that showed a key. */
  onKnown: (request: IncomingMessage) => void;
};

/** What became of a key: `wait` for a client that guessed too often. */
export type KeyVerdict =
  { is: 'right' } | { is: 'missing' } | { is: 'wrong' } | { is: 'wait'; waitS: number };

/** Decides who may pass: with keys set whoever sends one, without keys only pages and programs of this machine. */
export class KeyCheck {
  readonly #options: KeyCheckOptions;
  readonly #keys: ApiKeys;
  readonly #internalKey: ApiKeys;
  readonly #wrongKeys: WrongKeys;
  /** Without keys, and unless strangers are welcome, a request must come from this machine itself. */
  readonly #onlyThisMachine: boolean;
  #latestOurs: string | undefined;
  #isSignedIn: (request: IncomingMessage) => boolean = () => false;

  constructor(options: KeyCheckOptions) {
    const { config, insecure, internalKey, clock } = options;
    this.#options = options;
    this.#keys = new ApiKeys(config.apiKeys);
    this.#internalKey = new ApiKeys([internalKey]);
    this.#wrongKeys = new WrongKeys(clock);
    this.#onlyThisMachine = config.apiKeys.length === 0 && !insecure;
  }

  get required(): boolean {
    return this.#keys.required;
  }

  /** The console's cookie counts as a key for operator routes, and for the jobs that the page shows. */
  acceptSignIns(isSignedIn: (request: IncomingMessage) => boolean): void {
    this.#isSignedIn = isSignedIn;
  }

  /**
   * Why a request may not come in at all; undefined when it may. Without keys the network is the only lock, so nothing
   * is answered that comes through a proxy, under a foreign name (a name that leads to 127.0.0.1), or from a page of
   * another site in the browser of this machine: such a page may send a GET without any `Origin`.
   */
  whyForeign(request: IncomingMessage): string | undefined {
    if (!this.#onlyThisMachine) return undefined;
    if (isForwarded(request)) return forwardedWords;
    const { host, origin } = request.headers;
    if ([host, origin].some((header) => header !== undefined && !this.#isOurs(header)))
      return foreignWords;
    if (request.headers['sec-fetch-site'] === 'cross-site' && !isLinkToPage(request))
      return foreignWords;
    const changes = !['GET', 'HEAD', 'OPTIONS'].includes(request.method ?? '');
    return changes && !isFromOwnOrigin(request, this.#options.publicUrl) ? foreignWords : undefined;
  }

  #isOurs(header: string): boolean {
    // Nearly all requests name us alike: the latest name that was ours need not be parsed again.
    if (header === this.#latestOurs) return true;
    const host = hostOf(header);
    const isOurs = host !== undefined && isLoopback(host);
    if (isOurs) this.#latestOurs = header;
    return isOurs;
  }

  /** Judges a key that a client shows, wherever it shows it, and counts the wrong ones. */
  judge(request: IncomingMessage, key: string | undefined): KeyVerdict {
    if (!this.#keys.required) return { is: 'right' };
    if (key === undefined) return { is: 'missing' };
    const client = clientAddress(request, this.#options.isProxy);
    const isRight = this.#keys.accepts(key);
    const waitS = this.#wrongKeys.waitS(client);
    const passes = key.length >= unguessableLength || this.#wrongKeys.hadRightKey(client);
    if (isRight && (waitS === 0 || passes)) {
      this.#wrongKeys.right(client);
      this.#options.onKnown(request);
      return { is: 'right' };
    }
    // A right key in the wait gets the same answer as a wrong one: the answer must not tell which it was.
    if (waitS > 0) return { is: 'wait', waitS };
    this.#wrongKeys.wrong(client);
    return { is: 'wrong' };
  }

  hasOperatorKey(request: IncomingMessage): boolean {
    return this.#judgeOperator(request).is === 'right';
  }

  #judgeOperator(request: IncomingMessage): KeyVerdict {
    if (!this.#keys.required || !this.#isSignedIn(request))
      return this.judge(request, keyOf(request));
    this.#options.onKnown(request);
    return { is: 'right' };
  }

  readonly operator: RequestHandler = (request, _response, next) => {
    next(refusalOf(this.#judgeOperator(request), request));
  };

  readonly speech: RequestHandler = (request, _response, next) => {
    const key = keyOf(request);
    // The bridge of this process must reach our own service however often others guessed from its address.
    if (this.#internalKey.accepts(key)) {
      this.#options.onKnown(request);
      next();
    } else if (key === undefined && this.#isJobsPage(request)) {
      this.#options.onKnown(request);
      next();
    } else next(refusalOf(this.judge(request, key), request));
  };

  /**
   * The cookie of the console opens the jobs and nothing else of the speech interface. A form of another site can post
   * a file without asking first, so here the request must be known to come from a page of ours.
   */
  #isJobsPage(request: IncomingMessage & { originalUrl?: string }): boolean {
    return (
      this.#keys.required &&
      jobsPaths.test(pathOf(request.originalUrl ?? request.url ?? '')) &&
      isFromOwnPage(request, this.#options.publicUrl) &&
      this.#isSignedIn(request)
    );
  }
}

const foreignWords = 'this address answers only this machine; set TRUNKLINE_API_KEYS to open it';
const forwardedWords =
  'this request came through a proxy, and without keys only this machine is answered; set TRUNKLINE_API_KEYS';

/** A link on a page elsewhere that a person followed to our page: it shows the page and changes nothing. */
function isLinkToPage({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    ['/', '/docs'].includes(pathOf(url ?? ''))
  );
}

/** The answer to a key that does not open; undefined for one that does. */
export function refusalOf(verdict: KeyVerdict, request: IncomingMessage): Problem | undefined {
  switch (verdict.is) {
    case 'right':
      return undefined;
    case 'wait':
      return new Problem(429, 'too many wrong keys', {
        headers: { 'retry-after': String(verdict.waitS) },
      });
    case 'wrong':
    case 'missing':
      // Names the header that came; without one, the header that we document.
      return new Problem(
        401,
        keyNotFound(keyHeaders.find((name) => request.headers[name] !== undefined)),
      );
  }
}

/** The key under the neutral header, or under the one that unmodified clients of the interface send. */
function keyOf(request: IncomingMessage): string | undefined {
  const [ours, theirs] = keyHeaders;
  const value = request.headers[ours] ?? request.headers[theirs];
  return Array.isArray(value) ? value[0] : value;
}

import type { Request, RequestHandler } from 'express';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { jobsPaths, keyHeaders, keyNotAccepted, keyNotFound } from '../protocol/names.ts';
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
import { pathOf, Problem } from './problem.ts';
import type { SecretJudge, SecretVerdict } from './secrets.ts';

/**
 * Holds the keys of this installation. Only keyed digests are kept, so that a heap dump gives no key away and a
 * comparison takes the same time for every guess.
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
    // The loop does not stop at the matching key, because the time must not show which key it was.
    for (const known of this.#digests) found = timingSafeEqual(known, digest) || found;
    return found;
  }

  #digest(key: string): Buffer {
    return createHmac('sha256', this.#salt).update(key).digest();
  }
}

type KeyCheckOptions = {
  config: HttpConfig;
  insecure: boolean;
  /** The key of the bridge of this process. It opens only the speech interface. */
  internalKey: string;
  publicUrl: PublicUrl;
  isProxy: IsProxy;
  secrets: SecretJudge;
  /** Called for each request that showed a key. */
  onKnown: (request: IncomingMessage) => void;
};

/** The verdict on a key. `wait` means that the client guessed too often. */
export type KeyVerdict = SecretVerdict | { is: 'missing' };

/**
 * Decides which requests may pass. If keys are set, a request must show one. If none are set, it must come from this
 * machine.
 */
export class KeyCheck {
  readonly #options: KeyCheckOptions;
  readonly #keys: ApiKeys;
  readonly #internalKey: ApiKeys;
  /** True if there are no keys and strangers are not allowed: a request must then come from this machine. */
  readonly #onlyThisMachine: boolean;
  #latestOurs: string | undefined;
  #isSignedIn: (request: IncomingMessage) => boolean = () => false;

  constructor(options: KeyCheckOptions) {
    const { config, insecure, internalKey, secrets } = options;
    this.#options = options;
    this.#keys = new ApiKeys(config.apiKeys);
    this.#internalKey = new ApiKeys([internalKey]);
    secrets.open(keysDoor);
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
   * Returns the reason why a request is refused before its key is checked, or undefined. Without keys only the network
   * protects us. Requests are then refused if they come through a proxy, under a foreign name (a name that leads to
   * 127.0.0.1), or from a page of another site in a browser on this machine. A page of another site may send a GET
   * without any `Origin`.
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
    // Nearly all requests use the same name for us, so the latest name that was ours need not be parsed again.
    if (header === this.#latestOurs) return true;
    const host = hostOf(header);
    const isOurs = host !== undefined && isLoopback(host);
    if (isOurs) this.#latestOurs = header;
    return isOurs;
  }

  /** Judges a key that a client shows in a header or elsewhere, and counts wrong keys. */
  judge(request: IncomingMessage, key: string | undefined): KeyVerdict {
    if (!this.#keys.required) return { is: 'right' };
    if (key === undefined) return { is: 'missing' };
    const { secrets } = this.#options;
    const isRight = this.#keys.accepts(key);
    const client = this.#clientOf(request);
    const verdict = secrets.judge({ door: keysDoor, client, secret: key, isRight });
    if (verdict.is === 'right') this.#options.onKnown(request);
    return verdict;
  }

  /** Judges the key of a browser that signs in. Each sign-in is logged. */
  judgeSignIn(request: IncomingMessage, key: string | undefined): KeyVerdict {
    const verdict = this.judge(request, key);
    if (verdict.is === 'right' && this.#keys.required)
      this.#options.secrets.note(this.#clientOf(request), 'a browser signed in');
    return verdict;
  }

  #clientOf(request: IncomingMessage): string {
    return clientAddress(request, this.#options.isProxy);
  }

  /** True if a request shows any valid key, including that of the bridge of this process. */
  hasKey(request: IncomingMessage): boolean {
    if (!this.#internalKey.accepts(keyOf(request))) return this.hasOperatorKey(request);
    this.#options.onKnown(request);
    return true;
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
    const verdict = this.#judgeOperator(request);
    if (verdict.is === 'right') this.#noteChange(request);
    next(refusalOf(verdict, request));
  };

  /**
   * Logs a request that changes something. The line names the kind of resource and no id. Requests that only read are
   * counted and not logged.
   */
  #noteChange(request: Request): void {
    const { method, originalUrl } = request;
    if (!this.#keys.required || ['GET', 'HEAD', 'OPTIONS'].includes(method)) return;
    const at = pathOf(originalUrl).split('/', 3).join('/');
    this.#options.secrets.note(this.#clientOf(request), 'an operator changed something', {
      method,
      at,
    });
  }

  readonly speech: RequestHandler = (request, _response, next) => {
    const key = keyOf(request);
    // The bridge of this process must reach our own speech service even if others guessed keys from the same address.
    if (this.#internalKey.accepts(key)) {
      this.#options.onKnown(request);
      next();
    } else if (key === undefined && this.#isJobsPage(request)) {
      this.#options.onKnown(request);
      next();
    } else next(refusalOf(this.judge(request, key), request));
  };

  /**
   * True for a request of the console's page to the jobs, the only part of the speech interface that its cookie opens.
   * A form of another site can post a file without asking first, so the request must be known to come from a page of
   * ours.
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

/** The API, the speech interface and the sign-in share their keys and therefore one count of wrong keys. */
const keysDoor = 'keys';

const foreignWords = 'this address answers only this machine; set TRUNKLINE_API_KEYS to open it';
const forwardedWords =
  'this request came through a proxy, and without keys only this machine is answered; set TRUNKLINE_API_KEYS';

/**
 * True if a person followed a link on another site to our page. Such a request only shows the page and changes nothing.
 */
function isLinkToPage({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    ['/', '/docs'].includes(pathOf(url ?? ''))
  );
}

/** Returns the error to answer if the key was not accepted, otherwise undefined. */
export function refusalOf(verdict: KeyVerdict, request: IncomingMessage): Problem | undefined {
  switch (verdict.is) {
    case 'right':
      return undefined;
    case 'wait':
      return new Problem(429, 'too many wrong keys', {
        headers: { 'retry-after': String(verdict.waitS) },
      });
    case 'wrong':
      return new Problem(
        401,
        keyNotAccepted(keyHeaders.find((name) => request.headers[name] !== undefined)),
      );
    case 'missing':
      return new Problem(401, keyNotFound());
  }
}

/** Reads the key from our own neutral header, or from the header that unmodified clients of the interface send. */
function keyOf(request: IncomingMessage): string | undefined {
  const [ours, theirs] = keyHeaders;
  const value = request.headers[ours] ?? request.headers[theirs];
  return Array.isArray(value) ? value[0] : value;
}

import type { RequestHandler } from 'express';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { keyHeaders, keyNotFound } from '../protocol/names.ts';
import { hostOf, isLoopback } from './addresses.ts';
import type { HttpConfig } from './config.ts';
import { Problem } from './problem.ts';

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

export type KeyCheckOptions = {
  config: HttpConfig;
  insecure: boolean;
  /** Opens the speech interface to the bridge of this process, and nothing else to anybody. */
  internalKey: string;
};

/** Decides who may pass: with keys set whoever sends one, without keys only pages and programs of this machine. */
export class KeyCheck {
  readonly #operators: ApiKeys;
  readonly #speech: ApiKeys;
  readonly #checkHost: boolean;
  readonly #publicHost: string | undefined;
  #latestOurs: string | undefined;
  #isSignedIn: (request: IncomingMessage) => boolean = () => false;

  constructor({ config, insecure, internalKey }: KeyCheckOptions) {
    this.#operators = new ApiKeys(config.apiKeys);
    this.#speech = new ApiKeys(config.apiKeys.length > 0 ? [...config.apiKeys, internalKey] : []);
    this.#checkHost = config.apiKeys.length === 0 && !insecure;
    this.#publicHost = config.publicUrl === undefined ? undefined : hostOf(config.publicUrl);
  }

  /** The console's cookie counts as a key for operator routes. */
  acceptSignIns(isSignedIn: (request: IncomingMessage) => boolean): void {
    this.#isSignedIn = isSignedIn;
  }

  /**
   * Without keys the network is the only lock. A page of another site could reach us through the browser of this
   * machine: its `Origin` gives it away, and a name of its own that leads to 127.0.0.1 shows in `Host`.
   */
  isForeign(request: IncomingMessage): boolean {
    if (!this.#checkHost) return false;
    const { host, origin } = request.headers;
    return [host, origin].some((header) => header !== undefined && !this.#isOurs(header));
  }

  #isOurs(header: string): boolean {
    // Nearly all requests name us alike: the latest name that was ours need not be parsed again.
    if (header === this.#latestOurs) return true;
    const host = hostOf(header);
    const isOurs = host !== undefined && (isLoopback(host) || host === this.#publicHost);
    if (isOurs) this.#latestOurs = header;
    return isOurs;
  }

  hasOperatorKey(request: IncomingMessage): boolean {
    return (
      !this.#operators.required ||
      this.#operators.accepts(keyOf(request)) ||
      this.#isSignedIn(request)
    );
  }

  readonly operator: RequestHandler = (request, _response, next) => {
    next(this.hasOperatorKey(request) ? undefined : missingKey(request));
  };

  readonly speech: RequestHandler = (request, _response, next) => {
    const passes = !this.#speech.required || this.#speech.accepts(keyOf(request));
    next(passes ? undefined : missingKey(request));
  };
}

export const foreignWords =
  'this address answers only this machine; set TRUNKLINE_API_KEYS to open it';

/** Names the header that came; without one, the header that we document. */
function missingKey(request: IncomingMessage): Problem {
  return new Problem(
    401,
    keyNotFound(keyHeaders.find((name) => request.headers[name] !== undefined)),
  );
}

/** The key under the neutral header, or under the one that unmodified clients of the interface send. */
function keyOf(request: IncomingMessage): string | undefined {
  const [ours, theirs] = keyHeaders;
  const value = request.headers[ours] ?? request.headers[theirs];
  return Array.isArray(value) ? value[0] : value;
}

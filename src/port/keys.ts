import type { Request, Response } from 'express';
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
import {
  emptyDirectory,
  settingKey,
  thisMachine,
  thisProcess,
  type Directory,
  type Principal,
} from './principal.ts';
import { reachOf } from '../protocol/rights.ts';
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

/** Somebody who showed a token in place of a key. */
export type OpenedByToken = {
  is: 'token';
  principal: Principal;
  /** Throws the refusal if the request asks for more than the token opens. */
  admit(request: Request, response: Response): Promise<void>;
};

/** True if the request showed a token, at this node or at the node that passed it on. */
export function isByToken(response: Response): boolean {
  return response.locals['byToken'] === true;
}

export function markByToken(response: Response): void {
  response.locals['byToken'] = true;
}

/** Knows tokens that open a few routes in place of a key. */
export type TokenDoor = {
  hasForm(token: string): boolean;
  open(token: string): Promise<OpenedByToken | undefined>;
};

type KeyCheckOptions = {
  config: HttpConfig;
  insecure: boolean;
  /** The key of the bridge of this process. It opens only the speech interface. */
  internalKey: string;
  publicUrl: PublicUrl;
  isProxy: IsProxy;
  secrets: SecretJudge;
  directory?: Directory | undefined;
  /** Called with the address of a client that showed a wrong key. */
  onWrong?: ((address: string) => void) | undefined;
  /** Called for each request that showed a key. */
  onKnown: (request: IncomingMessage) => void;
};

/** The verdict on a key. `wait` means that the client guessed too often. */
export type KeyVerdict = SecretVerdict | { is: 'missing' };

type Identity = { is: 'right'; principal: Principal } | Exclude<KeyVerdict, { is: 'right' }>;

/**
 * Decides who a request comes from. If keys are set, or keys or people were made, a request must show a proof.
 * Otherwise it must come from this machine.
 */
export class KeyCheck {
  readonly #options: KeyCheckOptions;
  readonly #keys: ApiKeys;
  readonly #internalKey: ApiKeys;
  readonly #directory: Directory;
  /** True if there are no keys and strangers are not allowed: a request must then come from this machine. */
  readonly #onlyThisMachine: boolean;
  #latestOurs: string | undefined;
  #tokens: TokenDoor | undefined;

  constructor(options: KeyCheckOptions) {
    const { config, insecure, internalKey, secrets, directory = emptyDirectory } = options;
    this.#options = options;
    this.#keys = new ApiKeys(config.apiKeys);
    this.#internalKey = new ApiKeys([internalKey]);
    this.#directory = directory;
    secrets.open(keysDoor);
    secrets.open(tokensDoor);
    this.#onlyThisMachine = config.apiKeys.length === 0 && !insecure;
  }

  get required(): boolean {
    return this.#keys.required || this.#directory.asksForProof;
  }

  /** A request that shows a token in place of a key is let in by this door alone, to the routes of its token. */
  acceptTokens(door: TokenDoor): void {
    this.#tokens = door;
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
    const found = this.#judged(request, key);
    return found.is === 'right' ? { is: 'right' } : found;
  }

  #judged(request: IncomingMessage, key: string | undefined): Identity {
    if (!this.required) return { is: 'right', principal: thisMachine };
    if (key === undefined) return { is: 'missing' };
    const { secrets } = this.#options;
    const principal = this.#keys.accepts(key) ? settingKey : this.#directory.holderOf(key);
    const client = this.clientOf(request);
    const isRight = principal !== undefined;
    const verdict = secrets.judge({ door: keysDoor, client, secret: key, isRight });
    if (verdict.is === 'wrong') this.#options.onWrong?.(client);
    if (verdict.is !== 'right') return verdict;
    this.#options.onKnown(request);
    // The judge is right only about a key that somebody holds.
    return { is: 'right', principal: principal ?? settingKey };
  }

  /** Judges the key of a browser that signs in. Each sign-in is logged. */
  async judgeSignIn(
    request: IncomingMessage,
    key: string | undefined,
  ): Promise<{ verdict: KeyVerdict; principal: Principal | undefined }> {
    if (this.#isNew(request, key)) await this.#directory.refresh();
    const found = this.#judged(request, key);
    if (found.is !== 'right') return { verdict: found, principal: undefined };
    if (this.required) this.#options.secrets.note(this.clientOf(request), 'a browser signed in');
    return { verdict: { is: 'right' }, principal: found.principal };
  }

  clientOf(request: IncomingMessage): string {
    return clientAddress(request, this.#options.isProxy);
  }

  /** True if a request shows any valid key, including that of the bridge of this process. */
  hasKey(request: IncomingMessage): boolean {
    if (!this.#internalKey.accepts(keyOf(request)))
      return this.#identifyNow(request).is === 'right';
    this.#options.onKnown(request);
    return true;
  }

  /** True if the request shows a proof of somebody who may see how the installation does. */
  maySee(request: IncomingMessage): boolean {
    const found = this.#identifyNow(request);
    return found.is === 'right' && reachOf(found.principal, 'installation.read') !== undefined;
  }

  /** Finds who asks, by a sign-in or a key. A sign-in or key that was made at another node a moment ago is looked up. */
  async identify(request: IncomingMessage): Promise<Identity> {
    if (this.#isNew(request, keyOf(request))) await this.#directory.refresh();
    return this.#identifyNow(request);
  }

  /** The holder of this request's proof now, without counting it again. Undefined once it was taken back. */
  holderNow(request: IncomingMessage, before: Principal): Principal | undefined {
    if (before.kind === 'machine') return this.required ? undefined : before;
    // The door of the tokens looks at the streams that it opened itself.
    if (before.kind === 'process' || before.kind === 'token') return before;
    const key = keyOf(request);
    return (
      this.#directory.signedIn(request) ??
      (key === undefined
        ? undefined
        : this.#keys.accepts(key)
          ? settingKey
          : this.#directory.holderOf(key))
    );
  }

  #isNew(request: IncomingMessage, key: string | undefined): boolean {
    if (key === undefined) return this.#directory.isUnknown(request);
    return this.#directory.hasForm(key) && this.#directory.holderOf(key) === undefined;
  }

  #identifyNow(request: IncomingMessage): Identity {
    if (!this.required) return { is: 'right', principal: thisMachine };
    const principal = this.#directory.signedIn(request);
    if (principal === undefined) return this.#judged(request, keyOf(request));
    this.#options.onKnown(request);
    return { is: 'right', principal };
  }

  /** Finds who asks the speech interface. The sign-in of a page opens only its jobs, and only to pages of ours. */
  async identifySpeech(request: Request): Promise<Identity> {
    const key = keyOf(request);
    // The bridge of this process must reach our own speech service even if others guessed keys from the same address.
    if (this.#internalKey.accepts(key)) {
      this.#options.onKnown(request);
      return { is: 'right', principal: thisProcess };
    }
    if (this.#isNew(request, key)) await this.#directory.refresh();
    if (key === undefined && this.#isJobsPage(request)) return this.#identifyNow(request);
    return this.#judged(request, key);
  }

  /** The token that a request shows. A token never adds to what a key or a sign-in opens: it stands in their place. */
  #tokenOf({ headers }: IncomingMessage): string | undefined {
    if (keyHeaders.some((name) => headers[name] !== undefined)) return undefined;
    const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    return token !== undefined && this.#tokens?.hasForm(token) === true ? token : undefined;
  }

  /** Judges the token of a request that shows one. Undefined: the request shows none. */
  async identifyToken(
    request: IncomingMessage,
  ): Promise<OpenedByToken | Exclude<KeyVerdict, { is: 'right' }> | undefined> {
    const token = this.#tokenOf(request);
    if (token === undefined) return undefined;
    const opened = await this.#tokens?.open(token);
    const isRight = opened !== undefined;
    const client = this.clientOf(request);
    const shown = { door: tokensDoor, client, secret: token, isRight };
    const verdict = this.#options.secrets.judge(shown);
    if (verdict.is !== 'right' || opened === undefined)
      return verdict.is === 'right' ? { is: 'wrong' } : verdict;
    this.#options.onKnown(request);
    return opened;
  }

  /**
   * Logs a request that changes something. The line names the kind of resource and no id. Requests that only read are
   * counted and not logged.
   */
  noteChange(request: Request): void {
    const { method, originalUrl } = request;
    if (!this.required || ['GET', 'HEAD', 'OPTIONS'].includes(method)) return;
    const at = pathOf(originalUrl).split('/', 3).join('/');
    this.#options.secrets.note(this.clientOf(request), 'an operator changed something', {
      method,
      at,
    });
  }

  /**
   * True for a request of the console's page to the jobs, the only part of the speech interface that its cookie opens.
   * A form of another site can post a file without asking first, so the request must be known to come from a page of
   * ours.
   */
  #isJobsPage(request: IncomingMessage & { originalUrl?: string }): boolean {
    return (
      this.required &&
      jobsPaths.test(pathOf(request.originalUrl ?? request.url ?? '')) &&
      isFromOwnPage(request, this.#options.publicUrl) &&
      this.#directory.signedIn(request) !== undefined
    );
  }
}

/** The API, the speech interface and the sign-in share their keys and therefore one count of wrong keys. */
const keysDoor = 'keys';
/** Tokens of the panel have a count of their own. */
const tokensDoor = 'panel';
export const tokenNotAccepted =
  'the token is wrong, was revoked, or its time is over: get a new one';

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

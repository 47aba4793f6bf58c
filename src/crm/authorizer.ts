import { createSign, hkdfSync } from 'node:crypto';
import { wait, type Clock } from '../lib/clock.ts';
import { digestOf } from '../lib/digest.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { GuardedAnswer, GuardedRequest } from '../lib/guarded-fetch.ts';
import { sealed, unsealed } from '../lib/sealed.ts';
import { fixedHeaders, type AuthSetting, type FetchedAuth } from './auth.ts';
import type { TokenRows } from './token-rows.ts';

type AuthorizerOptions = {
  endpoint: string;
  /** The address of the endpoint: a path of a token address is one of it. */
  url: string;
  auth: AuthSetting;
  /** The word before a fetched token, if the CRM does not use `Bearer`. */
  scheme: string;
  client: { send(request: GuardedRequest): Promise<GuardedAnswer> };
  /** Undefined for commands, which fetch a token for themselves. */
  rows: TokenRows | undefined;
  clock: Clock;
};

/** A fetched token. `refresh` is set if the CRM returns a new refresh token each time: it fetches the next token. */
type FetchedToken = { proof: string; refresh?: string | undefined; expiresAt: number };

/** The proof could not be fetched. `isRefused`: by the CRM, so that a person must act. */
export class NoToken extends Error {
  readonly isRefused: boolean;
  constructor(message: string, isRefused: boolean) {
    super(message);
    this.isRefused = isRefused;
  }
}

/** A token is fetched anew after this part of its life. */
const usedLife = 0.8;
/** The lifetime of a token if the answer does not state one. */
const unnamedLifeS = 3_600;
const longestLifeS = 86_400;
/** A node holds this lock while it fetches a token. Other nodes wait for it and check again at short intervals. */
const lockMs = 20_000;
/** A token is asked for within the time of the lock: nobody else may use the same refresh token meanwhile. */
const askMs = 15_000;
const lookEveryMs = 200;
const maxTokenBytes = 65_536;

/**
 * The headers with which an endpoint proves who it is. A fetched token lies sealed in the database, so that all nodes
 * and the next start use the same one. The row is written before the first use of the token: a CRM that replaces the
 * refresh token at each use forgets the old one, and a kill in between must not lose the new one.
 */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #settings: string;
  #token: FetchedToken | undefined;
  #refusedProof: string | undefined;
  #fetching: Promise<FetchedToken> | undefined;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    // A digest of everything that was set: a token that other settings brought is worth nothing.
    this.#settings = digestOf(JSON.stringify([options.url, options.auth]));
  }

  get isFetched(): boolean {
    return fixedHeaders(this.#options.auth) === undefined;
  }

  /** Rejects with `NoToken` when there is no proof within the deadline. */
  async headers(deadlineMs: number): Promise<Record<string, string>> {
    const fixed = fixedHeaders(this.#options.auth);
    if (fixed) return fixed;
    const token = await this.#current(deadlineMs);
    return { authorization: token.proof };
  }

  /**
   * The endpoint answered 401 to this proof: the next call of `headers` fetches a new one. Of several requests that were
   * refused with one proof, only the first does that.
   */
  refused(proof: Record<string, string>): void {
    if (this.#token === undefined || this.#token.proof !== proof['authorization']) return;
    this.#refusedProof = this.#token.proof;
    this.#token = undefined;
  }

  async #current(deadlineMs: number): Promise<FetchedToken> {
    if (this.#token && this.#isUsable(this.#token)) return this.#token;
    this.#fetching ??= this.#fetch(deadlineMs).finally(() => {
      this.#fetching = undefined;
    });
    this.#token = await this.#fetching;
    return this.#token;
  }

  async #fetch(deadlineMs: number): Promise<FetchedToken> {
    const { rows, clock, endpoint } = this.#options;
    const endsMs = clock.monotonicMs() + deadlineMs;
    const leftMs = (): number => Math.max(1, endsMs - clock.monotonicMs());
    if (rows === undefined) return this.#ask(undefined, leftMs());
    for (;;) {
      const known = await this.#stored(rows);
      if (known && this.#isUsable(known)) return known;
      const now = clock.now();
      if (await rows.lock(endpoint, this.#settings, now, now + lockMs)) break;
      if (clock.monotonicMs() >= endsMs)
        throw new NoToken('another process is fetching the token and has not ended', false);
      await wait(clock, lookEveryMs);
    }
    try {
      // Read again under the lock: the one who had it before may have fetched a new one.
      const known = await this.#stored(rows);
      if (known && this.#isUsable(known)) {
        await rows.unlock(endpoint);
        return known;
      }
      const token = await this.#ask(known?.refresh, Math.min(leftMs(), askMs));
      await rows.write(endpoint, {
        sealed: sealed(JSON.stringify(token), this.#key()),
        expiresAt: token.expiresAt,
      });
      return token;
    } catch (error) {
      await rows.unlock(endpoint).catch(() => undefined); // else the lock ends by itself
      throw error;
    }
  }

  #isUsable({ proof, expiresAt }: FetchedToken): boolean {
    return proof !== this.#refusedProof && expiresAt > this.#options.clock.now();
  }

  async #stored(rows: TokenRows): Promise<FetchedToken | undefined> {
    const row = await rows.read(this.#options.endpoint, this.#settings);
    return row === undefined ? undefined : this.#open(row.sealed);
  }

  async #ask(refresh: string | undefined, deadlineMs: number): Promise<FetchedToken> {
    const auth = this.#options.auth as FetchedAuth;
    const request = tokenRequest(auth, this.#options.url, refresh, this.#options.clock.now());
    const answer = await this.#options.client.send({
      ...request,
      deadlineMs,
      maxBytes: maxTokenBytes,
    });
    if (!answer.ok) throw new NoToken(`no token: ${answer.reason}`, false);
    const isRefused = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
    if (answer.status !== 200 && answer.status !== 201)
      throw new NoToken(
        `the token address answered ${answer.status}${errorNameOf(answer.body)}`,
        isRefused,
      );
    const token = tokenOf(auth, this.#options.scheme, answer.body, this.#options.clock.now());
    if (token === undefined) throw new NoToken('the token address answered without a token', true);
    return { ...token, refresh: token.refresh ?? refresh };
  }

  /** The key comes from the secret in the settings, so that the database alone opens nothing. */
  #key(): Uint8Array {
    const auth = this.#options.auth;
    const secret =
      'clientSecret' in auth
        ? auth.clientSecret
        : 'key' in auth
          ? auth.key
          : 'password' in auth
            ? auth.password
            : '';
    return new Uint8Array(hkdfSync('sha256', secret, this.#settings, 'trunkline crm token', 32));
  }

  /** Undefined for a row that this key does not open: then a new token is fetched. */
  #open(text: string): FetchedToken | undefined {
    const opened = unsealed(text, this.#key());
    return opened === undefined ? undefined : (JSON.parse(opened) as FetchedToken);
  }
}

type TokenRequest = Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'body'>;

function tokenRequest(
  auth: FetchedAuth,
  url: string,
  refresh: string | undefined,
  nowMs: number,
): TokenRequest {
  if (auth.kind === 'tryton_session')
    return {
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(
        JSON.stringify({
          id: 0,
          method: 'common.db.login',
          params: [auth.user, { password: auth.password }],
        }),
      ),
    };
  const form = new URLSearchParams();
  if (auth.kind === 'oauth_refresh') {
    form.set('grant_type', 'refresh_token');
    form.set('refresh_token', refresh ?? auth.refreshToken);
  } else if (auth.kind === 'client_credentials') {
    form.set('grant_type', 'client_credentials');
    if (auth.scope !== undefined) form.set('scope', auth.scope);
  } else {
    form.set('grant_type', 'urn:ietf:params:oauth:grant-type:jwt-bearer');
    form.set('assertion', signedClaims(auth, nowMs));
  }
  if (auth.kind !== 'jwt_bearer') {
    form.set('client_id', auth.clientId);
    form.set('client_secret', auth.clientSecret);
  }
  if (auth.tokenUrl === undefined)
    throw new TrunklineError(
      'CONFIG_INVALID',
      'auth needs a tokenUrl: the address that gives tokens',
    );
  return {
    url: new URL(auth.tokenUrl, url).href,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: Buffer.from(form.toString()),
  };
}

/** A JWT that is good for three minutes. */
function signedClaims(
  { issuer, subject, audience, key }: Extract<FetchedAuth, { kind: 'jwt_bearer' }>,
  nowMs: number,
): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(nowMs / 1000) + 180;
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iss: issuer, sub: subject, aud: audience, exp })}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
}

function tokenOf(
  auth: FetchedAuth,
  scheme: string,
  body: Buffer,
  nowMs: number,
): FetchedToken | undefined {
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (typeof answer !== 'object' || answer === null) return undefined;
  if (auth.kind === 'tryton_session') {
    const [user, session] = Array.isArray(answer['result']) ? (answer['result'] as unknown[]) : [];
    if (typeof user !== 'number' || typeof session !== 'string') return undefined;
    const proof = Buffer.from(`${auth.user}:${user}:${session}`).toString('base64');
    return { proof: `Session ${proof}`, expiresAt: nowMs + unnamedLifeS * usedLife * 1000 };
  }
  const { access_token: access, refresh_token: refresh, expires_in: lifeS } = answer;
  if (typeof access !== 'string' || !/^[\x21-\x7e]+$/.test(access)) return undefined;
  const named = Number(lifeS);
  const life = Number.isFinite(named) && named > 0 ? Math.min(named, longestLifeS) : unnamedLifeS;
  return {
    proof: `${scheme} ${access}`,
    expiresAt: nowMs + life * usedLife * 1000,
    ...(typeof refresh === 'string' ? { refresh } : {}),
  };
}

/** The name of the error as OAuth writes it ("invalid_grant"); never the rest of the answer. */
function errorNameOf(body: Buffer): string {
  const name = /"error"\s*:\s*"([a-z_]{1,40})"/.exec(body.toString('utf8'))?.[1];
  return name === undefined ? '' : ` (${name})`;
}

import { z } from 'zod';
import { TrunklineError } from '../lib/errors.ts';
import { equalSecrets, SharedSecret, type SecretVerdict } from '../port/secrets.ts';
import type { JudgeSecret, NonceMemory, UpgradeRequest, UpgradeVerdict } from './carrier.ts';

/**
 * Secrets that the carrier signs with; the carrier makes them. During a rotation the old and the new one are both
 * good.
 */
export const signingSecrets = z.array(z.string().min(8)).default([]);

/** A secret that an operator chooses and the carrier sends as it is. */
export const sharedSecrets = z.array(SharedSecret).default([]);

/**
 * Secrets that come as bearer tokens. A text that a header cannot hold is refused, because its carrier could never get
 * in.
 */
export const bearerList = z
  .array(
    SharedSecret.regex(
      /^[\x21-\x7e]+$/,
      'a bearer token has no spaces, and no letters beyond ASCII',
    ),
  )
  .default([]);

/** Throws if only the user name or only the password is set. One alone would look like protection and check nothing. */
export function refuseHalf(pair: Record<string, string | undefined>): void {
  const values = Object.values(pair);
  if (values.every((value) => value === undefined) || values.every((value) => value !== undefined))
    return;
  const [one, other] = Object.keys(pair);
  throw new TrunklineError(
    'CONFIG_INVALID',
    `${one} and ${other} belong together: set both or neither`,
  );
}

/** Reads `Authorization: Bearer`; undefined when the header is of another kind. */
export function bearerOf(request: Pick<UpgradeRequest, 'headers'>): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,4000})$/i.exec(request.headers['authorization'] ?? '')?.[1];
}

/**
 * Checks a shared secret that the carrier sends as a bearer token. A request without one may still bring a stream
 * token.
 */
export function checkBearer(
  request: UpgradeRequest,
  secrets: readonly string[],
  judge: JudgeSecret,
): UpgradeVerdict {
  if (request.headers['authorization'] === undefined) return { outcome: 'at-start' };
  const given = bearerOf(request);
  if (given === undefined)
    return { outcome: 'refused', status: 403, reason: 'Authorization is not a bearer token' };
  return verdictOn(judge(given, isOneOf(given, secrets)), {
    by: 'bearer',
    wrong: 'the bearer token is not the configured one (TRUNKLINE_<CARRIER>_TOKEN)',
  });
}

export function checkBasic(
  request: Pick<UpgradeRequest, 'headers'>,
  expected: { username: string | undefined; password: string | undefined },
  judge: JudgeSecret,
): UpgradeVerdict {
  const header = request.headers['authorization'];
  if (header === undefined) return { outcome: 'at-start' };
  const given = basicOf(header);
  if (given === undefined)
    return { outcome: 'refused', status: 403, reason: 'Authorization is not well-formed Basic' };
  const { username, password } = expected;
  if (username === undefined || password === undefined)
    return {
      outcome: 'refused',
      status: 403,
      reason:
        'no user name and password are configured for this carrier: set TRUNKLINE_<CARRIER>_USERNAME and _PASSWORD',
    };
  const isRight = equalSecrets(`${given.username}:${given.password}`, `${username}:${password}`);
  // The judge gets only the password, because a long user name must not make a short password look long.
  return verdictOn(judge(given.password, isRight), {
    by: 'basic',
    wrong:
      'user name or password is not the configured one (TRUNKLINE_<CARRIER>_USERNAME, _PASSWORD)',
  });
}

/** Turns the judge's answer into a verdict on the upgrade. */
export function verdictOn(
  verdict: SecretVerdict,
  { by, wrong }: { by: string; wrong: string },
): UpgradeVerdict {
  switch (verdict.is) {
    case 'right':
      return { outcome: 'accepted', by };
    case 'wrong':
      return { outcome: 'refused', status: 403, reason: wrong };
    case 'wait':
      return tooManyGuesses(verdict.waitS);
  }
}

export function tooManyGuesses(waitS: number) {
  const reason = 'too many wrong secrets came from this address';
  return { outcome: 'refused', status: 429, reason, waitS } as const;
}

function basicOf(header: string): { username: string; password: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]{1,4000}={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  return at < 0 ? undefined : { username: text.slice(0, at), password: text.slice(at + 1) };
}

export function isOneOf(given: string, secrets: readonly string[]): boolean {
  let found = false;
  for (const secret of secrets) found = equalSecrets(given, secret) || found;
  return found;
}

/**
 * At most this many nonces are kept. Only requests with a right signature are remembered, so a stranger cannot push
 * the others out.
 */
export const maxNonces = 100_000;

/**
 * Remembers the nonces of signed requests until they expire, so that each is accepted once. When the memory is full,
 * the oldest nonces are dropped first.
 */
export class RecentNonces implements NonceMemory {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;
  #nextSweepMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  remember(scheme: string, nonce: string, untilMs: number): boolean {
    this.#makeRoom();
    const key = `${scheme} ${nonce}`;
    if ((this.#until.get(key) ?? -Infinity) > this.#now()) return false;
    this.#until.set(key, untilMs);
    return true;
  }

  get size(): number {
    return this.#until.size;
  }

  /**
   * Drops the expired nonces, at most once a second unless the memory is full. If it is still full then, the oldest
   * tenth is dropped too.
   */
  #makeRoom(): void {
    const now = this.#now();
    const isFull = this.#until.size >= maxNonces;
    if (now < this.#nextSweepMs && !isFull) return;
    this.#nextSweepMs = now + 1_000;
    for (const [key, untilMs] of this.#until) if (untilMs <= now) this.#until.delete(key);
    let spare = this.#until.size >= maxNonces ? maxNonces / 10 : 0;
    for (const key of this.#until.keys()) {
      if (spare-- <= 0) return;
      this.#until.delete(key);
    }
  }
}

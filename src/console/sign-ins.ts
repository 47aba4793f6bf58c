import express, { Router } from 'express';
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { ApiKeys } from '../port/keys.ts';
import { Problem } from '../port/problem.ts';
import { SignInRequest } from '../protocol/api.ts';
import { check } from '../protocol/validation.ts';

export const signInCookie = 'trunkline_session';

/** A working day. A restart ends all sign-ins, since they are kept in memory only. */
const lifeMs = 12 * 60 * 60_000;
/** Sign-ins held at once. The oldest is dropped first: signing in again is cheap. */
export const maxSignIns = 1_000;

/** The browsers that showed a key. Only digests of their cookies are kept. */
export class SignIns {
  readonly #clock: Clock;
  readonly #endsAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#endsAt.size;
  }

  /** Answers the value of the cookie. */
  open(): string {
    const token = randomBytes(32).toString('base64url');
    for (const digest of this.#endsAt.keys()) {
      if (this.#endsAt.size < maxSignIns) break;
      this.#endsAt.delete(digest);
    }
    this.#endsAt.set(digestOf(token), this.#clock.now() + lifeMs);
    return token;
  }

  close(request: IncomingMessage): void {
    const token = tokenOf(request);
    if (token !== undefined) this.#endsAt.delete(digestOf(token));
  }

  /** True for a request of a page that signed in. */
  accepts(request: IncomingMessage): boolean {
    const token = tokenOf(request);
    if (token === undefined) return false;
    const digest = digestOf(token);
    const endsAt = this.#endsAt.get(digest);
    if (endsAt === undefined) return false;
    if (endsAt <= this.#clock.now()) {
      this.#endsAt.delete(digest);
      return false;
    }
    return isOwnPage(request);
  }
}

/** A second lock beside SameSite=Strict: a request that changes something must come from a page of this address. */
function isOwnPage(request: IncomingMessage): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

function tokenOf(request: IncomingMessage): string | undefined {
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === signInCookie && value) return value;
  }
  return undefined;
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

/** Wrong keys from one address within a minute before it has to wait. */
const guessesLimit = 10;
const windowMs = 60_000;
/** Addresses remembered at once. Beyond it every new address waits for the minute to end. */
const addressesLimit = 10_000;

/** Counts wrong keys: keys are long, but a door that takes any number of guesses invites them. */
export class Guesses {
  readonly #clock: Clock;
  #counts = new Map<string, number>();
  #startedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds to wait, 0 when this address may try now. */
  waitS(address: string): number {
    this.#turnWindow();
    const isFull = this.#counts.size >= addressesLimit && !this.#counts.has(address);
    if (!isFull && (this.#counts.get(address) ?? 0) < guessesLimit) return 0;
    return Math.max(1, Math.ceil((this.#startedAt + windowMs - this.#clock.monotonicMs()) / 1_000));
  }

  wrong(address: string): void {
    this.#turnWindow();
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
  }

  #turnWindow(): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#startedAt < windowMs) return;
    this.#startedAt = now;
    this.#counts = new Map();
  }
}

export type SignInRoutesOptions = {
  apiKeys: readonly string[];
  signIns: SignIns;
  clock: Clock;
  /** Over TLS the cookie never travels without it. */
  overTls: boolean;
};

/** /api/session: takes a key and answers a cookie that no script can read and no other site can send. */
export function signInRoutes({ apiKeys, signIns, clock, overTls }: SignInRoutesOptions): Router {
  const keys = new ApiKeys(apiKeys);
  const guesses = new Guesses(clock);
  const cookie = { httpOnly: true, sameSite: 'strict', path: '/', secure: overTls } as const;
  const router = Router();

  // The page asks this before anything else, so that it learns of the key without meeting a 401.
  router.get('/api/session', (request, response) => {
    const signedIn = !keys.required || signIns.accepts(request);
    response.json({ key_needed: keys.required, signed_in: signedIn });
  });

  router.post('/api/session', express.json({ limit: 4_096 }), (request, response) => {
    const parsed = check(SignInRequest, request.body);
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const address = request.socket.remoteAddress ?? '';
    const waitS = guesses.waitS(address);
    if (waitS > 0)
      throw new Problem(429, 'too many wrong keys', { headers: { 'retry-after': String(waitS) } });
    if (keys.required && !keys.accepts(parsed.value.key)) {
      guesses.wrong(address);
      throw new Problem(401, 'service key not found');
    }
    if (keys.required) response.cookie(signInCookie, signIns.open(), cookie);
    response.status(204).end();
  });

  router.delete('/api/session', (request, response) => {
    signIns.close(request);
    response.clearCookie(signInCookie, cookie).status(204).end();
  });
  return router;
}

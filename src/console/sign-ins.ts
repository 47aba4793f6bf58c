import express, { Router } from 'express';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { digestOf } from '../lib/digest.ts';
import { isFromOwnOrigin, type PublicUrl } from '../port/addresses.ts';
import { refusalOf, type KeyVerdict } from '../port/keys.ts';
import { Problem } from '../port/problem.ts';
import { SignInRequest } from '../protocol/api.ts';
import { check } from '../protocol/validation.ts';

export const signInCookie = 'trunkline_session';

/** A sign-in lasts a working day. A restart ends all sign-ins, since they are only in memory. */
const lifeMs = 12 * 60 * 60_000;
/** At most this many sign-ins are held. The oldest is dropped first, since signing in again is easy. */
export const maxSignIns = 1_000;

/** Browsers that have shown a key. Only digests of their cookies are stored. */
export class SignIns {
  readonly #clock: Clock;
  readonly #publicUrl: PublicUrl;
  readonly #endsAt = new Map<string, number>();

  constructor(clock: Clock, publicUrl: PublicUrl) {
    this.#clock = clock;
    this.#publicUrl = publicUrl;
  }

  get count(): number {
    return this.#endsAt.size;
  }

  /** Creates a sign-in and returns the value of its cookie. */
  open(): string {
    const token = randomBytes(32).toString('base64url');
    for (const digest of this.#endsAt.keys()) {
      if (this.#endsAt.size < maxSignIns) break;
      this.#endsAt.delete(digest);
    }
    this.#endsAt.set(digestOf(token), this.#clock.monotonicMs() + lifeMs);
    return token;
  }

  close(request: IncomingMessage): void {
    const token = tokenOf(request);
    if (token !== undefined) this.#endsAt.delete(digestOf(token));
  }

  /** True if the request comes from a signed-in browser and, for changes, from our own page. */
  accepts(request: IncomingMessage): boolean {
    const token = tokenOf(request);
    if (token === undefined) return false;
    const digest = digestOf(token);
    const endsAt = this.#endsAt.get(digest);
    if (endsAt === undefined) return false;
    if (endsAt <= this.#clock.monotonicMs()) {
      this.#endsAt.delete(digest);
      return false;
    }
    // This is a second protection beside SameSite=Strict, which some browsers may not support.
    const changes = request.method !== 'GET' && request.method !== 'HEAD';
    return !changes || isFromOwnOrigin(request, this.#publicUrl);
  }
}

function tokenOf(request: IncomingMessage): string | undefined {
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === signInCookie && value) return value;
  }
  return undefined;
}

type SignInRoutesOptions = {
  /**
   * Says whether a key is needed, and checks keys. It is the port's own check, so that sign-ins and requests share one
   * count of wrong keys.
   */
  keys: {
    readonly needsKey: boolean;
    judgeKey(request: IncomingMessage, key: string | undefined): KeyVerdict;
  };
  signIns: SignIns;
  /** True if the request came over TLS. The browser then never sends the cookie without TLS. */
  overTls: (request: IncomingMessage) => boolean;
};

/** Serves /api/session: takes a key and returns a cookie that no script can read and no other site can send. */
export function signInRoutes({ keys, signIns, overTls }: SignInRoutesOptions): Router {
  const cookieFor = (request: IncomingMessage) =>
    ({ httpOnly: true, sameSite: 'strict', path: '/', secure: overTls(request) }) as const;
  const router = Router();

  // The page asks this first. It learns from the answer whether a key is needed, and no 401 shows up in the browser.
  router.get('/api/session', (request, response) => {
    const signedIn = !keys.needsKey || signIns.accepts(request);
    response.json({ key_needed: keys.needsKey, signed_in: signedIn });
  });

  router.post('/api/session', express.json({ limit: 4_096 }), (request, response) => {
    const parsed = check(SignInRequest, request.body);
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const refusal = refusalOf(keys.judgeKey(request, parsed.value.key), request);
    if (refusal) throw refusal;
    if (keys.needsKey) response.cookie(signInCookie, signIns.open(), cookieFor(request));
    response.status(204).end();
  });

  router.delete('/api/session', (request, response) => {
    signIns.close(request);
    response.clearCookie(signInCookie, cookieFor(request)).status(204).end();
  });
  return router;
}

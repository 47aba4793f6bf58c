import express, { Router } from 'express';
import { ApiKeys } from '../port/api-keys.ts';
import type { Clock } from '../lib/clock.ts';
import { Problem } from '../port/problem.ts';
import { SignInRequest } from '../protocol/api.ts';
import { check } from '../protocol/validation.ts';
import { Guesses } from './guesses.ts';
import { sessionCookie, type Sessions } from './sessions.ts';

export type SessionApiOptions = {
  apiKeys: readonly string[];
  sessions: Sessions;
  clock: Clock;
  /** Over TLS the cookie never travels without it. */
  overTls: boolean;
};

/** /api/session: a key in, a cookie out that no script can read and no other site can send. */
export function sessionApi({ apiKeys, sessions, clock, overTls }: SessionApiOptions): Router {
  const keys = new ApiKeys(apiKeys);
  const guesses = new Guesses(clock);
  const cookie = { httpOnly: true, sameSite: 'strict', path: '/', secure: overTls } as const;
  const router = Router();

  // Asked by the page before anything else, so that it need not meet a 401 to know.
  router.get('/api/session', (request, response) => {
    const signedIn = !keys.required || sessions.accepts(request);
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
    if (keys.required) response.cookie(sessionCookie, sessions.open(), cookie);
    response.status(204).end();
  });

  router.delete('/api/session', (request, response) => {
    sessions.close(request);
    response.clearCookie(sessionCookie, cookie).status(204).end();
  });
  return router;
}

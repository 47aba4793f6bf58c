import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../lib/clock.ts';

export const sessionCookie = 'trunkline_session';

/** A working day; a restart ends them all, since they live in memory only. */
const lifeMs = 12 * 60 * 60_000;
/** Sessions held at once, the oldest dropped first: signing in again is cheap. */
const sessionsLimit = 1_000;

/** The browsers that showed a key. Only digests of their cookies are kept. */
export class Sessions {
  readonly #clock: Clock;
  readonly #endsAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#endsAt.size;
  }

  /** The cookie's value. */
  open(): string {
    const token = randomBytes(32).toString('base64url');
    for (const digest of this.#endsAt.keys()) {
      if (this.#endsAt.size < sessionsLimit) break;
      this.#endsAt.delete(digest);
    }
    this.#endsAt.set(digestOf(token), this.#clock.now() + lifeMs);
    return token;
  }

  close(request: IncomingMessage): void {
    const token = tokenOf(request);
    if (token !== undefined) this.#endsAt.delete(digestOf(token));
  }

  /** For http.ts: whether this request comes from a page that signed in. */
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

/** A second lock beside SameSite=Strict: what changes something must come from a page of this address. */
function isOwnPage(request: IncomingMessage): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

function tokenOf(request: IncomingMessage): string | undefined {
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === sessionCookie && value) return value;
  }
  return undefined;
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}

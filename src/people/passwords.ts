import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { Problem } from '../port/problem.ts';

/** At most this many passwords are checked at once: each takes 32 MB and a thread for about a tenth of a second. */
const maxChecksAtOnce = 2;
/** At most this many checks wait for their turn. */
export const maxChecksWaiting = 64;

const cost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1_024 * 1_024 };
const keyBytes = 32;

/** The password of a person who does not exist. A check of it takes as long as any other, and never succeeds. */
const nobodys = `scrypt$${Buffer.alloc(16).toString('base64')}$${Buffer.alloc(keyBytes).toString('base64')}`;

let running = 0;
const waiting: (() => void)[] = [];

/** Runs scrypt when it is its turn. Strangers can ask for it, so what runs and what waits is bounded. */
async function derived(password: string, salt: Buffer): Promise<Buffer> {
  if (running >= maxChecksAtOnce) {
    if (waiting.length >= maxChecksWaiting)
      throw new Problem(503, 'too many sign-ins at once: try again in a moment', {
        headers: { 'retry-after': '1' },
      });
    await new Promise<void>((resolve) => waiting.push(resolve));
  }
  running++;
  try {
    return await new Promise((resolve, reject) =>
      scrypt(password.normalize('NFKC'), salt, keyBytes, cost, (error, key) =>
        error === null ? resolve(key) : reject(error),
      ),
    );
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** The form in which a password is stored. */
export async function storedPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derived(password, salt);
  return `scrypt$${salt.toString('base64')}$${key.toString('base64')}`;
}

/** Takes the same time whether or not there is such a person. */
export async function isPassword(stored: string | undefined, password: string): Promise<boolean> {
  const [, salt = '', key = ''] = (stored ?? nobodys).split('$');
  const right = Buffer.from(key, 'base64');
  const shown = await derived(password, Buffer.from(salt, 'base64'));
  return right.length === shown.length && timingSafeEqual(right, shown) && stored !== undefined;
}

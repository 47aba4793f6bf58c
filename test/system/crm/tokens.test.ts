import { expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authorizer } from '../../../src/crm/authorizer.ts';
import { RateLimit } from '../../../src/crm/rate-limit.ts';
import { TokenRows } from '../../../src/crm/token-rows.ts';
import type { GuardedAnswer, GuardedRequest } from '../../../src/lib/guarded-fetch.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { temporaryStore } from '../../support/store/store.ts';

const auth = {
  kind: 'oauth_refresh' as const,
  tokenUrl: 'https://crm.example.com/token',
  clientId: 'client',
  clientSecret: 'client-secret-0123456789',
  refreshToken: 'refresh-0',
};

/** A token address that replaces the refresh token at each use and forgets the one before. */
class TokenAddress {
  refresh = 'refresh-0';
  given = 0;
  refused = 0;

  async send(request: GuardedRequest): Promise<GuardedAnswer> {
    await Promise.resolve();
    const form = new URLSearchParams(Buffer.from(request.body ?? []).toString('utf8'));
    const isRight = form.get('refresh_token') === this.refresh;
    if (isRight) this.given++;
    else this.refused++;
    this.refresh = isRight ? `refresh-${this.given}` : this.refresh;
    const body = isRight
      ? { access_token: `access-${this.given}`, refresh_token: this.refresh, expires_in: 1_000 }
      : { error: 'invalid_grant' };
    return {
      ok: true, status: isRight ? 200 : 400, headers: {}, body: Buffer.from(JSON.stringify(body)),
      bodyEnd: 'complete', url: request.url,
    }; // prettier-ignore
  }
}

const url = 'https://crm.example.com/api';
const authorizerOn = (client: TokenAddress, rows: TokenRows, clock: TestClock) =>
  new Authorizer({ endpoint: 'crm', url, auth, scheme: 'Bearer', client, rows, clock });

test('1,000 ends of a token and a new process each time: no replaced refresh token is lost', async () => {
  await using store = await temporaryStore();
  const rows = new TokenRows(store);
  const clock = new TestClock(0);
  const address = new TokenAddress();
  for (let life = 1; life <= 1_000; life++) {
    const authorizer = authorizerOn(address, rows, clock);
    expect(await authorizer.headers(5_000)).toEqual({ authorization: `Bearer access-${life}` });
    await clock.pass(801_000);
  }
  expect(address.refused).toBe(0);
});

test('many requests and two processes at once fetch one token', async () => {
  await using store = await temporaryStore();
  const rows = new TokenRows(store);
  const clock = new TestClock(20);
  const address = new TokenAddress();
  const one = authorizerOn(address, rows, clock);
  const other = authorizerOn(address, rows, clock);
  const proofs = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).headers(10_000)),
  );
  expect(new Set(proofs.map(({ authorization }) => authorization))).toEqual(
    new Set(['Bearer access-1']),
  );
  const [first = {}] = proofs;
  one.refused(first);
  expect(await one.headers(10_000)).toEqual({ authorization: 'Bearer access-2' });
  // Another request was refused with the same proof, and is told so later.
  one.refused(first);
  expect(await one.headers(10_000)).toEqual({ authorization: 'Bearer access-2' });
  expect(address.given).toBe(2);
});

test('the database alone opens nothing: no token stands in its files', async () => {
  await using store = await temporaryStore();
  const rows = new TokenRows(store);
  await authorizerOn(new TokenAddress(), rows, new TestClock(0)).headers(5_000);
  for (const file of ['trunkline.sqlite', 'trunkline.sqlite-wal']) {
    const bytes = readFileSync(join(store.dataDir, file)).toString('latin1');
    for (const word of ['access-1', 'refresh-1', auth.clientSecret])
      expect(bytes).not.toContain(word);
  }
});

test('a refused refresh is told by its name, without the answer', async () => {
  await using store = await temporaryStore();
  const address = new TokenAddress();
  address.refresh = 'another';
  const authorizer = authorizerOn(address, new TokenRows(store), new TestClock(0));
  await expect(authorizer.headers(5_000)).rejects.toThrow('the token address answered 400 (invalid_grant)'); // prettier-ignore
});

test('the pace of a second and the budget of a day are kept, also by two processes', async () => {
  await using store = await temporaryStore();
  const rows = new TokenRows(store);
  const clock = new TestClock(0);
  const { signal } = new AbortController();
  const paced = new RateLimit('paced', { perSecond: 5 }, clock, rows);
  let gone = 0;
  const count = () => gone++;
  const places = Array.from({ length: 11 }, () => paced.place(60_000, signal).then(count));
  await clock.pass(999);
  expect(gone).toBe(5);
  await clock.pass(1_001);
  await Promise.all(places);
  expect(gone).toBe(11);
  const slow = new RateLimit('slow', { perSecond: 0.01 }, clock, rows);
  expect(await slow.place(1_000, signal)).toBeUndefined();
  expect(await slow.place(1_000, signal)).toBe('at most 0.01 requests a second may be sent');
  const days = [1, 2].map(() => new RateLimit('daily', { perDay: 3 }, clock, rows));
  const given = [];
  for (let request = 0; request < 5; request++) given.push(await days[request % 2]!.place(1_000, signal)); // prettier-ignore
  expect(given.filter((one) => one === undefined)).toHaveLength(3);
  expect(given[4]).toBe('the 3 requests of this day (UTC) are spent');
});

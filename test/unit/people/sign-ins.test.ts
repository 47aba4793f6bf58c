import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { Holders, signInCookie } from '../../../src/people/holders.ts';
import { maxSignIns, SignIns } from '../../../src/people/sign-ins.ts';
import { markOf } from '../../../src/people/holders.ts';
import { movedClock } from '../../support/clock/test-clock.ts';
import { temporaryStore } from '../../support/store/store.ts';

const key = 'a-good-key-of-16';

function request(
  cookie: string | undefined,
  more: Record<string, string> = {},
  method = 'GET',
): IncomingMessage {
  const headers = {
    host: 'trunkline.example.net',
    ...(cookie === undefined ? {} : { cookie }),
    ...more,
  };
  return { method, headers } as unknown as IncomingMessage;
}

async function rig() {
  const clock = movedClock();
  const store = await temporaryStore();
  const known = await Holders.open({ store, clock, settingKeys: [key] });
  known.answersAt(() => 'https://trunkline.example.net');
  const signIns = new SignIns({ store, clock, known, hours: 12 });
  return {
    ...{ clock, store, known, signIns },
    open: async () =>
      `${signInCookie}=${await signIns.open({ kind: 'setting', holder: markOf(key) }, '192.0.2.1')}`,
    accepts: (asked: IncomingMessage) => known.signedIn(asked) !== undefined,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

test('a session opens with its cookie, among others, and ends after a working day', async () => {
  await using at = await rig();
  const cookie = `theme=dark; ${await at.open()}; x=y`;
  expect(at.accepts(request(cookie))).toBe(true);
  expect(at.accepts(request(undefined))).toBe(false);
  expect(at.accepts(request(`${signInCookie}=guess`))).toBe(false);
  expect(at.accepts(request(`${signInCookie}=`))).toBe(false);
  at.clock.nowMs += 12 * 3_600_000;
  expect(at.accepts(request(cookie))).toBe(false);
  expect(at.known.signIns).toEqual([]);
  at.clock.nowMs += 24 * 3_600_000 + 1;
  await at.signIns.forget();
  expect(await at.store.db.selectFrom('sign_ins').selectAll().execute()).toEqual([]);
});

test('signing out ends the session', async () => {
  await using at = await rig();
  const cookie = await at.open();
  await at.signIns.close(request(cookie));
  expect(at.accepts(request(cookie))).toBe(false);
});

test('a request that changes something must come from a page of this address', async () => {
  await using at = await rig();
  const cookie = await at.open();
  const post = (origin?: string) =>
    at.accepts(request(cookie, origin === undefined ? {} : { origin }, 'POST'));
  expect(post('https://trunkline.example.net')).toBe(true);
  expect(post()).toBe(true);
  expect(post('https://evil.example.net')).toBe(false);
  // Same origin means scheme, host and port.
  expect(post('http://trunkline.example.net')).toBe(false);
  expect(post('https://trunkline.example.net:8443')).toBe(false);
  expect(post('null')).toBe(false);
  expect(at.accepts(request(cookie, { origin: 'https://evil.example.net' }))).toBe(true);
});

test('sessions are bounded: the oldest goes first', async () => {
  await using at = await rig();
  const first = await at.open();
  for (let n = 0; n < maxSignIns; n++) {
    at.clock.nowMs++;
    await at.open();
  }
  expect(at.known.signIns).toHaveLength(maxSignIns);
  expect(at.accepts(request(first))).toBe(false);
});

test('a sign-in is known after a restart, and not once its key left the settings', async () => {
  await using at = await rig();
  const cookie = await at.open();
  const { store, clock } = at;
  const again = await Holders.open({ store, clock, settingKeys: ['another-key-00000', key] });
  expect(again.signedIn(request(cookie))).toMatchObject({ kind: 'setting', scopes: ['admin'] });
  const without = await Holders.open({ store, clock, settingKeys: ['another-key-00000'] });
  expect(without.signedIn(request(cookie))).toBeUndefined();
});

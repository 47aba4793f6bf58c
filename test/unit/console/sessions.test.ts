import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { Guesses } from '../../../src/console/guesses.ts';
import { sessionCookie, Sessions } from '../../../src/console/sessions.ts';
import type { Clock } from '../../../src/lib/clock.ts';

function movedClock(): Clock & { nowMs: number } {
  return {
    nowMs: 1_000_000,
    now() {
      return this.nowMs;
    },
    monotonicMs() {
      return this.nowMs;
    },
    after: () => () => undefined,
  };
}

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

test('a session opens with its cookie, among others, and ends after a working day', () => {
  const clock = movedClock();
  const sessions = new Sessions(clock);
  const cookie = `theme=dark; ${sessionCookie}=${sessions.open()}; x=y`;
  expect(sessions.accepts(request(cookie))).toBe(true);
  expect(sessions.accepts(request(undefined))).toBe(false);
  expect(sessions.accepts(request(`${sessionCookie}=guess`))).toBe(false);
  expect(sessions.accepts(request(`${sessionCookie}=`))).toBe(false);
  clock.nowMs += 12 * 3_600_000;
  expect(sessions.accepts(request(cookie))).toBe(false);
  expect(sessions.count).toBe(0);
});

test('signing out ends the session', () => {
  const sessions = new Sessions(movedClock());
  const cookie = `${sessionCookie}=${sessions.open()}`;
  sessions.close(request(cookie));
  expect(sessions.accepts(request(cookie))).toBe(false);
});

test('what changes something must come from a page of this address', () => {
  const sessions = new Sessions(movedClock());
  const cookie = `${sessionCookie}=${sessions.open()}`;
  const post = (origin?: string) =>
    sessions.accepts(request(cookie, origin === undefined ? {} : { origin }, 'POST'));
  expect(post('https://trunkline.example.net')).toBe(true);
  expect(post()).toBe(true);
  expect(post('https://evil.example.net')).toBe(false);
  expect(post('null')).toBe(false);
  expect(sessions.accepts(request(cookie, { origin: 'https://evil.example.net' }))).toBe(true);
});

test('sessions are bounded: the oldest goes first', () => {
  const sessions = new Sessions(movedClock());
  const first = `${sessionCookie}=${sessions.open()}`;
  for (let n = 0; n < 1_000; n++) sessions.open();
  expect(sessions.count).toBe(1_000);
  expect(sessions.accepts(request(first))).toBe(false);
});

test('ten wrong keys from one address, then a wait until the minute is over; others may go on', () => {
  const clock = movedClock();
  const guesses = new Guesses(clock);
  for (let n = 0; n < 10; n++) {
    expect(guesses.waitS('192.0.2.1')).toBe(0);
    guesses.wrong('192.0.2.1');
  }
  expect(guesses.waitS('192.0.2.1')).toBeGreaterThan(0);
  expect(guesses.waitS('192.0.2.2')).toBe(0);
  clock.nowMs += 60_000;
  expect(guesses.waitS('192.0.2.1')).toBe(0);
});

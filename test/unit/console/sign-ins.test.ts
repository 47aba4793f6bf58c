import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { signInCookie, SignIns } from '../../../src/console/sign-ins.ts';
import { movedClock } from '../../support/clock/test-clock.ts';

const publicUrl = () => 'https://trunkline.example.net';

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
  const signIns = new SignIns(clock, publicUrl);
  const cookie = `theme=dark; ${signInCookie}=${signIns.open()}; x=y`;
  expect(signIns.accepts(request(cookie))).toBe(true);
  expect(signIns.accepts(request(undefined))).toBe(false);
  expect(signIns.accepts(request(`${signInCookie}=guess`))).toBe(false);
  expect(signIns.accepts(request(`${signInCookie}=`))).toBe(false);
  clock.nowMs += 12 * 3_600_000;
  expect(signIns.accepts(request(cookie))).toBe(false);
  expect(signIns.count).toBe(0);
});

test('signing out ends the session', () => {
  const signIns = new SignIns(movedClock(), publicUrl);
  const cookie = `${signInCookie}=${signIns.open()}`;
  signIns.close(request(cookie));
  expect(signIns.accepts(request(cookie))).toBe(false);
});

test('a request that changes something must come from a page of this address', () => {
  const signIns = new SignIns(movedClock(), publicUrl);
  const cookie = `${signInCookie}=${signIns.open()}`;
  const post = (origin?: string) =>
    signIns.accepts(request(cookie, origin === undefined ? {} : { origin }, 'POST'));
  expect(post('https://trunkline.example.net')).toBe(true);
  expect(post()).toBe(true);
  expect(post('https://evil.example.net')).toBe(false);
  // Same origin means scheme, host and port.
  expect(post('http://trunkline.example.net')).toBe(false);
  expect(post('https://trunkline.example.net:8443')).toBe(false);
  expect(post('null')).toBe(false);
  expect(signIns.accepts(request(cookie, { origin: 'https://evil.example.net' }))).toBe(true);
});

test('sessions are bounded: the oldest goes first', () => {
  const signIns = new SignIns(movedClock(), publicUrl);
  const first = `${signInCookie}=${signIns.open()}`;
  for (let n = 0; n < 1_000; n++) signIns.open();
  expect(signIns.count).toBe(1_000);
  expect(signIns.accepts(request(first))).toBe(false);
});

import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { ApiKeys, equalSecrets, maxClientsRemembered, WrongKeys } from '../../../src/port/keys.ts';
import type { Clock } from '../../../src/lib/clock.ts';

test('each of several keys opens, and nothing else does', () => {
  const keys = new ApiKeys(['first-key-000', 'second-key-000']);
  expect(['first-key-000', 'second-key-000'].map((key) => keys.accepts(key))).toEqual([true, true]);
  for (const wrong of [
    undefined,
    '',
    'first-key-00',
    'first-key-0000',
    'FIRST-KEY-000',
    'first-key-000 ',
  ])
    expect(keys.accepts(wrong)).toBe(false);
});

test('without keys none is required and none is accepted', () => {
  const keys = new ApiKeys([]);
  expect([keys.required, keys.accepts('anything')]).toEqual([false, false]);
});

test('the keys themselves are not held in memory', () => {
  const keys = new ApiKeys(['canary-key-4711']);
  expect(inspect(keys, { depth: 9, showHidden: true })).not.toContain('canary-key-4711');
});

test('secrets of every pair of lengths compare without throwing', () => {
  for (let length = 0; length <= 200; length++) {
    const secret = 'k'.repeat(length);
    expect(equalSecrets(secret, secret)).toBe(true);
    expect(equalSecrets(secret, `${secret}x`)).toBe(false);
  }
});

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

test('ten wrong keys are free, then each one makes the wait longer, for its own client alone', () => {
  const clock = movedClock();
  const wrongKeys = new WrongKeys(clock);
  for (let n = 0; n < 10; n++) {
    expect(wrongKeys.waitS('192.0.2.1')).toBe(0);
    wrongKeys.wrong('192.0.2.1');
  }
  const waits: number[] = [];
  for (let n = 0; n < 12; n++) {
    waits.push(wrongKeys.waitS('192.0.2.1'));
    clock.nowMs += (waits.at(-1) ?? 0) * 1_000;
    expect(wrongKeys.waitS('192.0.2.1')).toBe(0);
    wrongKeys.wrong('192.0.2.1');
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
  expect(wrongKeys.waitS('192.0.2.2')).toBe(0);
  clock.nowMs += 901_000;
  wrongKeys.wrong('192.0.2.1');
  expect(wrongKeys.waitS('192.0.2.1')).toBe(0);
});

test('a flood of clients is forgotten again, and keeps nobody out', () => {
  const wrongKeys = new WrongKeys(movedClock());
  wrongKeys.right('198.51.100.1');
  for (let n = 0; n < maxClientsRemembered + 10; n++)
    wrongKeys.wrong(`2001:db8:${n >> 8}:${n & 255}::1`);
  expect(wrongKeys.waitS('198.51.100.2')).toBe(0);
  expect(wrongKeys.hadRightKey('198.51.100.1')).toBe(false);
});

import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { HttpConfig } from '../../../src/port/config.ts';
import { ApiKeys, KeyCheck } from '../../../src/port/keys.ts';
import { SecretJudge } from '../../../src/port/secrets.ts';

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

test('the key of the bridge of this process is no guess, also where the port asks for a key because it is crowded', () => {
  const internalKey = 'the-key-of-this-very-process';
  const known: IncomingMessage[] = [];
  const check = new KeyCheck({
    config: HttpConfig.parse({ apiKeys: ['a-key-of-some-length-0001'] }),
    insecure: false,
    internalKey,
    publicUrl: () => 'http://localhost',
    isProxy: () => false,
    secrets: new SecretJudge({ clock: systemClock, log: createLog({ level: 'silent' }) }),
    onKnown: (request) => known.push(request),
  });
  const showing = (key: string): IncomingMessage =>
    ({ headers: { 'x-service-key': key }, socket: { remoteAddress: '127.0.0.1' } }) as never;
  for (let at = 0; at < 20; at++) expect(check.hasKey(showing(internalKey))).toBe(true);
  expect(known).toHaveLength(20);
  // Twenty guesses from this address would make its operator wait.
  expect(check.hasKey(showing('a-key-of-some-length-0001'))).toBe(true);
  expect(check.judge(showing(''), 'wrong-key-of-some-length')).toEqual({ is: 'wrong' });
  expect(check.hasKey(showing('wrong-key-of-some-length'))).toBe(false);
});

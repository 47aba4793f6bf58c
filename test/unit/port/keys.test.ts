import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { ApiKeys } from '../../../src/port/keys.ts';

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

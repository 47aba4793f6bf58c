import { expect, test } from 'vitest';
import { assertDescribed } from '../../support/speech/described.ts';

test('an answer with a status that the description does not name fails the test that saw it', () => {
  const job = '/v2/pre-recorded/0f0e3a67-2f0b-4d4d-9a3c-3a4d2a8f6c55';
  for (const status of [200, 400, 401, 403, 404, 429, 500, 503])
    assertDescribed('GET', job, status);
  expect(() => assertDescribed('GET', job, 201)).toThrow(
    /answered 201.*names only 200, 400, 401, 403, 404/,
  );
  expect(() => assertDescribed('HEAD', `${job}/file?a=1`, 202)).toThrow(/answered 202/);
  expect(() => assertDescribed('DELETE', job, 200)).toThrow(/answered 200/);
});

test('a path is judged by its own route before one with a parameter, and no route by none', () => {
  assertDescribed('GET', '/api/deliveries/dlv_1', 404);
  expect(() => assertDescribed('GET', '/api/deliveries/endpoints', 404)).toThrow(/answered 404/);
  assertDescribed('GET', '/v2/nothing', 418);
  assertDescribed('PUT', '/v2/pre-recorded', 404);
});

import { expect, test } from 'vitest';
import { retriedForMs, retriedWhileAway } from '../../../src/store/postgres.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const neverClosed = new AbortController().signal;

/** Work that fails so often, and how often it was tried. */
function failing(times: number, error: Error = refused) {
  const work = {
    tries: 0,
    attempt: () => (++work.tries > times ? Promise.resolve('rows') : Promise.reject(error)),
  };
  return work;
}

/** A pending promise of the work that has an end, however it ends. */
function outcomeOf(clock: TestClock, closing: AbortSignal, work: ReturnType<typeof failing>) {
  return retriedWhileAway(clock, closing, work.attempt).catch((error: unknown) => error);
}

test('work that Postgres keeps failing ends in time, with the last reason', async () => {
  const clock = new TestClock(0);
  const work = failing(Infinity);
  let outcome: unknown;
  void outcomeOf(clock, neverClosed, work).then((value) => (outcome = value));
  for (let ms = 0; ms < retriedForMs - 200; ms += 100) await clock.pass(100);
  expect(outcome).toBeUndefined();
  expect(work.tries).toBeGreaterThan(40);
  for (let ms = 0; ms < 400; ms += 100) await clock.pass(100);
  expect(outcome).toBe(refused);
});

test('work is done again until it succeeds', async () => {
  const clock = new TestClock(0);
  const work = failing(3);
  const outcome = outcomeOf(clock, neverClosed, work);
  for (let ms = 0; ms < 1_000; ms += 100) await clock.pass(100);
  expect(await outcome).toBe('rows');
  expect(work.tries).toBe(4);
});

test('a failure that another connection would meet too is told at once', async () => {
  const missing = Object.assign(new Error('no such column'), { code: '42703' });
  const work = failing(1, missing);
  expect(await outcomeOf(new TestClock(0), neverClosed, work)).toBe(missing);
  expect(work.tries).toBe(1);
});

test('work that waits to be done again ends when the store is closed', async () => {
  const closing = new AbortController();
  const work = failing(Infinity);
  const outcome = outcomeOf(new TestClock(0), closing.signal, work);
  await Promise.resolve();
  closing.abort();
  expect(await outcome).toBe(refused);
  expect(work.tries).toBe(1);
});

import { expect, test } from 'vitest';
import { every } from '../../../src/lib/every.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

test('the work is done after each pause and no more once the loop is stopped', async () => {
  const clock = new TestClock(0);
  let done = 0;
  const loop = every(
    clock,
    100,
    () => {
      done++;
    },
    { firstMs: 10 },
  );
  await clock.pass(9);
  expect(done).toBe(0);
  await clock.pass(1);
  expect(done).toBe(1);
  await clock.pass(300);
  expect(done).toBe(4);
  await loop.stop();
  await clock.pass(1_000);
  expect(done).toBe(4);
});

test('two turns never overlap, and stopping waits for the one under way', async () => {
  const clock = new TestClock(0);
  const turns = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let begun = 0;
  const loop = every(clock, 100, async () => await turns[begun++]?.promise);
  await clock.pass(1_000);
  expect(begun).toBe(1);
  turns[0]?.resolve(undefined);
  await clock.pass(0);
  await clock.pass(99);
  expect(begun).toBe(1);
  await clock.pass(1);
  expect(begun).toBe(2);
  let isStopped = false;
  const stopped = loop.stop().then(() => (isStopped = true));
  await clock.pass(1_000);
  expect(isStopped).toBe(false);
  turns[1]?.resolve(undefined);
  await stopped;
  await clock.pass(1_000);
  expect(begun).toBe(2);
});

test('an error of the work is told and the loop goes on, after the pause that is answered', async () => {
  const clock = new TestClock(0);
  const told: unknown[] = [];
  let begun = 0;
  await using loop = every(
    clock,
    100,
    () => {
      begun++;
      if (begun === 1) throw new Error('at once');
      return Promise.reject(new Error('later'));
    },
    { failed: (error) => (told.push((error as Error).message) === 1 ? { inMs: 500 } : undefined) },
  );
  await clock.pass(100);
  expect(told).toEqual(['at once']);
  await clock.pass(499);
  expect(begun).toBe(1);
  await clock.pass(1);
  expect(told).toEqual(['at once', 'later']);
  await clock.pass(100);
  expect(told).toHaveLength(3);
  loop.wake();
});

test('waking does the work at once, and once more after a turn under way unless that turn fails', async () => {
  const clock = new TestClock(0);
  let turn = Promise.withResolvers<undefined>();
  let begun = 0;
  await using loop = every(
    clock,
    Infinity,
    () => {
      begun++;
      turn = Promise.withResolvers<undefined>();
      return turn.promise;
    },
    { failed: () => undefined },
  );
  await clock.pass(1e9);
  expect(begun).toBe(0);
  loop.wake();
  loop.wake();
  await clock.pass(0);
  expect(begun).toBe(1);
  loop.wake();
  turn.resolve(undefined);
  await clock.pass(0);
  await clock.pass(0);
  expect(begun).toBe(2);
  loop.wake();
  turn.reject(new Error('away'));
  await clock.pass(1e9);
  expect(begun).toBe(2);
});

test('the work can name another pause, or end the loop for good', async () => {
  const clock = new TestClock(0);
  let done = 0;
  const loop = every(clock, 100, () => {
    done++;
    return done === 3 ? 'over' : done === 1 ? { inMs: 1_000 } : undefined;
  });
  await clock.pass(100);
  await clock.pass(999);
  expect(done).toBe(1);
  await clock.pass(1);
  await clock.pass(100);
  expect(done).toBe(3);
  loop.wake();
  await clock.pass(10_000);
  expect(done).toBe(3);
});

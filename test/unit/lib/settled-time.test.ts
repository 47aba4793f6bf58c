import { expect, test } from 'vitest';
import { SettledTime } from '../../../src/lib/settled-time.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

test('a clock that runs is believed, one that is set ahead only after an hour, one that is set back at once', async () => {
  const clock = new TestClock(0);
  clock.setWallAhead(50 * yearMs);
  const time = new SettledTime(clock);
  expect(time.now()).toBe(clock.now());
  await clock.pass(hourMs);
  expect(time.now()).toBe(clock.now());

  clock.setWallAhead(60 * yearMs);
  expect(time.now()).toBe(clock.now() - 10 * yearMs);
  await clock.pass(hourMs - 1);
  expect(time.now()).toBe(clock.now() - 10 * yearMs);
  await clock.pass(1);
  expect(time.now()).toBe(clock.now());

  clock.setWallAhead(55 * yearMs);
  expect(time.now()).toBe(clock.now());
});

test('a clock that was right again within the hour was never believed', async () => {
  const clock = new TestClock(0);
  const time = new SettledTime(clock);
  for (let round = 0; round < 5; round++) {
    clock.setWallAhead(10 * yearMs);
    expect(time.now()).toBe(clock.monotonicMs());
    await clock.pass(hourMs / 2);
    clock.setWallAhead(0);
    expect(time.now()).toBe(clock.now());
    await clock.pass(hourMs / 2);
  }
  expect(time.now()).toBe(5 * hourMs);
});

test('the least step of a clock that is set again and again counts; a drift is followed', async () => {
  const clock = new TestClock(0);
  const time = new SettledTime(clock);
  clock.setWallAhead(10 * yearMs);
  time.now();
  await clock.pass(hourMs / 2);
  clock.setWallAhead(2 * yearMs);
  time.now();
  await clock.pass(hourMs / 2);
  clock.setWallAhead(30 * yearMs);
  expect(time.now()).toBe(hourMs + 2 * yearMs);
  for (let hour = 1; hour <= 100; hour++) {
    await clock.pass(hourMs);
    clock.setWallAhead(30 * yearMs + hour * 1_000);
    time.now();
  }
  expect(time.now()).toBe(clock.now());
});

test('the time of a database is believed by the same rule', async () => {
  const clock = new TestClock(0);
  const time = new SettledTime(clock, 5 * yearMs);
  expect(time.now(5 * yearMs)).toBe(5 * yearMs);
  await clock.pass(1_000);
  expect(time.now(9 * yearMs)).toBe(5 * yearMs + 1_000);
  await clock.pass(hourMs);
  expect(time.now(9 * yearMs + hourMs)).toBe(9 * yearMs + hourMs);
});

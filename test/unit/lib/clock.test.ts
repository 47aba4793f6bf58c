import { afterEach, describe, expect, test, vi } from 'vitest';
import { deadline, systemClock, wait } from '../../../src/lib/clock.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const dayMs = 86_400_000;

test('a wait is over after its time, at once when its signal ends it, and is none when that has ended already', async () => {
  const clock = new TestClock(0);
  const ended: string[] = [];
  const end = new AbortController();
  const signal = end.signal;
  void wait(clock, 100).then(() => ended.push('time'));
  void wait(clock, 100, signal).then(() => ended.push('time and signal'));
  void wait(clock, 10_000, signal).then(() => ended.push('signal'));
  await clock.pass(99);
  expect(ended).toEqual([]);
  await clock.pass(1);
  expect(ended).toEqual(['time', 'time and signal']);
  end.abort();
  await clock.pass(0);
  expect(ended).toEqual(['time', 'time and signal', 'signal']);
  await wait(clock, 10_000, signal);
});

test('a deadline ends after its time or with the signal that it was given, and not at all once it is disposed of', async () => {
  const clock = new TestClock(0);
  const end = new AbortController();
  const byTime = deadline(clock, 100);
  const bySignal = deadline(clock, 100, end.signal);
  const disposed = deadline(clock, 100, end.signal);
  disposed[Symbol.dispose]();
  end.abort();
  expect([byTime, bySignal, disposed].map(({ signal }) => signal.aborted)).toEqual([
    false,
    true,
    false,
  ]);
  await clock.pass(100);
  expect([byTime, disposed].map(({ signal }) => signal.aborted)).toEqual([true, false]);
  expect(deadline(clock, 100, end.signal).signal.aborted).toBe(true);
});

describe('waits that are longer than a timer of the machine can be', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('a wait of thirty days lasts thirty days', () => {
    vi.useFakeTimers();
    let over = false;
    systemClock.after(30 * dayMs, () => (over = true));
    vi.advanceTimersByTime(30 * dayMs - 1_000);
    expect(over).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(over).toBe(true);
  });

  test('it can be cancelled in any part of it', () => {
    vi.useFakeTimers();
    let over = false;
    for (const cancelAfterDays of [1, 26, 51]) {
      const cancel = systemClock.after(60 * dayMs, () => (over = true));
      vi.advanceTimersByTime(cancelAfterDays * dayMs);
      cancel();
    }
    vi.advanceTimersByTime(100 * dayMs);
    expect(over).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a wait without an end does not end', () => {
    vi.useFakeTimers();
    let over = false;
    const cancel = systemClock.after(Infinity, () => (over = true));
    vi.advanceTimersByTime(400 * dayMs);
    expect(over).toBe(false);
    cancel();
  });
});

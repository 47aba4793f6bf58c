import { expect, test } from 'vitest';
import { wait } from '../../../src/lib/clock.ts';
import { handClock } from '../../support/clock/hand-clock.ts';

test('a wait is over after its time, at once when its signal ends it, and is none when that has ended already', async () => {
  const clock = handClock();
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

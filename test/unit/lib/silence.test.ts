import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Silence, waitedForProcessorMs } from '../../../src/lib/silence.ts';
import { endsWithUs } from '../../support/process/ends-with-us.ts';
import { until } from '../../support/process/until.ts';

const ticksUntilTooLong = (silence: Silence, onTick: (tick: number) => void = () => undefined) => {
  for (let tick = 1; tick <= 100_000; tick++) {
    onTick(tick);
    if (silence.isTooLong(250, 15_000)) return tick;
  }
  throw new Error('never');
};

test('a process that says nothing is given up at its deadline, and each word begins it anew', () => {
  const silence = new Silence();
  expect(ticksUntilTooLong(silence)).toBe(60);
  silence.heard();
  expect(silence.ms).toBe(0);
  expect(ticksUntilTooLong(silence)).toBe(60);
});

test('the time in which it waits for a processor does not count, up to ten minutes', () => {
  let waited = 5_000;
  const starved = new Silence(() => waited);
  // It gets a fifth of the time.
  expect(ticksUntilTooLong(starved, () => (waited += 200))).toBeGreaterThan(150);
  starved.heard();
  // It never gets any.
  const most = (15_000 + 600_000) / 250;
  expect(ticksUntilTooLong(starved, () => (waited += 250))).toBe(most);
});

test('whoever must not wait for ten minutes says for how long', () => {
  let waited = 0;
  const starved = new Silence(() => waited, 20_000);
  const most = (15_000 + 20_000) / 250;
  expect(ticksUntilTooLong(starved, () => (waited += 250))).toBe(most);
});

test('what it waited before its silence is no excuse for a hang', () => {
  const silence = new Silence(() => 1e9);
  expect(ticksUntilTooLong(silence)).toBe(60);
});

const isTold = existsSync('/proc/self/schedstat');

test.runIf(isTold)('the system tells how long a process waited for its processor', async () => {
  const run = (...command: string[]) =>
    endsWithUs(spawn('taskset', ['-c', '0', ...command], { stdio: 'ignore' }));
  const busy = 'for (;;) ;';
  const first = run(process.execPath, '-e', busy);
  const second = run('nice', '-n', '19', process.execPath, '-e', busy);
  const asleep = run('sleep', '600');
  const pidOf = ({ pid = -1 }) => pid;
  await until(() => waitedForProcessorMs(pidOf(second)) > 500);
  expect(waitedForProcessorMs(pidOf(asleep))).toBeLessThan(500);
  for (const { pid } of [first, second, asleep]) process.kill(pid ?? 0, 'SIGKILL');
  expect(waitedForProcessorMs(2 ** 22 + 1)).toBe(0);
});

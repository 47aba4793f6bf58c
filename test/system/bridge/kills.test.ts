import { expect, test } from 'vitest';
import { killRounds } from '../../support/kills.ts';

test('F46 F67 kill -9 of the whole process under live legs: every received byte is heard, every event is there once', async () => {
  const report = await killRounds({ rounds: 1, calls: 5, seed: 1 });
  expect(report.faults).toEqual([]);
  expect(report).toMatchObject({ kills: 1, legs: 10 });
  expect(report.finals).toBeGreaterThan(0);
}, 180_000);

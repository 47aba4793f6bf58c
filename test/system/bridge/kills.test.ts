import { expect, test } from 'vitest';
import { crashUnderCalls } from '../../support/crashed-calls.ts';
import { killRounds } from '../../support/kills.ts';

test('F46 F67 kill -9 of the whole process under live legs: every received byte is heard, every event is there once', async () => {
  const report = await killRounds({ rounds: 1, calls: 5, seed: 1 });
  expect(report.faults).toEqual([]);
  expect(report).toMatchObject({ kills: 1, legs: 10 });
  expect(report.finals).toBeGreaterThan(0);
}, 180_000);

test('F90 our crash hangs up on nobody: the socket breaks without a word of ours, and the records end afterwards', async () => {
  const report = await crashUnderCalls(12);
  expect(report).toMatchObject({ calls: 12, endedByUs: [], lost: [] });
}, 180_000);

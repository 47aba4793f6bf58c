import { expect, test } from 'vitest';
import { killJobs } from '../../../support/faults/job-kills.ts';

test('kill -9 over jobs in every state: each is done once and told once (one seed; 20 in the trial)', async () => {
  const { wrong, kills } = await killJobs(1, 4);
  expect(kills).toBe(4);
  expect(wrong).toEqual([]);
}, 180_000);

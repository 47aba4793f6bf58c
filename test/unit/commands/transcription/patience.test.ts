import { describe, expect, test } from 'vitest';
import { JobRefused, JobUnanswered } from '../../../../src/commands/transcription/job-service.ts';
import {
  backOffMs,
  brokenMs,
  busyMs,
  patiently,
} from '../../../../src/commands/transcription/patience.ts';

/** A service that fails like this for so long, seen by a client whose waits take no time. */
async function against(
  error: Error,
  { mayRepeat = true, failsForMs = Infinity }: { mayRepeat?: boolean; failsForMs?: number } = {},
) {
  let nowMs = 0;
  const delays: number[] = [];
  const ended = patiently(
    () => (nowMs >= failsForMs ? Promise.resolve('done') : Promise.reject(error)),
    {
      signal: new AbortController().signal,
      wait: (delayMs) => {
        delays.push(delayMs);
        nowMs += delayMs;
        return Promise.resolve();
      },
      nowMs: () => nowMs,
      mayRepeat,
    },
  );
  return { outcome: await ended.catch((failure: unknown) => failure), delays, tookMs: nowMs };
}

describe('patience with a service', () => {
  test('a busy one is asked again when it says, and otherwise more and more seldom', async () => {
    const named = await against(new JobRefused(429, 'full', 7_000), { failsForMs: 20_000 });
    expect(named).toMatchObject({ outcome: 'done', delays: [7_000, 7_000, 7_000] });
    const unnamed = await against(new JobRefused(429, 'full'), { failsForMs: 3_000 });
    expect(unnamed.delays).toEqual([500, 1_000, 2_000]);
    expect(backOffMs(100)).toBe(10_000);
  });

  test('a wait that is named is neither nothing nor for ever', async () => {
    const none = await against(new JobRefused(429, 'full', 0), { failsForMs: 1_000 });
    expect(Math.min(...none.delays)).toBeGreaterThanOrEqual(250);
    const long = await against(new JobRefused(429, 'full', 1e12), { failsForMs: 1_000 });
    expect(long.delays).toEqual([120_000]);
  });

  test('there is an end: two hours for a full service, two minutes for a broken one', async () => {
    const full = await against(new JobRefused(429, 'full', 60_000));
    expect(full.outcome).toMatchObject({ status: 429 });
    expect(full.tookMs).toBeGreaterThan(busyMs - 120_000);
    expect(full.tookMs).toBeLessThanOrEqual(busyMs);
    for (const error of [new JobRefused(503, 'starting'), new JobUnanswered('refused', false)]) {
      const broken = await against(error);
      expect(broken.outcome).toBe(error);
      expect(broken.tookMs).toBeLessThanOrEqual(brokenMs);
      expect(broken.tookMs).toBeGreaterThan(brokenMs / 2);
    }
  });

  test('a request that may have been taken is not sent again; one that certainly was not is', async () => {
    const lost = await against(new JobUnanswered('reset', true), { mayRepeat: false });
    expect(lost.delays).toEqual([]);
    const unseen = await against(new JobUnanswered('refused', false), {
      mayRepeat: false,
      failsForMs: 400,
    });
    expect(unseen.outcome).toBe('done');
    expect((await against(new JobRefused(500, ''), { mayRepeat: false })).delays).toEqual([]);
  });

  test.each([0, 400, 401, 403, 404, 413, 415, 422, 501, 507])(
    'status %i is told at once',
    async (status) => {
      expect((await against(new JobRefused(status, 'no'))).delays).toEqual([]);
    },
  );

  test('an interruption ends a wait', async () => {
    const ending = new AbortController();
    const run = patiently(() => Promise.reject(new JobRefused(429, 'full')), {
      signal: ending.signal,
      wait: () => {
        ending.abort(new Error('interrupted'));
        return Promise.resolve();
      },
      nowMs: () => 0,
      mayRepeat: true,
    });
    await expect(run).rejects.toThrow('interrupted');
  });
});

import type { Clock } from '../../../src/lib/clock.ts';

/** Time that stands still until a test moves it. */
export function handClock(): Clock & { pass(ms: number): Promise<void> } {
  let nowMs = 0;
  const timers = new Set<{ atMs: number; run: () => void }>();
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    after(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async pass(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        const next = [...timers]
          .filter(({ atMs }) => atMs <= endMs)
          .sort((one, other) => one.atMs - other.atMs)[0];
        if (!next) break;
        timers.delete(next);
        nowMs = next.atMs;
        next.run();
        await Promise.resolve();
      }
      nowMs = endMs;
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    },
  };
}

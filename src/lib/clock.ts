/** Time comes in from outside where logic depends on it: tests move it, the process runs on the machine's. */
export type Clock = {
  /** Wall clock, milliseconds since 1970: for what people and other systems read. */
  now(): number;
  /** Never jumps: for waits, deadlines and durations. */
  monotonicMs(): number;
  /** Calls back once after the delay; the answer cancels. Does not keep the process alive. */
  after(delayMs: number, run: () => void): () => void;
};

/** Resolves after the delay, or at once when the signal ends the wait. */
export async function wait(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stop();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const stop = clock.after(delayMs, done);
    signal?.addEventListener('abort', done);
  });
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

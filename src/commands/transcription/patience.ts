import { JobRefused, JobUnanswered } from './job-service.ts';

export type PatienceOptions = {
  signal: AbortSignal;
  /** Resolves after the delay. Rejects when the signal ends it. */
  wait: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
  nowMs: () => number;
  /** True for a request that may reach the service twice. */
  mayRepeat: boolean;
  onWait?: (delayMs: number, why: string) => void;
};

/** A busy service is asked again for this long, because other jobs have to end first. */
export const busyMs = 2 * 3_600_000;
/** A service that fails or does not answer may be restarting. It is asked again for this long. */
export const brokenMs = 120_000;

const longestWaitMs = 120_000;

/** 0.5 s, 1 s, 2 s ... 10 s. */
export function backOffMs(attempt: number): number {
  return Math.min(10_000, 500 * 2 ** attempt);
}

/** Retries failures that another try may mend, at the times that the service names, and gives up in the end. */
export async function patiently<T>(
  run: () => Promise<T>,
  { signal, wait, nowMs, mayRepeat, onWait }: PatienceOptions,
): Promise<T> {
  const sinceMs = nowMs();
  for (let attempt = 0; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      const patienceMs = patienceWith(error, mayRepeat);
      const asked = error instanceof JobRefused ? error.retryAfterMs : undefined;
      const delayMs = Math.min(longestWaitMs, Math.max(asked ?? backOffMs(attempt), 250));
      if (nowMs() - sinceMs + delayMs > patienceMs) throw error;
      onWait?.(delayMs, error instanceof JobRefused ? 'the service is busy' : 'no answer');
      await wait(delayMs, signal);
    }
  }
}

function patienceWith(error: unknown, mayRepeat: boolean): number {
  if (error instanceof JobUnanswered) return mayRepeat || !error.mayHaveArrived ? brokenMs : 0;
  if (!(error instanceof JobRefused)) return 0;
  // With these two statuses, the service accepted nothing.
  if (error.status === 429) return busyMs;
  if (error.status === 503) return brokenMs;
  const isPassing = error.status === 408 || error.status === 500 || error.status > 501;
  return isPassing && error.status !== 507 && mayRepeat ? brokenMs : 0;
}

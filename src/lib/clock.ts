/** The clock that time-dependent logic gets as an argument: tests move it, and the process uses the machine's. */
export type Clock = {
  /** Wall clock in milliseconds since 1970, for times that people and other systems read. */
  now(): number;
  /** A clock that never jumps, for waits, deadlines and durations. */
  monotonicMs(): number;
  /** Calls back once after a delay of any length. The returned function cancels. Does not keep the process alive. */
  after(delayMs: number, run: () => void): () => void;
};

/**
 * Keeps the process alive until disposed of. Timers of the clock do not: a process that waits only for one of them
 * would end in the middle of that wait, with Node's exit code 13.
 */
export function stayAwake(): Disposable {
  const timer = setInterval(() => undefined, longestTimerMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Resolves after the delay, or at once if the signal ends the wait. */
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

/** Waits for the work, but not longer than this. The work itself continues. Returns false if the time was up first. */
export async function within(
  clock: Clock,
  delayMs: number,
  work: Promise<unknown>,
): Promise<boolean> {
  using late = deadline(clock, delayMs);
  return await Promise.race([work.then(() => true), ended(late.signal).then(() => false)]);
}

/** A signal that aborts after the delay or with the given signal. Disposing frees its timer. */
export function deadline(
  clock: Clock,
  delayMs: number,
  signal?: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const end = (): void => {
    release();
    controller.abort();
  };
  const stop = clock.after(delayMs, end);
  const release = (): void => {
    stop();
    signal?.removeEventListener('abort', end);
  };
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end);
  return { signal: controller.signal, [Symbol.dispose]: release };
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}

/** Node stores a delay in 31 bits. A longer one, from 25 days on, would fire after one millisecond. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, run) =>
    delayMs > longestTimerMs ? afterLong(delayMs, run) : afterOneTimer(delayMs, run),
};

function afterOneTimer(delayMs: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Chains timers until the time has come. */
function afterLong(delayMs: number, run: () => void): () => void {
  const dueMs = performance.now() + delayMs;
  let stop: () => void;
  const next = (): void => {
    const leftMs = dueMs - performance.now();
    stop =
      leftMs > longestTimerMs ? afterOneTimer(longestTimerMs, next) : afterOneTimer(leftMs, run);
  };
  next();
  return () => stop();
}

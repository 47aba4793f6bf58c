/** Time comes in from outside where logic depends on it: tests move it, the process runs on the machine's. */
export type Clock = {
  /** Wall clock, milliseconds since 1970: for times that people and other systems read. */
  now(): number;
  /** Never jumps: for waits, deadlines and durations. */
  monotonicMs(): number;
  /** Calls back once after the delay, however long; the answer cancels. Does not keep the process alive. */
  after(delayMs: number, run: () => void): () => void;
};

/**
 * Keeps the process alive until disposed of. No timer of the clock does: a process that waits for one alone, with its
 * last socket closed, would end in the middle of that wait, with Node's exit code 13.
 */
export function stayAwake(): Disposable {
  const timer = setInterval(() => undefined, longestTimerMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

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

/** Waits for the work, but not longer than this; the work itself goes on. False when the time was up first. */
export async function within(
  clock: Clock,
  delayMs: number,
  work: Promise<unknown>,
): Promise<boolean> {
  using late = deadline(clock, delayMs);
  return await Promise.race([work.then(() => true), ended(late.signal).then(() => false)]);
}

/** A signal that ends after the delay, or with the given signal. Disposing of it frees its timer. */
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

/** Node keeps a delay in 31 bits: a longer one, 25 days and more, would fire after one millisecond. */
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

/** One timer after the other until the time has come. */
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

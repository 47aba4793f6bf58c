import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { forkBare } from './bare-process.ts';

type FileOrder = {
  program: URL;
  /** The order for the process: its only argument. */
  order: object;
  maxHeapMiB: number;
  limitMs: number;
  signal?: AbortSignal | undefined;
  /**
   * True for a message that is a question and no answer. The process continues after it receives `granted`. If this
   * function throws, the order ends with that error.
   */
  isQuestion?: (message: unknown) => boolean;
  /** Makes the error of an order that exceeded its time. */
  late: () => Error;
  /**
   * Makes the error of a process that ended by itself or never started. `how` completes a sentence about the process.
   * `isKilled` means that something outside killed it again and again.
   */
  lost: (how: string, cause: unknown, isKilled?: boolean) => Error;
};

/** Thrown if something outside this service killed the process, for example the kernel when memory is short. */
class KilledFromOutside extends Error {}

/** After this many kills from outside, the order is given up. */
const mostKills = 3;
/** Memory may be short for a while because of another process, so the pauses grow. */
const pauseMs = (kills: number): number => 250 * 4 ** kills;

/** A process that is told to stop must end its own programs within this time, or it is killed with them. */
const stopMs = 2_000;

/**
 * Carries out one order in a process of its own. The process answers with one message and is then ended. If it is
 * killed from outside, the order starts again. Resolves or rejects only after the process has ended, because its files
 * are deleted next.
 */
export async function askFileProcess<Answer>(options: FileOrder): Promise<Answer> {
  for (let kills = 1; ; kills++) {
    try {
      return await askOnce(options);
    } catch (error) {
      if (!(error instanceof KilledFromOutside)) throw error;
      if (kills >= mostKills)
        throw options.lost(
          `was killed ${mostKills} times by something else, as the system does when memory is short`,
          error.cause,
          true,
        );
      await sleep(pauseMs(kills), undefined, { signal: options.signal });
    }
  }
}

function askOnce<Answer>(options: FileOrder): Promise<Answer> {
  const { program, order, maxHeapMiB, limitMs, signal, isQuestion, late, lost } = options;
  const { child, said } = forkBare({
    program,
    args: [JSON.stringify(order)],
    maxHeapMiB,
    options: { detached: true }, // leads a process group with every program that it starts
  });
  return new Promise((resolve, reject) => {
    let answer: Answer | undefined;
    let failure: unknown;
    let killTimer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      child.kill('SIGTERM');
      killTimer ??= setTimeout(() => killGroup(child), stopMs);
    };
    const end = (reason: unknown): void => {
      failure ??= reason;
      stop();
    };
    // This uses the machine's timer, not our clock: the process runs in real time, whatever a test's clock says.
    const timer = setTimeout(() => end(late()), limitMs);
    const aborted = (): void => end(signal?.reason);
    signal?.addEventListener('abort', aborted, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      clearTimeout(killTimer);
      signal?.removeEventListener('abort', aborted);
      if (failure === undefined && answer !== undefined) resolve(answer);
      else reject(failure instanceof Error ? failure : new Error(String(failure)));
    };
    child.on('message', (message) => {
      if (failure !== undefined) return;
      try {
        if (isQuestion?.(message) === true) {
          child.send('granted', () => undefined); // an ended process receives nothing; its exit is handled below
          return;
        }
      } catch (error) {
        end(error);
        return;
      }
      answer = message as Answer;
      stop(); // the process is done, and its exit is awaited
    });
    child.once('error', (error) => {
      failure ??= lost('did not start', error);
      if (child.pid === undefined) settle(); // the process never started, so no exit follows
    });
    child.once('exit', (code, by) => {
      // A process that ended too early may have left programs of its own behind.
      killGroup(child);
      if (answer === undefined) {
        const cause = said() === '' ? undefined : new Error(said().trim());
        failure ??=
          by === 'SIGKILL'
            ? new KilledFromOutside('killed from outside', { cause })
            : lost(`ended with ${by ?? `code ${String(code)}`}`, cause);
      }
      settle();
    });
    if (signal?.aborted) aborted();
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}

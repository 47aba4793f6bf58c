import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { forkBare } from './bare-process.ts';

type FileOrder = {
  program: URL;
  /** The order that the process is given: its only argument. */
  order: object;
  maxHeapMiB: number;
  limitMs: number;
  signal?: AbortSignal | undefined;
  /**
   * True for a message that is no answer but a question; the process goes on when it hears `granted`. Where this
   * throws, the order ends with that error.
   */
  isQuestion?: (message: unknown) => boolean;
  /** The error of an order that took longer than its limit. */
  late: () => Error;
  /**
   * The error of a process that ended by itself or never began: `how` is the predicate of a sentence about the process.
   * `isKilled`: something else on the machine killed the process, again and again.
   */
  lost: (how: string, cause: unknown, isKilled?: boolean) => Error;
};

/** Something else on this machine killed the process: the kernel does so when memory is short. */
class KilledFromOutside extends Error {}

/** An order is given up when its process was killed from outside this often. */
const mostKills = 3;
/** Another process may have the memory for a while. */
const pauseMs = (kills: number): number => 250 * 4 ** kills;

/** A process that was told to stop ends its own programs within this time, or is killed together with them. */
const stopMs = 2_000;

/**
 * Carries out one order in a process of its own, which answers with one message and is then ended. An order whose process
 * was killed from outside begins anew. Resolves or rejects only when the process has ended: its files are deleted next.
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
    options: { detached: true }, // the leader of a process group, with whatever it starts in it
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
    // The machine's timer and not the clock: what it ends is a process of the machine, which no clock of ours moves.
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
          child.send('granted', () => undefined); // a process that has ended hears nothing: its exit is told below
          return;
        }
      } catch (error) {
        end(error);
        return;
      }
      answer = message as Answer;
      stop(); // it has nothing left to do, and its exit is waited for
    });
    child.once('error', (error) => {
      failure ??= lost('did not start', error);
      if (child.pid === undefined) settle(); // it never started: no exit follows
    });
    child.once('exit', (code, by) => {
      // A process that ended by itself, or before it could wait, may have left its own behind.
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
    // All of the group have ended.
  }
}

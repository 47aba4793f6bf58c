import { readdirSync, readFileSync } from 'node:fs';

/** A process that never gets a processor counts as hung after this much waiting, whatever its deadline. */
const mostWaitedDefaultMs = 600_000;

/**
 * The time for which a process has sent nothing. It is counted in ticks of this process and not by the clock: if this
 * process itself stood still (a suspended machine, a blocked loop), it received nothing although the other was well.
 *
 * The time in which the other process waited for a processor does not count either. A job is read at the lowest
 * priority, so on a busy machine its process may say nothing for minutes, and it would only begin again if it was killed.
 */
export class Silence {
  readonly #waitedMs: () => number;
  readonly #mostWaitedMs: number;
  #silentMs = 0;
  /** The process had waited for so long in its life when its silence was first looked at. */
  #waitedBefore: number | undefined;

  /** `waitedMs` tells how long the process has waited for a processor in its life. */
  constructor(waitedMs: () => number = () => 0, mostWaitedMs = mostWaitedDefaultMs) {
    this.#waitedMs = waitedMs;
    this.#mostWaitedMs = mostWaitedMs;
  }

  get ms(): number {
    return this.#silentMs;
  }

  heard(): void {
    this.#silentMs = 0;
    this.#waitedBefore = undefined;
  }

  /** Adds a tick. Returns true when the silence has lasted as long as the deadline allows. */
  isTooLong(tickMs: number, deadlineMs: number): boolean {
    this.#silentMs += tickMs;
    // Each look reads a file, so a process that speaks is never looked at.
    if (this.#silentMs >= deadlineMs / 2) this.#waitedBefore ??= this.#waitedMs();
    if (this.#silentMs < deadlineMs) return false;
    const waited = this.#waitedMs() - (this.#waitedBefore ?? 0);
    return this.#silentMs >= deadlineMs + Math.min(waited, this.#mostWaitedMs);
  }
}

/**
 * Milliseconds for which a process was ready to run and got no processor, in its life: those of the thread that waited
 * longest. Zero where the system does not tell.
 */
export function waitedForProcessorMs(pid: number): number {
  try {
    const waits = readdirSync(`/proc/${String(pid)}/task`).map((thread) => {
      const [, waitedNs] = readFileSync(`/proc/${String(pid)}/task/${thread}/schedstat`, 'utf8').split(' '); // prettier-ignore
      return Number(waitedNs) / 1e6;
    });
    return Math.max(0, ...waits);
  } catch {
    return 0; // another system, or the process has ended
  }
}

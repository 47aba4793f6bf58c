/** The lane of one job. Disposing the result of `take` ends the section. */
export type JobLane = { take(signal: AbortSignal): Promise<Disposable> };

type WaitingSection = { job: JobLane; grant: () => void };

/**
 * Decides which sections of jobs are read at the same time. Every job has one section at work, so a short job never
 * waits for a long one. Further sections begin only if a process would otherwise have nothing to read; the job with the
 * fewest comes first. Each job waits for at most one place, so the queue is no longer than the number of running jobs.
 */
export class SectionLanes {
  readonly #processes: number;
  readonly #most: number;
  readonly #taken = new Map<JobLane, number>();
  #waiting: WaitingSection[] = [];

  /** With two sections per process, a process that waits for audio of one reads the other. */
  constructor(processes: number, sectionsEach = 1) {
    this.#processes = processes;
    this.#most = sectionsEach * processes;
  }

  /** False with a single process: reading in sections would gain nothing. */
  get sideBySide(): boolean {
    return this.#processes > 1;
  }

  ofJob(): JobLane {
    const job: JobLane = { take: (signal) => this.#take(job, signal) };
    return job;
  }

  async #take(job: JobLane, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(signal.reason as Error);
      };
      const grant = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const waiting = { job, grant };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#grant();
    });
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const left = this.#takenBy(job) - 1;
        if (left > 0) this.#taken.set(job, left);
        else this.#taken.delete(job);
        this.#grant();
      },
    };
  }

  #grant(): void {
    for (;;) {
      const [next] = this.#waiting.toSorted((a, b) => this.#takenBy(a.job) - this.#takenBy(b.job));
      if (!next) return;
      const taken = this.#takenBy(next.job);
      if (taken > 0 && this.#takenByAll() >= this.#most) return;
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#taken.set(next.job, taken + 1);
      next.grant();
    }
  }

  #takenBy(job: JobLane): number {
    return this.#taken.get(job) ?? 0;
  }

  #takenByAll(): number {
    let all = 0;
    for (const taken of this.#taken.values()) all += taken;
    return all;
  }
}

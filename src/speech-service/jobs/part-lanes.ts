/** The lane of one job. What `take` answers with is disposed of when its part is over. */
export type JobLane = { take(signal: AbortSignal): Promise<Disposable> };

type WaitingPart = { job: JobLane; grant: () => void };

/**
 * Which parts of jobs are read at the same moment. Every job has one, whatever the others have: a short job waits for
 * no part of a long one. Further parts are begun only while a process would else have nothing to read, and the job
 * that has the fewest comes first. Each job waits for one turn at most, so as many wait as there are jobs at work.
 */
export class PartLanes {
  readonly #processes: number;
  readonly #most: number;
  readonly #taken = new Map<JobLane, number>();
  #waiting: WaitingPart[] = [];

  /** With two parts each, a process that waits for the audio of one reads the other. */
  constructor(processes: number, partsEach = 1) {
    this.#processes = processes;
    this.#most = partsEach * processes;
  }

  /** With one process nothing is gained by reading in parts. */
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

import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import type { JobRow } from '../records/job-records.ts';
import { JobFailure } from './failure.ts';
import type { JobRows } from './job-rows.ts';

type LostNodesOptions = {
  rows: JobRows;
  node: string;
  clock: Clock;
  log: Logger;
  /** The longest silence of a node before its jobs are ended. */
  lostNodeS: number;
  /** Ends a job that waits for a lost node. */
  end: (job: JobRow, failure: JobFailure) => Promise<void>;
};

const everyMs = 60_000;
const endedAtOnce = 100;

/**
 * Ends jobs that wait for a lost node. Some jobs only one node can do: their upload is on its disk or, with zero
 * retention, their request is in its memory. If that node never returns, the job and its client would wait for ever.
 */
export class LostNodes {
  readonly #options: LostNodesOptions;
  #signedMs = -Infinity;
  #looks: Loop | undefined;

  constructor(options: LostNodesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { rows, node, clock, log } = this.#options;
    await rows.signOfLife(node);
    this.#signedMs = clock.monotonicMs();
    this.#looks = every(clock, everyMs, () => this.#look(), {
      failed: (error) =>
        log.warn({ reason: reasonOf(error) }, 'lost nodes could not be searched for; will retry'),
    });
  }

  stop(): void {
    void this.#looks?.stop();
  }

  async #look(): Promise<void> {
    const { rows, node, clock, log, lostNodeS, end } = this.#options;
    await rows.signOfLife(node);
    const silentMs = clock.monotonicMs() - this.#signedMs;
    this.#signedMs = clock.monotonicMs();
    // While the database was away no node could give a sign of life, so the others get one more period.
    if (silentMs > 2 * everyMs) return;
    const lost = await rows.ofLostNodes(node, lostNodeS * 1_000, endedAtOnce);
    for (const job of lost) await end(job, failureOf(job, lostNodeS));
    if (lost.length > 0)
      log.warn({ jobs: lost.length }, 'jobs that waited for a lost node ended in error');
  }
}

function failureOf({ zero_retention }: JobRow, lostNodeS: number): JobFailure {
  const what =
    zero_retention === 1
      ? 'the node that holds this job in its memory'
      : 'the node whose disk holds the upload of this job';
  const next = zero_retention === 1 ? 'POST the job again' : 'upload the file again';
  return new JobFailure(
    504,
    `${what} has given no sign for ${lostNodeS} s (TRUNKLINE_JOBS_LOST_NODE_S); ${next}`,
  );
}

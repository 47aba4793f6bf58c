import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import type { Store } from '../../store/store.ts';
import type { SpeechServiceConfig } from '../config.ts';
import { eraseEach } from '../records/erase-each.ts';
import type { JobRow } from '../records/job-records.ts';
import type { JobRows } from './job-rows.ts';

type JobRetentionOptions = {
  config: SpeechServiceConfig;
  store: Store;
  rows: JobRows;
  clock: Clock;
  log: Logger;
  erase(job: Pick<JobRow, 'id' | 'file_id'>): Promise<void>;
};

const dayMs = 86_400_000;
const firstSweepMs = 1_000;
const sweepEveryMs = 3_600_000;
const sweepRows = 200;
/** At most this many usage rows are deleted per statement. */
const usageRows = 1_000;

/** Deletes jobs past their retention in small steps, and old usage rows. */
export class JobRetention {
  readonly #options: JobRetentionOptions;
  readonly #settled: SettledTime;
  #stopped = false;
  #sweeps: Loop | undefined;

  constructor(options: JobRetentionOptions) {
    this.#options = options;
    this.#settled = new SettledTime(options.clock);
  }

  start(): void {
    const { clock, log } = this.#options;
    this.#sweeps = every(clock, sweepEveryMs, () => this.#sweep(), {
      firstMs: firstSweepMs,
      failed: (error) => log.error({ reason: reasonOf(error) }, 'the retention of jobs failed'),
    });
  }

  stop(): void {
    this.#stopped = true;
    void this.#sweeps?.stop();
  }

  async #sweep(): Promise<void> {
    const { config, store, rows, log } = this.#options;
    const nowMs = this.#settled.now();
    // A fraction of a day gives a fraction of a millisecond, which Postgres would refuse for this column.
    const before = nowMs - Math.round(config.retentionDays * dayMs);
    // Each deletion is its own transaction, so that calls can write in between.
    const erased = await eraseEach({
      next: (except) => rows.completedBefore(before, sweepRows, except),
      erase: (job) => this.#options.erase(job),
      isStopped: () => this.#stopped,
      log,
    });
    const usageBefore = nowMs - config.jobs.usageDays * dayMs;
    while (!this.#stopped)
      if ((await rows.forgetUsageBefore(usageBefore, usageRows)) < usageRows) break;
    if (erased === 0) return;
    await store.forgetDeleted();
    log.info({ erased }, 'jobs past their retention were deleted');
  }
}

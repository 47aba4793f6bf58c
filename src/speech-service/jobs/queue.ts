import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Claims } from '../../lib/claims.ts';
import { type Clock, within } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { callbackOf } from '../../protocol/parse-pre-recorded.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import type { PreRecordedResult } from '../../protocol/job.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import { NoRoomError } from '../../store/disk-room.ts';
import type { JobRow } from '../records/job-records.ts';
import { speechMetrics } from '../metrics.ts';
import { failureOf, JobFailure } from './failure.ts';
import { requestOf, type UnstoredJobs } from './job-callbacks.ts';
import { claimMs, type JobClaim, type JobEnd, type JobRows } from './job-rows.ts';

/** One job at work, with the means to report its progress. */
export type JobAtWork = {
  job: JobRow;
  claim: JobClaim;
  request: PreRecordedRequest;
  /** A folder for this attempt. It is deleted when the work ends, in any way. */
  folder: string;
  signal: AbortSignal;
  /** The disk space that an earlier attempt was found to need; 0 at first. */
  neededBytes: number;
  onProgress(seconds: number): void;
};

type JobAtHand = { claim: JobClaim; job: JobRow; abort: AbortController };

type JobQueueOptions = {
  rows: JobRows;
  node: string;
  /** The folder for working files of jobs. */
  folder: string;
  clock: Clock;
  log: Logger;
  atOnce: number;
  /** True while this node stops and another node can take its jobs. */
  isRelieved?: (() => boolean) | undefined;
  /** Requests that only this process holds: with zero retention the row has none. */
  unstored: UnstoredJobs;
  /** True if the data disk has space for these bytes beside what calls need. */
  hasRoomFor(bytes: number): boolean;
  /** Does the job. Throws a `NoRoomError` if the disk has no space; the job then waits in the queue. */
  run(work: JobAtWork): Promise<PreRecordedResult>;
  /** Stores the end and its callbacks. Returns false if the job is no longer ours. */
  end(
    claim: JobClaim,
    job: JobRow,
    request: PreRecordedRequest | undefined,
    end: JobEnd,
  ): Promise<boolean>;
};

/** Frequent enough for a person who watches the progress. */
const renewMs = claimMs / 10;
/** The interval at which the log reports the progress of a job. */
const sayMs = 30_000;
const lookMs = 5_000;
const longestGraceMs = 2_000;
/** A job during which a process died this often is not tried again. */
const maxAttempts = 10;

/** Takes jobs from the table in order, works on several at once, and renews the claim of each. */
export class JobQueue {
  readonly #options: JobQueueOptions;
  readonly #claims: Claims<JobAtHand>;
  readonly #running = new Map<string, AbortController>();
  /** The disk space needed by each job that was given back because the disk is full. */
  readonly #needs = new Map<string, number>();

  constructor(options: JobQueueOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#claims = new Claims({
      table: {
        claim: (begin) => this.#take(begin),
        work: (job) => this.#work(job).then(() => true),
      },
      clock,
      lookMs,
      unreadable: (error) =>
        log.error({ reason: reasonOf(error) }, 'jobs could not be claimed; will retry'),
      brokeOff: (error, { job }) =>
        log.error(
          { jobId: job.id, err: error },
          'a job failed unexpectedly; its claim will expire',
        ),
    });
  }

  get running(): number {
    return this.#running.size;
  }

  get waitingForRoom(): { jobs: number; leastBytes: number } | undefined {
    if (this.#needs.size === 0) return undefined;
    return { jobs: this.#needs.size, leastBytes: Math.min(...this.#needs.values()) };
  }

  /** Continues the jobs that an earlier run of this node left. */
  async start(): Promise<void> {
    const { rows, node, folder } = this.#options;
    // Files of a dead process belong to no job now. Every attempt begins with an empty folder.
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await rows.releaseAllOf(node);
    this.#claims.start();
  }

  /** Looks for a new job at once. */
  wake(): void {
    this.#claims.wake();
  }

  /** Stops the work on a cancelled or erased job, if it runs here. */
  cancel(id: string): void {
    this.#roomFound(id);
    this.#running.get(id)?.abort(new JobIsGone());
  }

  /** Gives back the jobs that do not end within the deadline. They begin again after the start. */
  async drain(deadlineMs: number): Promise<void> {
    const { clock } = this.#options;
    const works = this.#claims.stop();
    await within(clock, Math.min(deadlineMs, longestGraceMs), works);
    for (const abort of this.#running.values()) abort.abort(new ProcessStops());
    // A claim that cannot be given back now is freed by the next start, or expires.
    await within(clock, maxDatabaseWaitMs, works);
  }

  async #take(begin: (job: JobAtHand) => void): Promise<boolean> {
    const { rows, node, atOnce } = this.#options;
    while (this.#running.size < atOnce && !this.#claims.isStopped) {
      const taken = await rows.claim(node, {
        onlyOwn: this.#options.isRelieved?.() ?? false,
        except: this.#withoutRoom(),
      });
      if (!taken) {
        this.#forgetTaken();
        return false;
      }
      const abort = new AbortController();
      this.#running.set(taken.job.id, abort);
      // The claim was answered while the process was already stopping.
      if (this.#claims.isStopped) abort.abort(new ProcessStops());
      begin({ ...taken, abort });
    }
    return false; // when a job ends, it asks for the next look
  }

  /** Jobs that still lack disk space. Smaller, later jobs may pass them. */
  #withoutRoom(): string[] {
    return [...this.#needs]
      .filter(([, bytes]) => !this.#options.hasRoomFor(bytes))
      .map(([id]) => id);
  }

  /** Forgets jobs that have enough space but could not be taken: they were cancelled, or another node has them. */
  #forgetTaken(): void {
    const waiting = new Set(this.#withoutRoom());
    for (const id of this.#needs.keys()) if (!waiting.has(id)) this.#roomFound(id);
  }

  #roomFound(id: string): number {
    const neededBytes = this.#needs.get(id) ?? 0;
    this.#needs.delete(id);
    speechMetrics.jobsWithoutRoom.set(this.#needs.size);
    return neededBytes;
  }

  async #work(taken: JobAtHand): Promise<void> {
    try {
      await this.#run(taken);
    } finally {
      this.#running.delete(taken.job.id);
    }
  }

  /** Never throws: any failure ends this job only. */
  async #run({ claim, job, abort }: JobAtHand): Promise<void> {
    const { clock, log, folder } = this.#options;
    const own = join(folder, job.id);
    const neededBytes = this.#roomFound(job.id);
    let progressS = 0;
    const renewals = this.#renewing(claim, abort, () => progressS);
    const startedMs = clock.monotonicMs();
    let request: PreRecordedRequest | undefined;
    let end: JobEnd;
    try {
      request = this.#neededRequest(job);
      if (claim.attempt > maxAttempts)
        throw new JobFailure(500, `given up: ${maxAttempts} attempts ended with their process`);
      await mkdir(own, { recursive: true, mode: 0o700 });
      const result = await this.#options.run({
        job,
        claim,
        request,
        folder: own,
        signal: abort.signal,
        neededBytes,
        onProgress: (seconds) => {
          progressS = seconds;
        },
      });
      end = { outcome: 'done', result: JSON.stringify(result) };
    } catch (error) {
      if (abort.signal.aborted) {
        await this.#leave(claim, abort.signal.reason, renewals, own);
        return;
      }
      if (error instanceof NoRoomError) {
        await this.#leave(claim, error, renewals, own);
        return;
      }
      const failure = failureOf(error);
      if (failure.status === 500) log.error({ jobId: job.id, err: error }, 'a job failed');
      end = { outcome: 'error', code: failure.status, message: failure.message };
    }
    void renewals.stop();
    await rm(own, { recursive: true, force: true }).catch(() => undefined); // the next start empties the folder
    await this.#end(claim, job, request, end, clock.monotonicMs() - startedMs);
  }

  #neededRequest(job: JobRow): PreRecordedRequest {
    const request = requestOf(job, this.#options.unstored);
    if (request) return request;
    throw new JobFailure(
      500,
      'the process ended, and with zero data retention nothing of the job was stored',
    );
  }

  async #end(
    claim: JobClaim,
    job: JobRow,
    request: PreRecordedRequest | undefined,
    end: JobEnd,
    tookMs: number,
  ): Promise<void> {
    const { log } = this.#options;
    try {
      if (!(await this.#options.end(claim, job, request, end))) return;
    } catch (error) {
      // The claim expires, and this or another node does the job again.
      log.error(
        { jobId: job.id, reason: reasonOf(error) },
        'the end of a job could not be stored; will retry',
      );
      return;
    }
    if (!request || !callbackOf(request)) this.#options.unstored.delete(job.id);
    speechMetrics.jobsEnded.inc({ outcome: end.outcome });
    const tookS = Math.round(tookMs / 100) / 10;
    if (end.outcome === 'done') log.info({ jobId: job.id, tookS }, 'a job is done');
    else
      log.warn(
        { jobId: job.id, tookS, errorCode: end.code, reason: end.message },
        'a job ended in error',
      );
  }

  async #leave(claim: JobClaim, reason: unknown, renewals: Loop, own: string): Promise<void> {
    void renewals.stop();
    await rm(own, { recursive: true, force: true }).catch(() => undefined);
    if (reason instanceof NoRoomError) {
      this.#needs.set(claim.id, reason.neededBytes);
      speechMetrics.jobsWithoutRoom.set(this.#needs.size);
      this.#options.log.warn(
        { jobId: claim.id, neededBytes: reason.neededBytes, reason: reason.message },
        'a job waits for room on the data disk',
      );
    }
    // A job that is gone has ended or belongs to another node, so nothing is given back.
    else if (!(reason instanceof ProcessStops)) return;
    await this.#options.rows
      .release(claim)
      .catch((error: unknown) =>
        this.#options.log.warn(
          { jobId: claim.id, reason: reasonOf(error) },
          'a job could not be given back; its claim will expire',
        ),
      );
  }

  /**
   * Renews the claim. If that fails, another node may soon have the job, so the work stops before the claim expires.
   */
  #renewing(claim: JobClaim, abort: AbortController, progress: () => number): Loop {
    const { rows, clock, log } = this.#options;
    let renewedMs = clock.monotonicMs();
    let saidMs = renewedMs;
    const renew = async (): Promise<void> => {
      try {
        const progressS = progress();
        if (clock.monotonicMs() - saidMs >= sayMs) {
          saidMs = clock.monotonicMs();
          log.info({ jobId: claim.id, secondsDone: Math.round(progressS) }, 'a job started');
        }
        if (await rows.renew(claim, progressS)) renewedMs = clock.monotonicMs();
        else abort.abort(new JobIsGone());
      } catch (error) {
        log.warn(
          { jobId: claim.id, reason: reasonOf(error) },
          'the database took no sign of life of a running job, which another node may begin anew',
        );
        if (clock.monotonicMs() - renewedMs > claimMs - renewMs) abort.abort(new JobIsGone());
      }
    };
    return every(clock, renewMs, renew);
  }
}

/** The row shows that the job is not ours: it was cancelled, erased, or taken by another node. */
class JobIsGone extends Error {}
class ProcessStops extends Error {}

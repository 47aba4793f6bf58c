import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Problem } from '../../port/problem.ts';
import { callbackOf } from '../../protocol/parse-pre-recorded.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import type { Store } from '../../store/store.ts';
import { refuseUncovered } from '../offered-languages.ts';
import { refuseUnreachable, type Send } from '../callbacks/session-callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { Files, StoredFile } from '../files/files.ts';
import { speechMetrics } from '../metrics.ts';
import type { JobRow } from '../records/job-records.ts';
import { whyNotDoable } from '../results/redaction.ts';
import { JobFailure } from './failure.ts';
import { callbacksFor, JobCallbacks, requestOf, type UnstoredJobs } from './job-callbacks.ts';
import { JobRetention } from './job-retention.ts';
import { factsOf, JobRows } from './job-rows.ts';
import { JobWork, type JobWorkOptions } from './job-work.ts';
import { LostNodes } from './lost-nodes.ts';
import { SectionLanes } from './section-lanes.ts';
import { JobQueue } from './queue.ts';

type JobsOptions = Omit<JobWorkOptions, 'rows' | 'lanes' | 'unstored'> & {
  config: SpeechServiceConfig;
  store: Store;
  node: string;
  /** The folder for working files of jobs. */
  folder: string;
  clock: Clock;
  log: Logger;
  files: Files;
  send: Send;
  /** True while this node stops and another node can take its jobs. */
  isRelieved?: (() => boolean) | undefined;
};

/** With two sections per process, a process that waits for audio of one reads the other. */
const stretchesEach = 2;

/** Pre-recorded jobs: creation, work, callbacks and deletion. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #rows: JobRows;
  readonly #queue: JobQueue;
  readonly #callbacks: JobCallbacks;
  readonly #lostNodes: LostNodes;
  readonly #retention: JobRetention;
  readonly #unstored: UnstoredJobs = new Map();
  #draining = false;

  constructor(options: JobsOptions) {
    const { store, node, folder, clock, log, config } = options;
    this.#options = options;
    this.#rows = new JobRows(store);
    const work = new JobWork({
      ...options,
      rows: this.#rows,
      lanes: new SectionLanes(options.recogniser.mostProcesses, stretchesEach),
      unstored: this.#unstored,
    });
    this.#retention = new JobRetention({
      ...{ config, store, clock, log, rows: this.#rows },
      erase: (job) => this.erase(job),
    });
    this.#callbacks = new JobCallbacks({ ...options, unstored: this.#unstored });
    this.#lostNodes = new LostNodes({
      rows: this.#rows,
      node,
      clock,
      log,
      lostNodeS: config.jobs.lostNodeS,
      end: async (job, failure) => {
        if (await this.#endFromOutside(job, failure, true))
          speechMetrics.jobsEnded.inc({ outcome: 'error' });
      },
    });
    this.#queue = new JobQueue({
      rows: this.#rows,
      node,
      folder,
      clock,
      log,
      atOnce: config.jobs.atOnce,
      isRelieved: options.isRelieved,
      unstored: this.#unstored,
      hasRoomFor: (bytes) => store.hasRoomFor(bytes),
      run: (atWork) => work.run(atWork),
      end: async (claim, job, request, end) => {
        const event = end.outcome === 'done' ? 'transcription.success' : 'transcription.error';
        const callbacks = callbacksFor(job.id, event, request, config);
        const stored =
          job.zero_retention === 1 && end.outcome === 'done' ? { ...end, result: null } : end;
        const isOurs = await this.#rows.end(claim, stored, clock.now(), callbacks);
        if (isOurs) await this.#ended(job);
        return isOurs;
      },
    });
  }

  get running(): number {
    return this.#queue.running;
  }

  /** Jobs that wait because the data disk has no space for their decoded audio. */
  get waitingForRoom(): { jobs: number; leastBytes: number } | undefined {
    return this.#queue.waitingForRoom;
  }

  /** Callbacks that have not arrived. An operator can list them and send them again. */
  get callbacks(): Pick<JobCallbacks, 'list' | 'retry'> {
    return this.#callbacks;
  }

  async start(): Promise<void> {
    await this.#lostNodes.start();
    await this.#queue.start();
    this.#callbacks.start();
    this.#retention.start();
  }

  /** Creates a job, or throws the problem that refuses it. `fileId` is set if its address is one of ours. */
  async create(request: PreRecordedRequest, fileId: string | undefined): Promise<string> {
    const { node, clock, config } = this.#options;
    await this.#admit(request);
    const file = await this.#ownFile(fileId);
    const id = randomUUID();
    const { zeroRetention } = config;
    // The request is stored in memory before the row, because this process's queue may take the row before the insert
    // returns.
    if (zeroRetention) this.#unstored.set(id, { request });
    let isStored = false;
    try {
      isStored = await this.#rows.insert({
        id,
        node,
        createdAt: clock.now(),
        request,
        zeroRetention,
        file: file && factsOf(file),
        callbacks: callbacksFor(id, 'transcription.created', request, config),
      });
    } finally {
      // The request is removed from memory if the store failed, too: nothing else would remove it.
      if (!isStored) this.#unstored.delete(id);
    }
    if (!isStored) throw fileIsGone(fileId);
    this.#callbacks.wake();
    this.#queue.wake();
    return id;
  }

  /** Ends a waiting or running job. Returns false if it had already ended. */
  async cancel(job: JobRow): Promise<boolean> {
    // The row ends before the work stops. A result that arrives now finds an ended row and changes nothing.
    const isEnded = await this.#endFromOutside(
      job,
      new JobFailure(cancelledCode, 'cancelled by a request'),
    );
    this.#queue.cancel(job.id);
    if (isEnded) speechMetrics.jobsEnded.inc({ outcome: 'cancelled' });
    return isEnded;
  }

  /** Deletes an ended job with its row, its result, and its file unless another job uses that. */
  async erase({ id, file_id }: Pick<JobRow, 'id' | 'file_id'>): Promise<void> {
    const { files, folder } = this.#options;
    // The row is deleted first. If a crash leaves the file, no job reads it and the sweep of unused files deletes it.
    const isFileFree = await this.#rows.delete(id, file_id);
    if (file_id !== null && isFileFree) await files.remove(file_id);
    await rm(join(folder, id), { recursive: true, force: true });
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    this.#retention.stop();
    this.#lostNodes.stop();
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + deadlineMs;
    // Jobs stop before callbacks: a job that ends during the stop stores its callbacks, which may still be sent.
    await this.#queue.drain(deadlineMs);
    await this.#callbacks.stop(untilMs - clock.monotonicMs());
  }

  /** Ends a job in error, whichever node works on it. The claim of that node can then write nothing more. */
  async #endFromOutside(
    job: JobRow,
    { status, message }: JobFailure,
    asFound = false,
  ): Promise<boolean> {
    const { config, clock } = this.#options;
    const request = requestOf(job, this.#unstored);
    const isEnded = await this.#rows.end(
      asFound ? { id: job.id, node: job.node, attempt: job.attempts ?? 0 } : { id: job.id },
      { outcome: 'error', code: status, message },
      clock.now(),
      callbacksFor(job.id, 'transcription.error', request, config),
    );
    if (!isEnded) return false;
    if (!request || !callbackOf(request)) this.#unstored.delete(job.id);
    await this.#ended(job);
    return true;
  }

  /**
   * Deletes the file that an earlier attempt left when its process died. Otherwise it would stay as long as the job's
   * row.
   */
  async #ended({ id, zero_retention, file_id }: JobRow): Promise<void> {
    this.#callbacks.wake();
    if (zero_retention === 0 || file_id === null) return;
    const { files, log } = this.#options;
    await files.remove(file_id).catch((error: unknown) => {
      log.warn({ jobId: id, reason: reasonOf(error) }, 'the file of a job could not be deleted');
    });
  }

  async #admit(request: PreRecordedRequest): Promise<void> {
    try {
      this.#refuseUnusable(request);
      // The count and the insert are separate steps. Simultaneous requests may exceed the limit by a few rows, which
      // does no harm.
      const { queued, processing } = await this.#rows.unfinished();
      const { maxQueued } = this.#options.config.jobs;
      if (queued >= maxQueued)
        throw refusal(
          429,
          `${queued} jobs are waiting and ${processing} are worked on; at most ${maxQueued} may wait`,
          30,
        );
    } catch (error) {
      if (error instanceof Problem) speechMetrics.jobsRefused.inc({ status: String(error.status) });
      throw error;
    }
  }

  #refuseUnusable(request: PreRecordedRequest): void {
    const { store, recogniser, config } = this.#options;
    if (this.#draining) throw refusal(503, 'the service is stopping, try again in a moment', 2);
    const room = store.acceptsNewCalls();
    if (!room.ok) throw refusal(503, room.reason, 30);
    const callback = callbackOf(request);
    if (callback) refuseUnreachable(callback.url, config.callbackHosts);
    const reason = whyNotDoable(request);
    if (reason !== undefined) throw new Problem(422, reason);
    const { languages } = request.language_config;
    refuseUncovered(recogniser, languages);
    const admission = recogniser.admits({ languages }, 0);
    if (admission.outcome === 'language')
      throw new Problem(422, `Invalid parameter: ${admission.detail}`);
    if (admission.outcome === 'no-model')
      throw refusal(503, admission.detail, admission.retryAfterS);
  }

  async #ownFile(id: string | undefined): Promise<StoredFile | undefined> {
    if (id === undefined) return undefined;
    const file = await this.#options.files.get(id);
    if (!file) throw fileIsGone(id);
    return file;
  }
}

function fileIsGone(id = ''): Problem {
  return new Problem(422, `audio_url: there is no file ${id} here; upload it again`);
}

/** The status that proxies use for a request that its client withdrew. */
const cancelledCode = 499;

function refusal(status: number, message: string, retryAfterS: number): Problem {
  return new Problem(status, message, { headers: { 'retry-after': String(retryAfterS) } });
}

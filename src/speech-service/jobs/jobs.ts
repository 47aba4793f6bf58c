import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { wait, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { round3 } from '../../lib/round.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import { Problem } from '../../port/problem.ts';
import type { PreRecordedResult, UnreadSpeech } from '../../protocol/job.ts';
import { callbackOf } from '../../protocol/parse-pre-recorded.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import type { Store } from '../../store/store.ts';
import { refuseUnreachable, type Send } from '../callbacks/callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { Media } from '../../hearing/media/media.ts';
import { speechMetrics } from '../metrics.ts';
import { expectedWords } from '../../hearing/expected-words.ts';
import type { Recogniser } from '../../hearing/recogniser.ts';
import type { JobRow } from '../records/job-records.ts';
import type { AddonRunner } from '../results/answer.ts';
import { whyNotDoable } from '../results/redaction.ts';
import { resultOf, type ResultInput } from '../results/result.ts';
import type { Speakers } from '../../hearing/speakers/speakers.ts';
import { withSpeakersOf } from '../../hearing/speakers/turns.ts';
import { JobFailure } from './failure.ts';
import { callbacksFor, JobCallbacks, requestOf, type UnstoredJobs } from './job-callbacks.ts';
import { JobRows, type JobFileFacts } from './job-rows.ts';
import { LostNodes } from './lost-nodes.ts';
import { PartTurns } from './part-turns.ts';
import { JobQueue, type JobAtWork } from './queue.ts';
import { readChannels, type ReadableChannel } from './reading.ts';

/** The file of a job while it is read. */
type LocalFile = { file: StoredFile; local: Disposable & { path: string } };

/** How long, and how often, the object store is asked for the file of a job. */
const storeWaitMs = 600_000;
const storeAgainMs = 3_000;

type JobsOptions = {
  config: SpeechServiceConfig;
  store: Store;
  node: string;
  /** Holds the working files of jobs. */
  folder: string;
  clock: Clock;
  log: Logger;
  files: Files;
  media: Media;
  language: AddonRunner;
  send: Send;
  /** Reads files: another one than that of live sessions, so that nobody's words come later for a job. */
  recogniser: Recogniser;
  speakers: Speakers;
  /** True while this node stops and another one takes the jobs that are not its own alone. */
  isRelieved?: (() => boolean) | undefined;
};

const dayMs = 86_400_000;
const sweepEveryMs = 3_600_000;
const sweepRows = 200;
/** Rows of usage that go at once. */
const usageRows = 1_000;

const partsEach = 2;

/** Pre-recorded jobs: taken, worked on, told of, deleted. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #settled: SettledTime;
  readonly #rows: JobRows;
  readonly #queue: JobQueue;
  readonly #callbacks: JobCallbacks;
  readonly #lostNodes: LostNodes;
  readonly #turns: PartTurns;
  readonly #unstored: UnstoredJobs = new Map();
  #draining = false;
  #cancelSweep = (): void => undefined;

  constructor(options: JobsOptions) {
    const { store, node, folder, clock, log, config } = options;
    this.#options = options;
    this.#settled = new SettledTime(clock);
    this.#rows = new JobRows(store);
    this.#turns = new PartTurns(options.recogniser.mostProcesses, partsEach);
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
      run: (work) => this.#run(work),
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

  /** What an operator sees of callbacks that have not arrived, and may do with them. */
  get callbacks(): Pick<JobCallbacks, 'list' | 'retry'> {
    return this.#callbacks;
  }

  async start(): Promise<void> {
    await this.#lostNodes.start();
    await this.#queue.start();
    this.#callbacks.start();
    this.#sweepLater(1_000);
  }

  /** Takes a job, or throws the problem that refuses it. `fileId` is set when its address is one of ours. */
  async create(request: PreRecordedRequest, fileId: string | undefined): Promise<string> {
    const { node, clock, config } = this.#options;
    await this.#admit(request);
    const file = await this.#ownFile(fileId);
    const id = randomUUID();
    const { zeroRetention } = config;
    // Memory comes before the row: the queue of this process may take the row before the insert is answered here.
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
      // Also where the store failed: nothing else would take the request out of memory.
      if (!isStored) this.#unstored.delete(id);
    }
    if (!isStored) throw fileIsGone(fileId);
    this.#callbacks.wake();
    this.#queue.wake();
    return id;
  }

  /** Ends a job that waits or is worked on. False when it had ended already. */
  async cancel(job: JobRow): Promise<boolean> {
    // The row ends before the work does: a result that is ready in this moment finds an ended row and changes nothing.
    const isEnded = await this.#endFromOutside(
      job,
      new JobFailure(cancelledCode, 'cancelled by a request'),
    );
    this.#queue.cancel(job.id);
    if (isEnded) speechMetrics.jobsEnded.inc({ outcome: 'cancelled' });
    return isEnded;
  }

  /** Deletes an ended job: its row, its result, and its file unless another job uses it. */
  async erase({ id, file_id }: Pick<JobRow, 'id' | 'file_id'>): Promise<void> {
    const { files, folder } = this.#options;
    // The row goes first. What a crash then leaves is read by no job: the sweep of unused files finds it.
    const isFileFree = await this.#rows.delete(id, file_id);
    if (file_id !== null && isFileFree) await files.remove(file_id);
    await rm(join(folder, id), { recursive: true, force: true });
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    this.#cancelSweep();
    this.#lostNodes.stop();
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + deadlineMs;
    // Jobs before callbacks: a job that ends in these seconds stores whom to tell, and may still tell them.
    await this.#queue.drain(deadlineMs);
    await this.#callbacks.stop(untilMs - clock.monotonicMs());
  }

  /** Ends a job in error whoever works on it: that node's claim writes nothing any more. */
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

  /** A file that an earlier attempt of a job left, whose process died, would else stay as long as the job's row. */
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
      // Counted, then stored: requests of one moment may pass the bound by a few, and a few rows cost nothing.
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

  async #run(work: JobAtWork): Promise<PreRecordedResult> {
    const { files, config } = this.#options;
    const startedMs = this.#options.clock.monotonicMs();
    const { file, local } = await this.#fileOf(work);
    try {
      return await this.#resultOf(work, file, local.path, startedMs);
    } finally {
      local[Symbol.dispose]();
      // A process that dies before this leaves the file to whoever ends the job.
      if (config.zeroRetention) await files.remove(file.id);
    }
  }

  async #resultOf(
    work: JobAtWork,
    file: StoredFile,
    path: string,
    startedMs: number,
  ): Promise<PreRecordedResult> {
    const { media, language, clock } = this.#options;
    const { request, folder, signal, job } = work;
    const decoded = await media.decode(path, folder, signal);
    const facts = {
      ...factsOf(file),
      durationS: round3(decoded.durationS),
      channels: decoded.channels,
    };
    await this.#rows.attachFile(work.claim, facts, job.zero_retention === 0);
    const channels = decoded.distinct.map(({ channels: [channel = 0], path, samples }) => ({
      channel,
      path,
      samples,
    }));
    const { utterances, diarization, unread } = await this.#heard(work, channels);
    const result = await resultOf({
      request,
      durationS: decoded.durationS,
      distinctChannels: Math.max(1, decoded.distinct.length),
      transcriptionS: (clock.monotonicMs() - startedMs) / 1e3,
      utterances,
      ...(unread ? { unread } : {}),
      ...(diarization ? { diarization } : {}),
      language,
      owner: job.id,
      signal,
    });
    // A job that was cancelled at its last step leaves nothing, least of all in memory.
    signal.throwIfAborted();
    // With zero retention the row gets no result: the callback finds it here, and without one nobody can ask for it.
    const unstored = this.#unstored.get(job.id);
    if (unstored && callbackOf(request)) unstored.result = result;
    return result;
  }

  /** The words of the channels, and where it was asked for, who spoke: both read the same files side by side. */
  async #heard(
    work: JobAtWork,
    channels: readonly ReadableChannel[],
  ): Promise<Pick<ResultInput, 'utterances' | 'diarization' | 'unread'>> {
    const { recogniser, speakers, clock } = this.#options;
    const { request, signal } = work;
    const { languages, code_switching: codeSwitching } = request.language_config;
    const inVain = new AbortController();
    const eitherSignal = AbortSignal.any([signal, inVain.signal]);
    const {
      number_of_speakers: number,
      min_speakers: min,
      max_speakers: max,
    } = request.diarization_config ?? {};
    const found = request.diarization
      ? speakers.find(channels, { number, min, max }, eitherSignal)
      : undefined;
    found?.catch(() => undefined); // awaited below, maybe after it has failed
    let unread: readonly UnreadSpeech[] = [];
    try {
      const utterances = await readChannels({
        recogniser,
        clock,
        channels,
        languages,
        codeSwitching,
        expected: request.custom_vocabulary
          ? expectedWords(request.custom_vocabulary_config, languages)
          : [],
        turns: this.#turns,
        signal,
        onProgress: (seconds) => work.onProgress(seconds),
        onUnread: (stretches) => {
          unread = stretches;
        },
      });
      const diarization = await found;
      if (!diarization) return { utterances, unread };
      if (!diarization.results) return { utterances, unread, diarization };
      const numbers = channels.map(({ channel }) => channel);
      return {
        utterances: withSpeakersOf(numbers, diarization.results, utterances),
        unread,
        diarization,
      };
    } catch (error) {
      // Without words nobody asks who spoke them; and the files go when this ends.
      inVain.abort(error);
      await found?.catch(() => undefined);
      throw error;
    }
  }

  /**
   * The file of a job, here on this disk: also out of the object store. One that lies on another node's disk, or whose bytes are lost, is fetched
   * again from where it came, which may be another address than that of the request: that may be one of ours.
   */
  async #fileOf({ job, request, signal, claim, folder }: JobAtWork): Promise<LocalFile> {
    const { files, log } = this.#options;
    const stored = job.file_id === null ? undefined : await files.get(job.file_id);
    const found = stored && (await this.#outOfStore(stored, folder, signal));
    if (stored && found) return { file: stored, local: found };
    // With zero retention the address is in the request alone, which is in memory.
    const source = job.zero_retention === 1 ? request.audio_url : job.source;
    if (source === null)
      throw new JobFailure(
        404,
        stored
          ? 'the bytes of this upload are lost from the disk; upload the file again'
          : 'the uploaded file of this job was deleted before it was read',
      );
    const file = await files.fetch(source, signal);
    // A claim that is over attaches nothing: the file would be nobody's, and stay until the sweep.
    const isOurs = await this.#rows.attachFile(claim, factsOf(file), job.zero_retention === 0);
    const local = isOurs ? await files.local(file, folder, signal) : undefined;
    if (local) return { file, local };
    await files.remove(file.id).catch((error: unknown) => {
      log.warn({ jobId: job.id, reason: reasonOf(error) }, 'a fetched file could not be deleted');
    });
    throw new JobFailure(409, 'the job was taken by another node');
  }

  /** A store that is away is waited for: the job is at nobody's fault, and its claim is renewed meanwhile. */
  async #outOfStore(
    file: StoredFile,
    folder: string,
    signal: AbortSignal,
  ): Promise<LocalFile['local'] | undefined> {
    const { files, clock } = this.#options;
    const untilMs = clock.monotonicMs() + storeWaitMs;
    for (;;) {
      try {
        return await files.local(file, folder, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (clock.monotonicMs() > untilMs)
          throw new JobFailure(503, `the file of the job cannot be had: ${reasonOf(error)}`);
        await wait(clock, storeAgainMs, signal);
      }
    }
  }

  #sweepLater(delayMs: number): void {
    this.#cancelSweep = this.#options.clock.after(delayMs, () => {
      this.#sweep()
        .catch((error: unknown) =>
          this.#options.log.error({ reason: reasonOf(error) }, 'the retention of jobs failed'),
        )
        .finally(() => {
          if (!this.#draining) this.#sweepLater(sweepEveryMs);
        });
    });
  }

  /** Deletes the jobs that are older than the installation keeps, in small steps, and old rows of usage. */
  async #sweep(): Promise<void> {
    const { config, store, log } = this.#options;
    const nowMs = this.#settled.now();
    // A part of a day in whole milliseconds: Postgres compares them with no others.
    const before = nowMs - Math.round(config.retentionDays * dayMs);
    let erased = 0;
    for (;;) {
      const jobs = await this.#rows.completedBefore(before, sweepRows);
      if (jobs.length === 0 || this.#draining) break;
      // Each deletion is a transaction of its own: calls have their turn at the one writer in between.
      for (const job of jobs) await this.erase(job);
      erased += jobs.length;
    }
    const usageBefore = nowMs - config.jobs.usageDays * dayMs;
    while (!this.#draining)
      if ((await this.#rows.forgetUsageBefore(usageBefore, usageRows)) < usageRows) break;
    if (erased === 0) return;
    await store.forgetDeleted();
    log.info({ erased }, 'jobs past their retention were deleted');
  }
}

function fileIsGone(id = ''): Problem {
  return new Problem(422, `audio_url: there is no file ${id} here; upload it again`);
}

/** As proxies say of a request that its client took back. */
const cancelledCode = 499;

function factsOf(file: StoredFile): JobFileFacts {
  const { id, filename, source, durationS, channels } = file;
  return { id, filename, source, durationS, channels };
}

function refusal(status: number, message: string, retryAfterS: number): Problem {
  return new Problem(status, message, { headers: { 'retry-after': String(retryAfterS) } });
}

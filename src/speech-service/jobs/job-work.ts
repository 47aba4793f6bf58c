import { wait, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { round3 } from '../../lib/round.ts';
import type { PreRecordedResult, WordlessSpeech } from '../../protocol/job.ts';
import { callbackOf } from '../../protocol/parse-pre-recorded.ts';
import { NoRoomError, type DiskRoom } from '../../store/disk-room.ts';
import type { Store } from '../../store/store.ts';
import {
  decodedBytes,
  MediaError,
  type DecodedMedia,
  type Media,
} from '../../hearing/media/media.ts';
import type { Recogniser } from '../../hearing/recogniser.ts';
import type { Speakers } from '../../hearing/speakers/speakers.ts';
import { withSpeakersOf } from '../../hearing/speakers/speaker-turns.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { AddonRunner } from '../results/answer.ts';
import { resultOf, type ResultInput } from '../results/result.ts';
import { JobFailure } from './failure.ts';
import type { UnstoredJobs } from './job-callbacks.ts';
import { factsOf, type JobRows } from './job-rows.ts';
import type { SectionLanes } from './section-lanes.ts';
import type { JobAtWork } from './queue.ts';
import { readChannels, type ReadableChannel } from './reading.ts';

/** The local copy of a job's file while it is read. */
type LocalFile = { file: StoredFile; local: Disposable & { path: string } };

type FileWords = Pick<ResultInput, 'utterances' | 'diarization' | 'wordless'>;

export type JobWorkOptions = {
  config: SpeechServiceConfig;
  store: Store;
  rows: JobRows;
  clock: Clock;
  log: Logger;
  files: Files;
  media: Media;
  language: AddonRunner;
  /** The recogniser for files. It is separate from that of live sessions, so that jobs do not delay live words. */
  recogniser: Recogniser;
  speakers: Speakers;
  lanes: SectionLanes;
  unstored: UnstoredJobs;
};

/** If the object store is away, the file of a job is requested every three seconds for ten minutes. */
const storeWaitMs = 600_000;
const storeAgainMs = 3_000;

/** The steps of one job, from its file to its result. Throws a `NoRoomError` if the data disk has no space for it. */
export class JobWork {
  readonly #options: JobWorkOptions;

  constructor(options: JobWorkOptions) {
    this.#options = options;
  }

  async run(work: JobAtWork): Promise<PreRecordedResult> {
    const { files, config } = this.#options;
    const startedMs = this.#options.clock.monotonicMs();
    const { file, local } = await this.#fileOf(work);
    try {
      return await this.#resultOf(work, file, local.path, startedMs);
    } finally {
      local[Symbol.dispose]();
      // If the process dies before this line, the end of the job deletes the file.
      if (config.zeroRetention) await files.remove(file.id);
    }
  }

  async #resultOf(
    work: JobAtWork,
    file: StoredFile,
    path: string,
    startedMs: number,
  ): Promise<PreRecordedResult> {
    const { language, clock } = this.#options;
    const { request, signal, job } = work;
    const { decoded, heard } = await this.#decodedAndHeard(work, file, path);
    const { utterances, diarization, wordless } = heard;
    const result = await resultOf({
      request,
      durationS: decoded.durationS,
      distinctChannels: Math.max(1, decoded.distinct.length),
      transcriptionS: (clock.monotonicMs() - startedMs) / 1e3,
      utterances,
      ...(wordless ? { wordless } : {}),
      ...(diarization ? { diarization } : {}),
      language,
      owner: job.id,
      signal,
    });
    // A job that is cancelled at its last step must leave nothing behind, in particular not in memory.
    signal.throwIfAborted();
    // With zero retention the row gets no result. The callback reads the result from memory; without a callback nobody
    // can ask for it.
    const unstored = this.#options.unstored.get(job.id);
    if (unstored && callbackOf(request)) unstored.result = result;
    return result;
  }

  /**
   * Reserves space for the decoded channels before their first byte is written, and holds it while they are on the
   * disk. If calls need the space, the work stops, its folder is deleted, and the job waits for space.
   */
  async #decodedAndHeard(
    work: JobAtWork,
    file: StoredFile,
    path: string,
  ): Promise<{ decoded: DecodedMedia; heard: FileWords }> {
    const { store, config } = this.#options;
    const knownS = Math.min(file.durationS, config.jobs.maxSeconds);
    const knownBytes = decodedBytes(knownS, Math.max(1, file.channels));
    using room = store.reserve(Math.max(knownBytes, work.neededBytes));
    const signal = AbortSignal.any([work.signal, room.signal]);
    try {
      const decoded = await this.#decoded({ ...work, signal }, file, path, room);
      const channels = decoded.distinct.map(({ channels: [channel = 0], path, samples }) => ({
        channel,
        path,
        samples,
      }));
      return { decoded, heard: await this.#heard({ ...work, signal }, channels) };
    } catch (error) {
      work.signal.throwIfAborted();
      room.signal.throwIfAborted();
      throw error;
    }
  }

  async #decoded(
    { claim, job, folder, signal }: JobAtWork,
    file: StoredFile,
    path: string,
    room: DiskRoom,
  ): Promise<DecodedMedia> {
    const mostBytes = decodedBytes(
      this.#options.config.jobs.maxSeconds,
      Math.max(1, file.channels),
    );
    let reachedBytes = 0;
    const watched = {
      wrote: (bytes: number) => room.wrote(bytes),
      extend: (bytes: number) => {
        reachedBytes = bytes;
        try {
          room.extend(bytes);
        } catch (error) {
          if (!(error instanceof NoRoomError) || file.durationS > 0) throw error;
          // The file's true length is unknown. The next attempt asks for twice the space, to avoid many small
          // increases.
          throw new NoRoomError(error.message, Math.min(2 * bytes, Math.max(bytes, mostBytes)));
        }
      },
    };
    const decoded = await this.#options.media
      .decode(path, folder, signal, watched)
      .catch((error: unknown) => {
        // Other data filled the disk between two measurements.
        if (error instanceof MediaError && error.status === 507)
          throw new NoRoomError(error.message, reachedBytes);
        throw error;
      });
    room.settle();
    const facts = {
      ...factsOf(file),
      durationS: round3(decoded.durationS),
      channels: decoded.channels,
    };
    await this.#options.rows.attachFile(claim, facts, job.zero_retention === 0);
    return decoded;
  }

  /** Recognises the words and, on request, the speakers. Both read the same files at the same time. */
  async #heard(work: JobAtWork, channels: readonly ReadableChannel[]): Promise<FileWords> {
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
    found?.catch(() => undefined); // awaited below, perhaps after it has failed
    let wordless: readonly WordlessSpeech[] = [];
    try {
      const utterances = await readChannels({
        recogniser,
        clock,
        channels,
        languages,
        codeSwitching,
        vocabulary: request.custom_vocabulary ? request.custom_vocabulary_config : undefined,
        lanes: this.#options.lanes,
        signal,
        onProgress: (seconds) => work.onProgress(seconds),
        onWordless: (stretches) => {
          wordless = stretches;
        },
      });
      const diarization = await found;
      if (!diarization) return { utterances, wordless };
      if (!diarization.results) return { utterances, wordless, diarization };
      const numbers = channels.map(({ channel }) => channel);
      return {
        utterances: withSpeakersOf(numbers, diarization.results, utterances),
        wordless,
        diarization,
      };
    } catch (error) {
      // If recognition fails, the search for speakers is stopped too: its files are deleted when this returns.
      inVain.abort(error);
      await found?.catch(() => undefined);
      throw error;
    }
  }

  /**
   * Provides the file of a job on this disk, from the object store if needed. A file that only another node has, or
   * whose bytes are lost, is fetched again from its source. That source may differ from the request's address, which
   * may be one of ours.
   */
  async #fileOf({ job, request, signal, claim, folder }: JobAtWork): Promise<LocalFile> {
    const { files, log } = this.#options;
    const stored = job.file_id === null ? undefined : await files.get(job.file_id);
    const found = stored && (await this.#outOfStore(stored, folder, signal));
    if (stored && found) return { file: stored, local: found };
    // With zero retention only the request in memory holds the address.
    const source = job.zero_retention === 1 ? request.audio_url : job.source;
    if (source === null)
      throw new JobFailure(
        404,
        stored
          ? 'the bytes of this upload are lost from the disk; upload the file again'
          : 'the uploaded file of this job was deleted before it was read',
      );
    const file = await files.fetch(source, signal);
    // A claim that has ended attaches nothing. The file would otherwise belong to no job and stay until the sweep.
    const isOurs = await this.#options.rows.attachFile(
      claim,
      factsOf(file),
      job.zero_retention === 0,
    );
    const local = isOurs ? await files.local(file, folder, signal) : undefined;
    if (local) return { file, local };
    await files.remove(file.id).catch((error: unknown) => {
      log.warn({ jobId: job.id, reason: reasonOf(error) }, 'a fetched file could not be deleted');
    });
    throw new JobFailure(409, 'the job was taken by another node');
  }

  /** Waits while the object store is away. The job is not at fault, and its claim is renewed meanwhile. */
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
        if (error instanceof NoRoomError) throw error;
        if (clock.monotonicMs() > untilMs)
          throw new JobFailure(503, `the file of the job cannot be had: ${reasonOf(error)}`);
        await wait(clock, storeAgainMs, signal);
      }
    }
  }
}

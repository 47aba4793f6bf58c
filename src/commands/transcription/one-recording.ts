import { setTimeout as wait } from 'node:timers/promises';
import { TrunklineError } from '../../lib/errors.ts';
import { bytesText, type Progress, shareOf } from '../../lib/progress-bars.ts';
import { PreRecordedJobRecord, type PreRecordedResult } from '../../protocol/job.ts';
import type { JobInput } from './inputs.ts';
import { basename } from 'node:path';
import { JobRefused, JobUnanswered, type JobProgress, type JobService } from './job-service.ts';
import { patiently, type PatienceOptions } from './patience.ts';

export type RecordingOutcome =
  | { is: 'done'; id: string; result: PreRecordedResult; json: unknown }
  /** `json`: the record, if the service has one of the failed job. */
  | { is: 'failed'; why: string; id?: string; code?: number; json?: unknown }
  | { is: 'cancelled'; how: string };

type RecordingOptions = {
  service: JobService;
  /** The body of `POST /v2/pre-recorded`, without the audio. */
  body: object;
  show: (progress: Progress) => void;
  signal: AbortSignal;
};

const firstLookMs = 300;
const longestLookMs = 3_000;
/** A job that takes longer than this is no longer watched. Its id is printed. */
const longestJobMs = 24 * 3_600_000;

/** Transcribes one file or address. It throws only for a bug: other failures affect this recording alone. */
export async function transcribeOne(
  input: JobInput,
  { service, body, show, signal }: RecordingOptions,
): Promise<RecordingOutcome> {
  let id: string | undefined;
  const patience = (mayRepeat: boolean): PatienceOptions => ({
    signal,
    wait: (delayMs, ends) => wait(delayMs, undefined, { signal: ends }),
    nowMs: () => performance.now(),
    mayRepeat,
    onWait: (delayMs, why) =>
      show({ doing: `${why}, asked again in ${Math.ceil(delayMs / 1e3)} s` }),
  });
  try {
    const audioUrl = await uploaded(service, input, show, patience(true));
    show({ doing: 'waiting for its turn' });
    id = await patiently(() => service.begin({ ...body, audio_url: audioUrl }), patience(false));
    return await ended(service, id, show, patience(true));
  } catch (error) {
    if (signal.aborted)
      return {
        is: 'cancelled',
        how: id === undefined ? 'cancelled' : await cancelled(service, id),
      };
    const why = whyFailed(error);
    const job = id === undefined ? {} : { id };
    if (why === undefined) throw error;
    const code = error instanceof JobRefused && error.status >= 400 ? { code: error.status } : {};
    return { is: 'failed', why: id === undefined ? why : `${why} (job ${id})`, ...job, ...code };
  }
}

async function uploaded(
  service: JobService,
  { path, given }: JobInput,
  show: RecordingOptions['show'],
  patience: PatienceOptions,
): Promise<string> {
  if (path === undefined) return given;
  const file = { path, name: basename(path) };
  return patiently(
    () =>
      service.upload(
        file,
        (bytes, ofBytes) =>
          show({
            doing: 'uploading',
            amount: bytesText(bytes, ofBytes),
            share: shareOf(bytes, ofBytes),
          }),
        patience.signal,
      ),
    patience,
  );
}

/** Asks until the job has ended, often at first, later every three seconds. */
async function ended(
  service: JobService,
  id: string,
  show: RecordingOptions['show'],
  patience: PatienceOptions,
): Promise<RecordingOutcome> {
  const { signal, nowMs } = patience;
  const sinceMs = nowMs();
  for (let lookMs = firstLookMs; ; lookMs = Math.min(longestLookMs, lookMs * 1.5)) {
    await patience.wait(lookMs, signal);
    const { progress, json, retryAfterMs } = await patiently(
      () => service.record(id, signal),
      patience,
    );
    if (progress.status === 'done') return doneWith(id, json);
    if (progress.status === 'error') return failedWith(id, progress, json);
    show(shown(progress));
    if (nowMs() - sinceMs > longestJobMs)
      return { is: 'failed', id, why: `not done after 24 hours; it goes on as job ${id}` };
    if (retryAfterMs !== undefined) await patience.wait(Math.min(retryAfterMs, 60_000), signal);
  }
}

function shown({ status, progress }: JobProgress): Progress {
  if (status === 'queued') return { doing: 'waiting for its turn' };
  const [doneS, ofS] = [progress?.seconds_done ?? 0, progress?.seconds ?? 0];
  const share = shareOf(doneS, ofS);
  const amount = `${Math.floor(doneS)} of ${Math.ceil(ofS)} s`;
  return { doing: 'transcribing', amount: share === undefined ? undefined : amount, share };
}

function doneWith(id: string, json: unknown): RecordingOutcome {
  const record = PreRecordedJobRecord.safeParse(json);
  if (!record.success)
    return { is: 'failed', id, why: `the record of job ${id} has another form than the interface` };
  const { result } = record.data;
  return result
    ? { is: 'done', id, result, json }
    : {
        is: 'failed',
        id,
        json,
        why: 'it is done, but the service keeps no results (zero data retention): they come by --callback only',
      };
}

function failedWith(id: string, progress: JobProgress, json: unknown): RecordingOutcome {
  const { error_code: code, error_message: message } = progress;
  const why = `${message ?? 'the job failed'} (${code ?? 'no code'}, job ${id})`;
  return { is: 'failed', id, json, why, ...(typeof code === 'number' ? { code } : {}) };
}

/** The process is asked to stop. The job is cancelled, because nobody would see its result. */
async function cancelled(service: JobService, id: string): Promise<string> {
  try {
    await service.cancel(id);
    return `cancelled (job ${id})`;
  } catch (error) {
    if (error instanceof JobRefused && error.status === 403)
      return `had ended before it could be cancelled (job ${id})`;
    return `could not be cancelled, the service may go on with job ${id}: ${whyFailed(error) ?? 'unknown'}`;
  }
}

/** A message that a person can act on. Undefined for an unexpected error. */
export function whyFailed(error: unknown): string | undefined {
  if (error instanceof TrunklineError) return error.message;
  if (error instanceof JobUnanswered)
    return error.mayHaveArrived
      ? `the service was lost on the way (${error.message}); it may have taken the job`
      : `the service does not answer (${error.message})`;
  if (!(error instanceof JobRefused)) return undefined;
  const said = error.message === '' ? '' : `: ${error.message}`;
  switch (error.status) {
    case 0:
      return error.message;
    case 401:
      return `the service refuses the key${said}`;
    case 413:
      return `too large or too long for the service${said}`;
    case 415:
    case 422:
      return `the service cannot use it${said}`;
    case 429:
      return `the service stayed busy${said}`;
    default:
      return `the service answered ${error.status}${said}`;
  }
}

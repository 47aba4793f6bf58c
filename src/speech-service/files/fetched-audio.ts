import type { Readable } from 'node:stream';
import { failureOf, type FetchFailure, type GuardedClient } from '../../lib/guarded-fetch.ts';
import { FileError } from './file-error.ts';

type FetchedAudio = { body: Readable; announcedBytes: number | undefined };

const redirects = 5;

/** Sites whose addresses are pages with a player. Fetching their audio would need a program for each site. */
const videoPages =
  /^(?:(?:www|m|music)\.)?(?:youtube\.com|youtube-nocookie\.com|youtu\.be|vimeo\.com|dailymotion\.com|dai\.ly|twitch\.tv|tiktok\.com|facebook\.com|fb\.watch|instagram\.com|x\.com|twitter\.com|linkedin\.com)$/i;

/** The status of a job whose audio could not be fetched, by the reason. */
const statusOfFailure: Record<FetchFailure, number> = {
  refused: 422,
  dns: 502,
  connect: 502,
  tls: 502,
  closed: 502,
  protocol: 502,
  redirects: 502,
  timeout: 504,
  aborted: 503,
};

/** The way that is left where an address is private. */
const allowed = ' (who runs this service may allow a private host by TRUNKLINE_JOBS_AUDIO_HOSTS)';

type FetchOptions = {
  client: GuardedClient;
  url: string;
  /** The time for name lookup, connections, redirects and body together. */
  deadlineMs: number;
  firstByteMs: number;
  signal: AbortSignal;
};

/**
 * Requests the audio at an address and streams its body. The request carries no key, cookie or word of the client.
 * Errors name the host only, since the query may be a secret.
 */
export async function askForAudio(options: FetchOptions): Promise<FetchedAudio> {
  const { client, url, deadlineMs, firstByteMs, signal } = options;
  const host = hostNamed(url);
  if (videoPages.test(URL.parse(url)?.hostname ?? ''))
    throw ofSource(
      422,
      `${host} shows videos on pages, and such pages are not read here: give the address of an audio or video file`,
    );
  const answer = await client.stream({
    url,
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'trunkline' },
    deadlineMs,
    firstByteMs,
    redirects,
    signal,
  });
  if (!answer.ok)
    throw ofSource(
      statusOfFailure[answer.failure],
      `the audio of ${host} could not be fetched: ${answer.reason}${answer.failure === 'refused' ? allowed : ''}`,
    );
  const refused = whyRefused(answer.status, answer.headers, host);
  if (refused) {
    answer.body.destroy();
    throw refused;
  }
  const length = Number(answer.headers['content-length'] ?? NaN);
  return { body: answer.body, announcedBytes: Number.isFinite(length) ? length : undefined };
}

function whyRefused(
  status: number,
  headers: Record<string, string | string[] | undefined>,
  host: string,
): FileError | undefined {
  if (status >= 500) return ofSource(502, `${host} answered ${status}`);
  // The host's own status would look like ours: its 401 says nothing about the key that was used here.
  if (status >= 400) return ofSource(422, `${host} answered ${status}`);
  if (status !== 200) return ofSource(502, `${host} answered ${status}, and no file`);
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  // Compression is refused: a small compressed answer could expand without end, and audio gains nothing from it.
  return encoding === 'identity'
    ? undefined
    : ofSource(
        415,
        `${host} sent the file compressed (content-encoding), which was not asked for and is not undone`,
      );
}

/** Checks the first bytes of a fetched body and refuses a web page, such as a sign-in form. */
export function refusePage(first: Buffer, url: string): void {
  const text = first
    .subarray(0, 512)
    .toString('latin1')
    .replace(/^(?:\xef\xbb\xbf)?\s+|^\xef\xbb\xbf/, '');
  if (text.startsWith('<'))
    throw ofSource(
      422,
      `${hostNamed(url)} sent a page instead of audio: the address must lead to the file itself`,
    );
}

/** The reason why a body broke off, in words that reveal nothing of the address. */
export function brokenBody(error: unknown, url: string): FileError {
  const { failure } = failureOf(error);
  const status = failure === 'timeout' ? 504 : 502;
  const how =
    failure === 'timeout'
      ? 'did not end within its deadline'
      : 'broke off before its announced end';
  return ofSource(status, `the audio of ${hostNamed(url)} ${how}`, error);
}

export function emptyBody(url: string): FileError {
  return ofSource(422, `${hostNamed(url)} sent an empty file`);
}

/** Adds the host's name to a write error that the sender caused. */
export function ofFetch(error: FileError, url: string): FileError {
  return error.status === 413 || error.status === 408
    ? ofSource(
        error.status === 408 ? 504 : 413,
        `the audio of ${hostNamed(url)}: ${error.message}`,
        error,
      )
    : error;
}

function ofSource(status: number, message: string, cause?: unknown): FileError {
  return new FileError(status, message, {
    isOfSource: true,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** The host and port of an address. A text that is no address is not repeated. */
function hostNamed(url: string): string {
  return URL.parse(url)?.host || 'the address';
}

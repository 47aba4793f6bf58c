import express, { type Request, type Response, type Router } from 'express';
import type { Clock } from '../../lib/clock.ts';
import type { PublicUrl } from '../../port/addresses.ts';
import { askForBody } from '../../port/body.ts';
import { giveBodyTime } from '../../port/connections.ts';
import { Problem } from '../../port/problem.ts';
import { sendRange } from '../../port/range.ts';
import { UploadByUrlRequest, type UploadedFile } from '../../protocol/pre-recorded.ts';
import { validationErrors } from '../../protocol/validation.ts';
import type { JobsConfig } from '../config.ts';
import { NoRoomError } from '../../store/disk-room.ts';
import { FileError } from './file-error.ts';
import { headersOfFile } from './file-name.ts';
import type { Files, StoredFile } from './files.ts';
import { tooLarge } from './intake.ts';
import { formOverheadBytes, readUploadForm } from './upload-form.ts';

type FileRoutesOptions = {
  config: JobsConfig;
  files: Files;
  publicUrl: PublicUrl;
  clock: Clock;
};

/**
 * After a refusal we keep reading for 5 s. A client that is still sending would otherwise see a reset instead of the
 * reason.
 */
const lingerMs = 5_000;
const retryAfterS = 5;

/** Routes for uploads and uploaded files. The port has checked the key, and parses only JSON bodies. */
export function fileRoutes(options: FileRoutesOptions): Router {
  const router = express.Router();
  let uploads = 0;
  router.post('/v2/upload', async (request, response) => {
    if (uploads >= options.config.uploads)
      throw new Problem(429, `too many uploads at once: ${options.config.uploads} are taken here`, {
        headers: { 'retry-after': String(retryAfterS) },
      });
    // Counted before the first wait, so that of several simultaneous uploads only one gets the last place.
    uploads++;
    try {
      const file = await uploaded(options, request, response);
      response.json(answerOf(file, options.publicUrl(request)));
    } catch (error) {
      // The rest of the body is discarded. Closing the connection at once would lose the answer.
      request.resume();
      giveBodyTime(request, lingerMs);
      throw problemOf(error);
    } finally {
      uploads--;
    }
  });
  router.get('/file/:id', async (request, response) => {
    const { id } = request.params;
    const file = await options.files.get(id);
    if (!file) throw new Problem(404, 'Not found');
    await sendFile(options.files, file, request, response);
  });
  // Our addition. In the original API an upload is deleted with its job only, and some uploads never have a job.
  router.delete('/file/:id', async (request, response) => {
    const outcome = await options.files.removeUnused(request.params.id);
    if (outcome === 'unknown') throw new Problem(404, 'Not found');
    if (outcome === 'used')
      throw new Problem(403, 'a job uses this file; DELETE of the job deletes the file too');
    response.status(202).end();
  });
  return router;
}

async function uploaded(
  { config, files, clock }: FileRoutesOptions,
  request: Request,
  response: Response,
): Promise<StoredFile> {
  const closed = files.whyClosed();
  if (closed) throw closed;
  const left = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) left.abort();
  });
  const isForm = request.is('multipart/form-data') !== false;
  if (!isForm) return fetched(files, request, left.signal);
  const length = Number(request.headers['content-length'] ?? NaN);
  const maxBytes = config.maxBytes + formOverheadBytes;
  if (length > maxBytes) throw tooLarge(config.maxBytes);
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Problem(415, 'unsupported content encoding');
  // The headers have been accepted at this point. A client that waits for `100 Continue` has sent nothing in vain.
  giveBodyTime(request, config.transferS * 1_000);
  askForBody(request, response);
  return readUploadForm(request, {
    clock,
    stallMs: config.stallS * 1_000,
    maxBytes,
    tooLarge: () => tooLarge(config.maxBytes),
    signal: left.signal,
    receive: (body, filename, signal) =>
      files.receive(body, { filename, ...announced(length, config.maxBytes) }, signal),
    undo: ({ id }) => files.remove(id),
  });
}

/** The file's length by the length of the form, which is a little longer. */
function announced(length: number, maxBytes: number): { announcedBytes?: number } {
  return Number.isFinite(length) ? { announcedBytes: Math.min(length, maxBytes) } : {};
}

async function fetched(files: Files, request: Request, signal: AbortSignal): Promise<StoredFile> {
  const body: unknown = request.body;
  if (request.is('json') === false || body === undefined)
    throw new Problem(415, 'content-type must be multipart/form-data or application/json');
  const parsed = UploadByUrlRequest.safeParse(body, { reportInput: true });
  if (!parsed.success)
    throw new Problem(400, 'Validation failed', {
      validationErrors: validationErrors(parsed.error.issues, UploadByUrlRequest),
    });
  const url = parsed.data.audio_url;
  const ownId = files.ownId(url, request);
  if (ownId === undefined) return files.fetch(url, signal);
  const own = await files.get(ownId);
  if (!own)
    throw new Problem(422, 'audio_url names an uploaded file that is not here (any longer)');
  return own;
}

function answerOf(file: StoredFile, publicUrl: string): UploadedFile {
  return {
    audio_url: `${publicUrl}/file/${file.id}`,
    audio_metadata: {
      id: file.id,
      filename: file.filename,
      extension: file.extension,
      size: file.size,
      audio_duration: file.durationS,
      number_of_channels: file.channels,
      ...(file.source === null ? {} : { source: file.source }),
    },
  };
}

/** Sends the original bytes, whole or one range of them. */
export async function sendFile(
  files: Files,
  file: StoredFile,
  request: Request,
  response: Response,
): Promise<void> {
  const opened = await files.open(file);
  if (opened === 'elsewhere')
    throw new Problem(503, 'the file lies on the disk of another node of this installation', {
      headers: { 'retry-after': '1' },
    });
  // The file was deleted after its row was read.
  if (opened === 'gone') throw new Problem(404, 'Not found');
  await using reading = opened;
  await sendRange(request, response, {
    bytes: file.size,
    headers: headersOfFile(file.filename),
    read: (from, to) => reading.read(from, to),
  });
}

/** Turns errors of disk and media into HTTP answers. A source that failed counts as a wrong parameter. */
function problemOf(error: unknown): unknown {
  if (error instanceof NoRoomError)
    return new Problem(503, error.message, {
      cause: error,
      headers: { 'retry-after': String(retryAfterS) },
    });
  if (!(error instanceof Error) || error instanceof Problem || !('status' in error)) return error;
  const { status, message } = error;
  if (typeof status !== 'number') return error;
  const isOfSource = error instanceof FileError && error.isOfSource;
  const told = isOfSource && status !== 413 && status !== 415 ? 422 : status;
  const retryAfter = { 'retry-after': String(retryAfterS) };
  return new Problem(told, message, {
    cause: error,
    ...(told === 503 || told === 429 ? { headers: retryAfter } : {}),
  });
}

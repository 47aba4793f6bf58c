import express, { type Request, type Response, type Router } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PublicUrl } from '../../port/addresses.ts';
import { Problem } from '../../port/problem.ts';
import { PatchLiveRequest, type JobKind } from '../../protocol/job.ts';
import { pageLinks, parseListQuery } from '../../protocol/list-query.ts';
import { validationErrors } from '../../protocol/validation.ts';
import { recordText, type JobRecords, type JobRow } from '../records/job-records.ts';
import { jsonBody, queryOf } from './request-parts.ts';

/** The audio and the deletion of one kind of job, for the routes that all kinds share. */
export type JobOwner = {
  /** Answers with the audio of a job, or throws the problem. */
  sendFile(request: Request, response: Response, job: JobRow): Promise<void>;
  /** Deletes an ended job and everything that belongs to it. */
  erase(job: JobRow): Promise<void>;
};

type RecordRoutesOptions = {
  /** The base path, for example `/v2/live`. */
  base: string;
  /** The kinds of jobs that these routes show. */
  kinds: readonly JobKind[];
  records: JobRecords;
  owners: Record<JobKind, JobOwner>;
  publicUrl: PublicUrl;
};

const patchLimitBytes = 102_400;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The routes that all kinds of jobs share: list, read, change, delete, and audio. */
export function recordRoutes(options: RecordRoutesOptions): Router {
  const { base, records, owners } = options;
  const router = express.Router();
  router.get(base, (request, response) => list(options, request, response));
  router.get(`${base}/:id`, async (request, response) => {
    response.type('json').send(recordText(await jobOf(options, request)));
  });
  router.patch(`${base}/:id`, async (request, response) => {
    const { id } = await jobOf(options, request);
    await records.setPostSessionMetadata(id, metadataOf(request));
    response.status(204).end();
  });
  router.delete(`${base}/:id`, async (request, response) => {
    const job = await jobOf(options, request);
    if (job.status !== 'done' && job.status !== 'error') throw new Problem(403, whyKept(job.kind));
    await owners[job.kind].erase(job);
    response.status(202).end();
  });
  router.get(`${base}/:id/file`, async (request, response) => {
    const job = await jobOf(options, request);
    await owners[job.kind].sendFile(request, response, job);
  });
  return router;
}

async function list(
  options: RecordRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const { base, kinds, records, publicUrl } = options;
  const params = queryOf(request);
  const parsed = parseListQuery(params, kinds);
  if (!parsed.ok)
    throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
  const { query } = parsed;
  const wanted = kinds.filter((kind) => query.kinds.length === 0 || query.kinds.includes(kind));
  const { ids, hasMore } = await records.list(query, wanted);
  const links = pageLinks(`${publicUrl(request)}${base}`, params, query, hasMore);
  response.type('json');
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    await pipeline(Readable.from(pageText(links, ids, options), { objectMode: false }), response);
  } catch {
    // The client has gone, or the store failed in the middle. The connection is cut, so that the answer is not valid
    // JSON.
    response.destroy();
  }
}

/**
 * Streams a page record by record, as fast as the client reads. A hundred results of long recordings are some hundred
 * megabytes, so only one is in memory at a time. A job that was deleted since the page was made is left out.
 */
async function* pageText(
  links: object,
  ids: readonly string[],
  { records, kinds }: RecordRoutesOptions,
): AsyncGenerator<string> {
  yield `${JSON.stringify(links).slice(0, -1)},"items":[`;
  let between = '';
  for (const id of ids) {
    const row = await records.get(id, kinds);
    if (!row) continue;
    yield between + recordText(row);
    between = ',';
    // SQLite answers at once, so without this pause no other work would run between two rows.
    await nextTurn();
  }
  yield ']}';
}

function whyKept(kind: JobKind): string {
  return kind === 'live'
    ? 'Forbidden: the session has not ended; stop it with stop_recording on its socket, or wait for its end'
    : 'Forbidden: the job has not ended; POST to its address with /cancel behind it ends it';
}

function metadataOf(request: Request): Record<string, unknown> {
  const body = jsonBody(request);
  if (Buffer.byteLength(JSON.stringify(body)) > patchLimitBytes)
    throw new Problem(413, 'payload too large');
  const parsed = PatchLiveRequest.safeParse(body, { reportInput: true });
  if (!parsed.success)
    throw new Problem(400, 'Validation failed', {
      validationErrors: validationErrors(parsed.error.issues, PatchLiveRequest),
    });
  return parsed.data.post_session_metadata;
}

/** Finds the job of a request. An id that is no UUID is answered like an unknown id. */
export async function jobOf(
  { records, kinds }: Pick<RecordRoutesOptions, 'records' | 'kinds'>,
  request: Request,
): Promise<JobRow> {
  const id = request.params['id'];
  const job =
    typeof id === 'string' && uuid.test(id)
      ? await records.get(id.toLowerCase(), kinds)
      : undefined;
  if (!job || (job.zero_retention === 1 && job.completed_at !== null))
    throw new Problem(404, 'Not found');
  return job;
}

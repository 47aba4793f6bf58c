import express, { type Request, type Response, type Router } from 'express';
import type { PublicUrl } from '../../port/addresses.ts';
import { Problem } from '../../port/problem.ts';
import { PatchLiveRequest } from '../../protocol/job.ts';
import { pageLinks, parseListQuery } from '../../protocol/list-query.ts';
import { parseLiveRequest, parseRegion } from '../../protocol/parse-live-request.ts';
import { validationErrors } from '../../protocol/validation.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Store } from '../../store/store.ts';
import { recordOfRow, type SessionRow, type SessionRows } from '../live/session-rows.ts';
import type { RecordingRule } from '../live/assembly.ts';
import type { Sessions } from '../live/sessions.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { Admissions } from './admissions.ts';
import { sendRecording } from './recording-file.ts';

export type LiveRoutesOptions = {
  config: SpeechServiceConfig;
  store: Store;
  rows: SessionRows;
  sessions: Sessions;
  admissions: Admissions;
  publicUrl: PublicUrl;
  folder: string;
  recording: RecordingRule;
};

const patchLimitBytes = 102_400;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The routes of live sessions. The port has checked the key and parsed the JSON. */
export function liveRoutes(options: LiveRoutesOptions): Router {
  const router = express.Router();
  router.post('/v2/live', (request, response) => create(options, request, response));
  router.get('/v2/live', (request, response) => list(options, request, response));
  router.get('/v2/live/:id', async (request, response) => {
    response.json(recordOfRow(await jobOf(options, request)));
  });
  router.patch('/v2/live/:id', (request, response) => patch(options, request, response));
  router.delete('/v2/live/:id', (request, response) => erase(options, request, response));
  router.get('/v2/live/:id/file', async (request, response) => {
    const job = await jobOf(options, request);
    if (job.request_params === null) throw new Problem(404, 'Not found');
    if (!options.recording.kept)
      throw new Problem(404, 'the audio of sessions is not kept: TRUNKLINE_RECORDING is off here');
    const live = JSON.parse(job.request_params) as LiveRequest;
    await sendRecording(request, response, {
      folder: options.folder,
      id: job.id,
      request: live,
      wasReceived: (job.audio_duration ?? 0) > 0,
    });
  });
  return router;
}

async function create(
  options: LiveRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const region = parseRegion(queryOf(request).getAll('region').at(-1));
  if (!region.ok)
    throw new Problem(400, 'Validation failed', { validationErrors: region.validationErrors });
  const parsed = parseLiveRequest(jsonBody(request), { lenient: options.config.lenient });
  if (!parsed.ok)
    throw parsed.status === 422
      ? new Problem(422, parsed.message)
      : new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
  options.admissions.check(parsed.request);
  const { id, token, createdAt } = await options.sessions.create(parsed.request);
  const base = options.publicUrl(request).replace(/^http/, 'ws');
  response.status(201).json({
    id,
    created_at: new Date(createdAt).toISOString(),
    url: `${base}/v2/live?token=${token}`,
  });
}

async function list(
  options: LiveRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const params = queryOf(request);
  const parsed = parseListQuery(params);
  if (!parsed.ok)
    throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
  const { rows, hasMore } = await options.rows.list(parsed.query);
  const links = pageLinks(`${options.publicUrl(request)}/v2/live`, params, parsed.query, hasMore);
  response.json({ ...links, items: rows.map(recordOfRow) });
}

async function patch(
  options: LiveRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const { id } = await jobOf(options, request);
  const body = jsonBody(request);
  if (Buffer.byteLength(JSON.stringify(body)) > patchLimitBytes)
    throw new Problem(413, 'payload too large');
  const parsed = PatchLiveRequest.safeParse(body, { reportInput: true });
  if (!parsed.success)
    throw new Problem(400, 'Validation failed', {
      validationErrors: validationErrors(parsed.error.issues),
    });
  await options.rows.setPostSessionMetadata(id, parsed.data.post_session_metadata);
  response.status(204).end();
}

async function erase(
  options: LiveRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const job = await jobOf(options, request);
  if (job.status !== 'done' && job.status !== 'error') throw new Problem(403, 'Forbidden');
  await options.sessions.erase(job.id);
  await options.store.forgetDeleted();
  response.status(202).end();
}

/** Finds the session of a request. An id that is no uuid is answered like any unknown id. */
async function jobOf(options: LiveRoutesOptions, request: Request): Promise<SessionRow> {
  const id = request.params['id'];
  const job =
    typeof id === 'string' && uuid.test(id) ? await options.rows.get(id.toLowerCase()) : undefined;
  if (!job || (job.zero_retention === 1 && job.completed_at !== null))
    throw new Problem(404, 'Not found');
  return job;
}

function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://local').searchParams;
}

/** A missing body is an empty object. A body of another type is refused instead of being read as empty. */
function jsonBody(request: Request): unknown {
  const body: unknown = request.body;
  if (body !== undefined) return body;
  if (request.headers['content-type'] === undefined) return {};
  throw new Problem(415, 'content-type must be application/json');
}

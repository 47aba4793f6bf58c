import { isObject } from '../../lib/json.ts';
import express, { type Request, type Response, type Router } from 'express';
import type { PublicUrl } from '../../port/addresses.ts';
import { Problem } from '../../port/problem.ts';
import { parseLiveRequest, parseRegion } from '../../protocol/parse-live-request.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Objects } from '../../objects/objects.ts';
import type { Store } from '../../store/store.ts';
import type { RecordingRule } from '../live/assembly.ts';
import type { Sessions } from '../live/live-sessions.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { JobRow } from '../records/job-records.ts';
import type { Admissions } from './admissions.ts';
import type { JobOwner } from './record-routes.ts';
import { sendRecording } from './session-recording.ts';
import { jsonBody, queryOf, tellIgnored } from './request-parts.ts';

type LiveRoutesOptions = {
  config: SpeechServiceConfig;
  sessions: Sessions;
  admissions: Admissions;
  publicUrl: PublicUrl;
};

/**
 * The pause that ends an utterance if a request has no `endpointing`. The API's 0.05 s would divide words, since
 * silence inside a word is longer.
 */
const usualEndpointingS = 0.3;

/** The route that opens a live session. The port has already checked the key and has parsed the JSON. */
export function liveRoutes(options: LiveRoutesOptions): Router {
  const router = express.Router();
  router.post('/v2/live', (request, response) => create(options, request, response));
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
  const body = jsonBody(request);
  const parsed = parseLiveRequest(body, { lenient: options.config.lenient });
  if (!parsed.ok)
    throw parsed.status === 422
      ? new Problem(422, parsed.message)
      : new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
  const asked = asksForEndpointing(body) ? {} : { endpointing: usualEndpointingS };
  const live = { ...parsed.request, ...asked };
  options.admissions.check(live);
  const { id, token, createdAt } = await options.sessions.create(live);
  tellIgnored(response, parsed.ignored);
  const base = options.publicUrl(request).replace(/^http/, 'ws');
  response.status(201).json({
    id,
    created_at: new Date(createdAt).toISOString(),
    url: `${base}/v2/live?token=${token}`,
  });
}

function asksForEndpointing(body: unknown): boolean {
  return isObject(body) && typeof body['endpointing'] === 'number';
}

type LiveOwnerOptions = {
  store: Store;
  sessions: Sessions;
  folder: string;
  recording: RecordingRule;
  objects: Objects | undefined;
};

/** The audio and the deletion of live sessions, for the routes that all kinds of jobs share. */
export function liveOwner({
  store,
  sessions,
  folder,
  recording,
  objects,
}: LiveOwnerOptions): JobOwner {
  return {
    async sendFile(request, response, job: JobRow) {
      if (job.request_params === null) throw new Problem(404, 'Not found');
      if (!recording.kept)
        throw new Problem(
          404,
          'the audio of sessions is not kept: TRUNKLINE_RECORDING is off here',
        );
      await sendRecording(request, response, {
        folder,
        objects,
        id: job.id,
        request: JSON.parse(job.request_params) as LiveRequest,
        wasReceived: (job.audio_duration ?? 0) > 0,
      });
    },
    async erase({ id }) {
      await sessions.erase(id);
      await store.forgetDeleted();
    },
  };
}

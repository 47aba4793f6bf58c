import express, { type Request, type Response, type Router } from 'express';
import type { Logger } from '../../lib/log.ts';
import type { PublicUrl } from '../../port/addresses.ts';
import { Problem } from '../../port/problem.ts';
import { parsePreRecordedRequest } from '../../protocol/parse-pre-recorded.ts';
import type { InitPreRecordedResponse } from '../../protocol/pre-recorded.ts';
import type { Store } from '../../store/store.ts';
import type { SpeechServiceConfig } from '../config.ts';
import { sendFile } from '../files/file-routes.ts';
import type { Files } from '../files/files.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { JobRecords } from '../records/job-records.ts';
import { jobOf, type JobOwner } from './record-routes.ts';
import { jsonBody, tellIgnored } from './request-parts.ts';

type JobRoutesOptions = {
  config: SpeechServiceConfig;
  jobs: Jobs;
  files: Files;
  log: Logger;
  records: JobRecords;
  publicUrl: PublicUrl;
};

/** The routes that create and cancel pre-recorded jobs, under their current and their deprecated path. */
export function jobRoutes(options: JobRoutesOptions): Router {
  const router = express.Router();
  for (const base of ['/v2/pre-recorded', '/v2/transcription']) {
    router.post(base, (request, response) => create(options, request, response));
    router.post(`${base}/:id/cancel`, (request, response) => cancel(options, request, response));
  }
  return router;
}

async function create(
  { config, jobs, files, log, publicUrl }: JobRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const parsed = parsePreRecordedRequest(jsonBody(request), { lenient: config.lenient });
  if (!parsed.ok)
    throw parsed.status === 422
      ? new Problem(422, parsed.message)
      : new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
  if (parsed.ignored.length > 0)
    log.info({ ignored: parsed.ignored }, 'fields of a job that have no effect were ignored');
  const id = await jobs.create(parsed.request, files.ownId(parsed.request.audio_url, request));
  tellIgnored(response, parsed.ignored);
  response.status(201).json({
    id,
    result_url: `${publicUrl(request)}/v2/transcription/${id}`,
  } satisfies InitPreRecordedResponse);
}

/** Cancels a job that waits or runs. The original API has no such route; this is our addition. */
async function cancel(
  { jobs, records }: JobRoutesOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const job = await jobOf({ records, kinds: ['pre-recorded'] }, request);
  if (!(await jobs.cancel(job)))
    throw new Problem(403, 'the job has ended already; DELETE deletes it');
  response.status(202).end();
}

/** The audio and the deletion of pre-recorded jobs, for the routes that all kinds of jobs share. */
export function jobOwner({
  store,
  jobs,
  files,
}: {
  store: Store;
  jobs: Jobs;
  files: Files;
}): JobOwner {
  return {
    async sendFile(request, response, { file_id }) {
      const file = file_id === null ? undefined : await files.get(file_id);
      if (!file)
        throw new Problem(404, 'this job has no audio: it was not fetched, or it was deleted');
      await sendFile(files, file, request, response);
    },
    async erase(job) {
      await jobs.erase(job);
      await store.forgetDeleted();
    },
  };
}

import type { RequestListener } from 'node:http';
import express, { type Router } from 'express';
import type { Logger } from '../lib/log.ts';
import { httpLimits } from '../port/http.ts';
import { problemHandler } from '../port/problem.ts';
import type { Admissions } from './api/admissions.ts';
import { jobOwner, jobRoutes } from './api/job-routes.ts';
import { liveOwner, liveRoutes } from './api/live-routes.ts';
import { otherMethods } from './api/other-methods.ts';
import { toOtherNode } from './api/other-node.ts';
import { recordRoutes } from './api/record-routes.ts';
import { fileRoutes } from './files/file-routes.ts';
import { JobRecords } from './records/job-records.ts';
import type { SpeechServiceOptions, SpeechServiceParts } from './service-parts.ts';

/** The routes of the speech API, in the order in which they are tried. */
export function speechRouters(
  { config, store, publicUrl, others, objects }: SpeechServiceOptions,
  { node, folder, recording, sessions, files, jobs, clock, log }: SpeechServiceParts,
  admissions: Admissions,
): Router[] {
  const records = new JobRecords(store);
  const owners = {
    live: liveOwner({ store, sessions, folder, recording, objects }),
    'pre-recorded': jobOwner({ store, jobs, files }),
  };
  const shared = { records, owners, publicUrl };
  return [
    ...(others === undefined ? [] : [toOtherNode({ store, node, others })]),
    liveRoutes({ config, sessions, admissions, publicUrl }),
    jobRoutes({ config, jobs, files, records, log, publicUrl }),
    fileRoutes({ config: config.jobs, files, publicUrl, clock }),
    recordRoutes({ ...shared, base: '/v2/live', kinds: ['live'] }),
    recordRoutes({ ...shared, base: '/v2/pre-recorded', kinds: ['pre-recorded'] }),
    // The deprecated route is older than live sessions. It reads and lists both kinds.
    recordRoutes({ ...shared, base: '/v2/transcription', kinds: ['pre-recorded', 'live'] }),
    otherMethods(),
  ];
}

/** Serves the speech API to bridges at other nodes, which have shown the key of the nodes. */
export function interfaceFor(routers: readonly Router[], log: Logger): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use('/v2', express.json({ limit: httpLimits.jsonBodyBytes, inflate: false }));
  for (const router of routers) app.use(router);
  app.use((_request, response) => void response.status(404).end());
  app.use(problemHandler((error) => log.error({ err: error }, 'a request of a node failed')));
  return app;
}

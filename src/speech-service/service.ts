import { mkdir } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import express, { type Router } from 'express';
import type { PublicUrl } from '../port/addresses.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { httpLimits } from '../port/http.ts';
import type { Part } from '../port/part.ts';
import { problemHandler } from '../port/problem.ts';
import type { Objects } from '../objects/objects.ts';
import type { Store } from '../store/store.ts';
import type { AddonRunner } from './results/answer.ts';
import { Admissions } from './api/admissions.ts';
import { jobCallbackRoutes } from './api/job-callback-routes.ts';
import { jobOwner, jobRoutes } from './api/job-routes.ts';
import { liveOwner, liveRoutes } from './api/live-routes.ts';
import { otherMethods } from './api/other-methods.ts';
import { toOtherNode } from './api/other-node.ts';
import { recordRoutes } from './api/record-routes.ts';
import { Callbacks, callbackSender } from './callbacks/callbacks.ts';
import type { SpeechServiceConfig } from './config.ts';
import { fileRoutes } from './files/file-routes.ts';
import { openFiles } from './files/files.ts';
import { Jobs } from './jobs/jobs.ts';
import type { RecordingRule } from './live/assembly.ts';
import { DiskWriter } from './live/disk-writer.ts';
import { SessionRows } from './live/session-rows.ts';
import { Sessions } from './live/sessions.ts';
import { liveSockets, type OtherSpeechNodes } from './live/sockets.ts';
import { startRetention } from './live/retention.ts';
import { storeAudio } from './live/stored-audio.ts';
import { nodeIdOf } from '../lib/node-id.ts';
import { openMedia } from '../hearing/media/media.ts';
import { modelsFolder } from '../hearing/models/supply.ts';
import { JobRecords } from './records/job-records.ts';
import type { Recogniser } from '../hearing/recogniser.ts';
import { LiveListener } from '../hearing/speakers/live-listener.ts';
import { openSpeakers } from '../hearing/speakers/speakers.ts';

type SpeechServiceOptions = {
  config: SpeechServiceConfig;
  store: Store;
  log: Logger;
  recogniser: Recogniser;
  language: AddonRunner;
  publicUrl: PublicUrl;
  /** Its folder `speech` holds the audio and the logs of sessions. */
  dataDir: string;
  clock?: Clock;
  /** Without it every session's audio is kept as long as the session. */
  recording?: RecordingRule;
  /** The other nodes of the database; without them each answers for its own sessions alone. */
  others?: OtherSpeechNodes | undefined;
  /** Audio goes here; without an object store all of it stays on the disk. */
  objects?: Objects | undefined;
  /** Reads files. Without it the recogniser of live sessions does. */
  jobsRecogniser?: Recogniser;
  /** True while this node stops and another speech node is there. */
  isRelieved?: () => boolean;
};

export type SpeechService = Part &
  AsyncDisposable & {
    readonly openSessions: number;
    /** Channels of live sessions: those that are open or about to be, and how many there may be. */
    load(): { used: number; capacity: number };
    /** These nodes are gone, and their unfinished live sessions with them: the records say so. */
    endSessionsOf(nodes: readonly string[]): Promise<void>;
    /** The others had given this node up: what they have ended meanwhile is over here too. */
    leaveEndedByOthers(): Promise<void>;
  };

/** Resolves when the service is ready: sessions that an earlier run left open can be resumed from then on. */
export async function startSpeechService(options: SpeechServiceOptions): Promise<SpeechService> {
  const { config, store, recogniser, dataDir, clock = systemClock } = options;
  const { recording = { kept: true, days: config.retentionDays } } = options;
  const log = options.log.child({ part: 'speech-service' });
  const folder = join(dataDir, 'speech');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const node = await nodeIdOf(dataDir);
  const rows = new SessionRows(store, options.objects);
  const records = new JobRecords(store);
  const sender = callbackSender({ allow: config.callbackHosts, clock });
  const callbacks = new Callbacks({ config, clock, log, send: sender.send });
  const disk = new DiskWriter();
  const models = modelsFolder(config.recogniser);
  const listener = new LiveListener({ models, log });
  const sessions = new Sessions({
    ...options,
    listener,
    rows,
    folder,
    disk,
    node,
    clock,
    log,
    callbacks,
    recording,
  });
  await sessions.recover();
  if (options.objects !== undefined && recording.kept)
    storeAudio({ objects: options.objects, store, node, folder });
  const media = openMedia({ maxSeconds: config.jobs.maxSeconds });
  const files = await openFiles({
    config: config.jobs,
    zeroRetention: config.zeroRetention,
    store,
    folder: join(folder, 'files'),
    node,
    probe: (path, signal) => media.probe(path, signal),
    publicUrl: options.publicUrl,
    clock,
    log,
    objects: options.objects,
  });
  const jobs = new Jobs({
    config,
    store,
    node,
    folder: join(folder, 'jobs'),
    clock,
    log,
    files,
    media,
    language: options.language,
    send: sender.send,
    recogniser: options.jobsRecogniser ?? recogniser,
    speakers: openSpeakers({ models, log }),
    isRelieved: options.isRelieved,
  });
  await jobs.start();
  // The language part loads its data now, so that the first sentence of a session does not wait for it.
  options.language.warm?.().catch((error: unknown) => {
    log.warn({ reason: reasonOf(error) }, 'the language part could not be warmed up');
  });
  const admissions = new Admissions({ config, store, sessions, recogniser });
  const sockets = liveSockets({
    sessions,
    log,
    refuseTokenWith401: config.refuseTokenWith401,
    others: options.others,
  });
  const retention = startRetention({
    config,
    recording,
    rows,
    sessions,
    store,
    node,
    clock,
    log,
    folder,
    objects: options.objects,
  });
  let closing: Promise<void> | undefined;

  const close = async (deadlineMs: number): Promise<void> => {
    admissions.drain();
    retention.stop();
    await Promise.all([sessions.drain(deadlineMs), jobs.drain(deadlineMs)]);
    listener[Symbol.dispose]();
    await files[Symbol.asyncDispose]();
    sockets.close();
    await disk[Symbol.asyncDispose]();
    await sender[Symbol.asyncDispose]();
  };

  const { publicUrl } = options;
  const owners = {
    live: liveOwner({ store, sessions, folder, recording, objects: options.objects }),
    'pre-recorded': jobOwner({ store, jobs, files }),
  };
  const shared = { records, owners, publicUrl };
  const { others } = options;
  const routers = [
    ...(others === undefined ? [] : [toOtherNode({ store, node, others })]),
    liveRoutes({ config, sessions, admissions, publicUrl }),
    jobRoutes({ config, jobs, files, records, log, publicUrl }),
    fileRoutes({ config: config.jobs, files, publicUrl, clock }),
    recordRoutes({ ...shared, base: '/v2/live', kinds: ['live'] }),
    recordRoutes({ ...shared, base: '/v2/pre-recorded', kinds: ['pre-recorded'] }),
    // Deprecated, and older than live sessions: it reads and lists both.
    recordRoutes({ ...shared, base: '/v2/transcription', kinds: ['pre-recorded', 'live'] }),
    otherMethods(),
  ];

  others?.serve({ requests: interfaceFor(routers, log) });

  return {
    name: 'speech-service',
    routers: [
      ...routers.map((router) => ({ access: 'speech' as const, router })),
      { access: 'operator', router: jobCallbackRoutes(jobs) },
    ],
    upgrades: [sockets],
    health() {
      const { state, detail } = recogniser.status();
      // Without a model calls are journalled and recognised later, so the process itself is ready.
      const waiting = jobs.waitingForRoom;
      return {
        recogniser: { state: state === 'ready' ? 'ok' : 'degraded', detail },
        ...(waiting && { jobs: { state: 'degraded' as const, detail: waitingForRoom(waiting) } }),
      };
    },
    notes() {
      const { state, detail } = recogniser.status();
      return state === 'ready' || state === 'starting' ? [] : [`speech service: ${detail}`];
    },
    missing: () => media.missing(),
    async endSessionsOf(nodes) {
      const ended = await rows.endOfLost(nodes, clock.now());
      if (ended > 0) log.error({ sessions: ended }, 'live sessions of a lost node ended in error');
    },
    leaveEndedByOthers: () => sessions.leaveEndedByOthers(),
    load() {
      const { state, streams, capacity } = recogniser.status();
      const isReady = state === 'ready' || state === 'starting';
      return {
        used: streams + sessions.channelsPromised,
        capacity: isReady ? Math.min(capacity, config.maximumSessions) : 0,
      };
    },
    get openSessions() {
      return sessions.open;
    },
    async drain(deadlineMs) {
      closing ??= close(deadlineMs);
      await closing;
    },
    async [Symbol.asyncDispose]() {
      closing ??= close(0);
      await closing;
    },
  };
}

function waitingForRoom({ jobs, leastBytes }: { jobs: number; leastBytes: number }): string {
  return `${jobs} pre-recorded jobs wait for room on the data disk; the smallest needs ${Math.ceil(leastBytes / 1_048_576)} MiB above the mark (TRUNKLINE_DISK_LOW_WATER_BYTES)`;
}

/** The speech interface for the bridges of other nodes, which have shown the key of the nodes. */
function interfaceFor(routers: readonly Router[], log: Logger): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use('/v2', express.json({ limit: httpLimits.jsonBodyBytes, inflate: false }));
  for (const router of routers) app.use(router);
  app.use((_request, response) => void response.status(404).end());
  app.use(problemHandler((error) => log.error({ err: error }, 'a request of a node failed')));
  return app;
}

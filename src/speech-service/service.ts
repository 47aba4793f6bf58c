import { reasonOf } from '../lib/errors.ts';
import type { Part } from '../port/part.ts';
import { Admissions } from './api/admissions.ts';
import { jobCallbackRoutes } from './api/job-callback-routes.ts';
import { modelRoutes } from './api/model-routes.ts';
import { LiveSockets } from './live/sockets.ts';
import { startRetention } from './live/session-retention.ts';
import {
  openSpeechServiceParts,
  type SpeechServiceOptions,
  type SpeechServiceParts,
} from './service-parts.ts';
import { interfaceFor, speechRouters } from './service-routes.ts';

export type SpeechService = Part &
  AsyncDisposable & {
    readonly openSessions: number;
    /** The channels of live sessions, open or about to open, and their limit. */
    load(): { used: number; capacity: number };
    /** Stores the end of the unfinished live sessions of lost nodes. */
    endSessionsOf(nodes: readonly string[]): Promise<void>;
    /** Called after other nodes had given this node up. The sessions that they ended are over here too. */
    leaveEndedByOthers(): Promise<void>;
  };

/**
 * Starts the service. Resolves when it is ready; sessions that an earlier run left open can be resumed from then on.
 */
export async function startSpeechService(options: SpeechServiceOptions): Promise<SpeechService> {
  const { config, store, recogniser, others } = options;
  const parts = await openSpeechServiceParts(options);
  const { sessions, jobs, rows, media, clock, log } = parts;
  // The language threads load their data now, so that the first sentence of a session does not wait for it.
  options.language.warm?.().catch((error: unknown) => {
    log.warn({ reason: reasonOf(error) }, 'the language threads could not be started');
  });
  const admissions = new Admissions({ config, store, sessions, recogniser });
  const sockets = new LiveSockets({
    sessions,
    log,
    refuseTokenWith401: config.refuseTokenWith401,
    others,
  });
  const retention = startRetention({ ...parts, config, store, objects: options.objects });
  const routers = speechRouters(options, parts, admissions);
  others?.serve({ requests: interfaceFor(routers, log) });

  let closing: Promise<void> | undefined;
  const close = async (deadlineMs: number): Promise<void> => {
    admissions.drain();
    retention.stop();
    await Promise.all([sessions.drain(deadlineMs), jobs.drain(deadlineMs)]);
    await parts.extraModels[Symbol.asyncDispose]();
    parts.listener[Symbol.dispose]();
    await parts.files[Symbol.asyncDispose]();
    sockets.close();
    await parts.disk[Symbol.asyncDispose]();
    await parts.sender[Symbol.asyncDispose]();
  };

  return {
    name: 'speech-service',
    routers: [
      ...routers.map((router) => ({ access: 'speech' as const, router })),
      ...operatorRouters(parts),
    ],
    upgrades: [sockets],
    health() {
      const { state, detail } = recogniser.status();
      // The process is ready even without a model: calls are journalled and recognised later.
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
    notInstalled: () => parts.extraModels.missing(),
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

/** The routes that only operators use. */
function operatorRouters({ jobs, extraModels }: SpeechServiceParts): NonNullable<Part['routers']> {
  return [jobCallbackRoutes(jobs), modelRoutes(extraModels)].map((router) => ({
    access: 'operator',
    router,
  }));
}

function waitingForRoom({ jobs, leastBytes }: { jobs: number; leastBytes: number }): string {
  return `${jobs} pre-recorded jobs wait for room on the data disk; the smallest needs ${Math.ceil(leastBytes / 1_048_576)} MiB above the mark (TRUNKLINE_DISK_LOW_WATER_BYTES)`;
}

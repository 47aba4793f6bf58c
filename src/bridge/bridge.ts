import { join } from 'node:path';
import type { Transaction } from 'kysely';
import type { LanguageRunner } from '../language/runner.ts';
import type { NodeLink } from '../nodes/link.ts';
import type { Membership } from '../nodes/membership.ts';
import type { PublicUrl } from '../port/addresses.ts';
import { systemClock, wait, type Clock } from '../lib/clock.ts';
import { counted } from '../lib/counted.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { nodeIdOf } from '../lib/node-id.ts';
import { memoryShortage } from '../port/memory.ts';
import type { Part } from '../port/part.ts';
import { SpeechClient } from '../speech-client/client.ts';
import type { SpeechConfig } from '../speech-client/config.ts';
import type { SpeechNode } from '../speech-client/speech-nodes.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Bridge, ReadFacts } from './streams.ts';
import { Calls } from './call/calls.ts';
import { CallLinks } from './call-links.ts';
import { installationKey } from './installation-key.ts';
import { callsApi } from './api/calls-api.ts';
import type { BridgeConfig } from './config.ts';
import { Eraser } from './api/erasure.ts';
import { openJournal } from './journal/journal.ts';
import { LiveApi } from './api/live-api.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { LiveFeed } from './live-feed.ts';
import { testEventsApi } from './api/test-events.ts';
import { showLive } from './metrics.ts';
import { leaveTakenLegs, recoverCalls } from './call/recovery.ts';
import { LegStates } from './call/leg-states.ts';
import { handOverCalls } from './call/hand-over.ts';
import { takeOverCalls } from './call/take-over.ts';
import { openRelay, relayTo } from './relay/relay.ts';
import { LostRecordings } from './recordings/lost-recordings.ts';
import { Recordings } from './recordings/recordings.ts';
import { Tails } from './recordings/tails.ts';
import type { Objects } from '../objects/objects.ts';
import { Retention } from './api/retention.ts';
import { SearchBacklog } from './search/backlog.ts';
import { searchApi } from './search/search-api.ts';
import { lastStreamOf } from './api/last-streams.ts';
import { SecondPasses } from './second-pass/second-passes.ts';
import { sharedCalls } from './api/shared-calls.ts';
import { keepStatus } from './api/statuses.ts';
import { streamsApi } from './api/streams-api.ts';
import { StreamTokens } from './api/tokens.ts';
import { storable } from '../lib/storable.ts';

type BridgeOptions = {
  config: BridgeConfig;
  dataDir: string;
  store: Store;
  log: Logger;
  language: LanguageRunner;
  outbox: Pick<Outbox, 'wanting'> & {
    wake(): void;
    /** Removes a call's events and deliveries in the given transaction. */
    eraseCall(tx: Transaction<Database>, callId: string): Promise<void>;
  };
  speech: SpeechConfig;
  /** The nodes of the speech service, ours or a hosted one's; read again for every request. */
  speechNodes: () => readonly SpeechNode[];
  publicUrl: PublicUrl;
  /** True while nobody but this machine can reach us: recording is on then by default. */
  loopback: boolean;
  /** The other nodes of the database; without it nobody takes calls over. */
  nodes?: Membership;
  /** Where recordings go; without it they stay on the disk. */
  objects?: Objects | undefined;
  /** Our port for them; without it their streams and requests are not passed on. */
  link?: NodeLink | undefined;
  /** Names that POST /api/streams takes. */
  carriers: readonly string[];
  /** How the carriers' callbacks are read; without it nothing is learnt from them. */
  factsOf?: ReadFacts;
  clock?: Clock;
};

export type BridgePart = Bridge &
  Part &
  AsyncDisposable & {
    readonly calls: Calls;
    readonly feed: LiveFeed;
    readonly retention: Retention;
  };

/** Calls whoever carries them: takes streams, keeps the events and rows of every call, answers for them on the API. */
export async function startBridge(options: BridgeOptions): Promise<BridgePart> {
  const { config, store, language, outbox, dataDir, clock = systemClock } = options;
  const log = options.log.child({ part: 'bridge' });
  await using opened = new AsyncDisposableStack();
  const journal = opened.use(await openJournal({ dir: join(dataDir, 'journal'), log, clock }));
  const speech = opened.use(
    new SpeechClient({ config: options.speech, nodes: options.speechNodes, clock, log }),
  );
  const node = await nodeIdOf(dataDir);
  const recordings = new Recordings({
    store,
    journal,
    node,
    clock,
    log,
    objects: options.objects,
  });
  const feed = new LiveFeed(config.liveBufferEvents);
  const recording = config.recording === 'on' || (config.recording === 'auto' && options.loopback);
  const withRecording = config.redactEntities.length === 0;
  const links = new CallLinks({
    key: await installationKey(store, 'call-links'),
    publicUrl: options.publicUrl,
    generation: config.linkGeneration,
    lifeHours: config.linkLifeHours,
    withRecording,
  });
  const secondPasses = new SecondPasses({
    config,
    store,
    recordings,
    jobs: speech.jobs,
    model: options.speech.model,
    language,
    feed,
    clock,
    log,
    node,
    wakeOutbox: () => outbox.wake(),
  });
  opened.defer(() => secondPasses.stop());
  const { nodes, link } = options;
  const relay =
    nodes === undefined || link === undefined
      ? undefined
      : relayTo({ nodes, link, clock, log, openStream: (...args) => calls.openStream(...args) });
  const { objects } = options;
  const lostRecordings =
    nodes?.isFleet && objects !== undefined
      ? opened.use(
          new LostRecordings({
            objects,
            store,
            journal,
            node,
            goneMs: nodes.takeOverMs,
            clock,
            log,
          }),
        )
      : undefined;
  const calls: Calls = new Calls({
    config,
    store,
    journal,
    speech,
    language,
    feed,
    links,
    clock,
    log,
    recording,
    node,
    factsOf: options.factsOf ?? (() => ({})),
    objects,
    lostRecordings,
    takeOverMs: options.nodes?.isFleet ? options.nodes.takeOverMs : 0,
    ...(relay === undefined ? {} : { relay }),
    secondPasses,
    eraseAudio: (callId) => eraser.eraseAudio(callId),
    eraseSessions: (callId) => eraser.eraseSessionsOf(callId),
    wakeOutbox: () => outbox.wake(),
  });
  opened.defer(() => calls.leave());
  if (objects !== undefined && objects.tailS > 0)
    opened.use(
      new Tails({ calls, objects, store, journal, node, everyS: objects.tailS, clock, log }),
    );
  const tokens = new StreamTokens({
    store,
    lifeMs: config.tokenLifeMs,
    key: await installationKey(store, 'stream-tokens'),
  });
  const eraser: Eraser = new Eraser({
    store,
    calls,
    recordings,
    speech,
    secondPasses,
    feed,
    clock,
    log,
    outbox,
  });
  opened.defer(() => eraser.stop());
  const retention = new Retention({
    store,
    recordings,
    eraser,
    tokens,
    clock,
    log,
    days: config.retentionDays,
  });
  opened.defer(() => retention.stop());
  const live = opened.use(new LiveApi({ store, calls, feed, clock }));
  const { recovered, setAside } = await recoverCalls(calls, node, log);
  if (recovered > 0) log.info({ recovered }, 'unfinished calls go on');
  if (nodes?.isFleet) {
    await leaveTakenLegs(calls, log);
    const erased = opened.use(recordings.watchErased());
    // Before the first request: nobody may hear here what is to be heard nowhere.
    await erased.look();
    opened.use(new LegStates({ calls, store, clock, log }));
    nodes.attach({
      legs: () => calls.legCount,
      takeOver: async (lost) => {
        await takeOverCalls({ calls, lost, aheadMs: nodes.aheadMs, log });
        await secondPasses.takeOver(lost);
      },
      wasGivenUp: async () => {
        await calls.checkLeases();
        await erased.look();
      },
    });
  }
  secondPasses.start();
  showLive(() => ({ calls: calls.all.length, watchers: feed.watchers }));
  const operatorCalls = callsApi({
    store,
    calls,
    recordings,
    eraser,
    feed,
    secondPasses,
    stereoRoles: config.stereoRoles,
    isRedacted: config.redactEntities.length > 0,
  });
  const others =
    nodes === undefined || link === undefined
      ? undefined
      : opened.use(
          openRelay({
            link,
            nodes,
            calls,
            feed,
            store,
            recordings,
            api: [live.router, operatorCalls],
            clock,
            log,
          }),
        );
  const backlog = opened.use(new SearchBacklog({ store, clock, log }));
  const stack = opened.move();

  return {
    name: 'bridge',
    calls,
    feed,
    retention,
    routers: [
      {
        access: 'operator',
        router: streamsApi({ tokens, publicUrl: options.publicUrl, carriers: options.carriers }),
      },
      ...(others === undefined ? [] : [{ access: 'operator' as const, router: others.router }]),
      { access: 'operator', router: live.router },
      { access: 'operator', router: searchApi({ store, calls, backlog }) },
      { access: 'operator', router: testEventsApi({ store, outbox, feed, links, clock }) },
      { access: 'operator', router: operatorCalls },
      {
        access: 'public',
        router: sharedCalls({
          store,
          recordings,
          links,
          clock,
          withRecording,
          stereoRoles: config.stereoRoles,
        }),
      },
    ],
    // What a carrier says is made storable here, once, before any of it is compared, kept or sent on.
    openStream: (start, control) => calls.openStream(storable(start), control),
    claimToken: (token, carrier, carrierCallId) =>
      tokens.claim(token, carrier, storable(carrierCallId)),
    mintToken: (request) => tokens.mint(storable(request)),
    claimNonce: (scheme, nonce, untilMs) => tokens.claimNonce(scheme, nonce, untilMs),
    lastStreamAt: (carrier) => lastStreamOf(store.db, carrier),
    async carrierStatus(carrier, carrierCallId, status) {
      const told = storable({ carrier, carrierCallId, status });
      await keepStatus(store, clock, told);
      await calls.told(told);
    },
    health: () => {
      const shortage = memoryShortage(calls.legCount);
      return {
        journal: journal.health(),
        speech: speech.health(),
        ...(shortage === undefined ? {} : { memory: { state: 'down', detail: shortage } }),
      };
    },
    missing: () => (recording ? [] : ['recordings (TRUNKLINE_RECORDING=on)']),
    notes: () => [
      ...(config.secondPass === 'on' && !recording
        ? ['TRUNKLINE_SECOND_PASS is on and recording is off: no call can be read again']
        : []),
      ...(setAside > 0
        ? [
            `${setAside} calls could not be taken up after several starts; trunkline doctor names them`,
          ]
        : []),
    ],
    waitsFor: () => {
      const waiting = calls.all.filter((call) => call.state !== 'live').length;
      if (waiting === 0) return undefined;
      return `the last words of ${counted(waiting, 'call')}`;
    },
    leaving() {
      const other = nodes?.relieverAs('bridge');
      if (other !== undefined)
        secondPasses
          .handOver(other)
          .catch((error: unknown) =>
            log.warn({ reason: reasonOf(error) }, 'second passes could not be handed over'),
          );
      return Promise.resolve();
    },
    async drain(deadlineMs) {
      calls.stopAccepting();
      const isRelieved = nodes?.isRelievedAs('bridge') === true;
      await untilFinished(calls, clock, Math.min(deadlineMs, isRelieved ? lastWordsMs : Infinity));
      if (isRelieved)
        await handOverCalls({ calls, store, nodes, clock, log }).catch((error: unknown) =>
          log.warn(
            { err: error },
            'calls could not be handed over; the others wait for our silence',
          ),
        );
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Words of a call that is over come in a moment, or its speech service is away: then another node waits for it. */
const lastWordsMs = 7_200;

/** Calls whose phone call is over get time for their last words; live ones go on after the restart. */
async function untilFinished(calls: Calls, clock: Clock, deadlineMs: number): Promise<void> {
  const until = clock.monotonicMs() + deadlineMs;
  while (calls.all.some((call) => call.state !== 'live') && clock.monotonicMs() < until)
    await wait(clock, 50);
}

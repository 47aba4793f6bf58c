import { join } from 'node:path';
import type { Transaction } from 'kysely';
import type { Knowledge } from '../knowledge/knowledge.ts';
import type { LanguageRunner } from '../language/runner.ts';
import type { NodeLink } from '../nodes/link.ts';
import type { Membership } from '../nodes/membership.ts';
import type { PublicUrl } from '../port/addresses.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { nodeIdOf } from '../lib/node-id.ts';
import { SpeechClient } from '../speech-client/client.ts';
import type { SpeechConfig } from '../speech-client/config.ts';
import type { SpeechNode } from '../speech-client/speech-nodes.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ReadFacts } from './streams.ts';
import { Calls } from './call/calls.ts';
import { CallLinks } from './call-links.ts';
import { installationKey } from '../store/installation-key.ts';
import type { BridgeConfig } from './config.ts';
import type { PlaybookFiles } from '../assist/playbook-files.ts';
import type { Scorecards } from '../assist/scorecards.ts';
import type { ListeningPlaybooks } from './api/assist-api.ts';
import { Eraser } from './api/erasure.ts';
import { openJournal, type Journal } from './journal/journal.ts';
import { LiveApi } from './api/live-api.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { LiveFeed } from './live-feed.ts';
import { PanelDoor } from './panel/panel-door.ts';
import { PanelTokens } from './panel/panel-tokens.ts';
import { relayTo } from './relay/relay.ts';
import { LostRecordings } from './recordings/lost-recordings.ts';
import { Recordings } from './recordings/recordings.ts';
import { Tails } from './recordings/tails.ts';
import type { Objects } from '../objects/objects.ts';
import { Retention } from './api/call-retention.ts';
import { SecondPasses } from './second-pass/second-passes.ts';
import type { Meaning } from '../meaning/meaning.ts';
import { Dispositions } from './wrap-up/dispositions.ts';
import { chosenBefore, WrapUps } from './wrap-up/wrap-ups.ts';
import { StreamTokens } from './api/stream-tokens.ts';

export type BridgeOptions = {
  config: BridgeConfig;
  dataDir: string;
  store: Store;
  log: Logger;
  language: LanguageRunner;
  outbox: Pick<Outbox, 'wanting'> & {
    contacts?: Outbox['contacts'];
    wake(): void;
    /** Removes a call's events and deliveries in the given transaction. */
    eraseCall(tx: Transaction<Database>, callId: string): Promise<void>;
  };
  speech: SpeechConfig;
  /** The nodes of the speech service, our own or a hosted one. They are read again for every request. */
  speechNodes: () => readonly SpeechNode[];
  publicUrl: PublicUrl;
  /** True while only this machine can reach us. Recording is then on by default. */
  loopback: boolean;
  /** The other nodes that share the database. If absent, nobody takes over the calls of a lost node. */
  nodes?: Membership;
  /** The object store for recordings. If absent, recordings stay on the disk. */
  objects?: Objects | undefined;
  /** Connects this node with the other nodes. If absent, streams and requests for their calls are not relayed. */
  link?: NodeLink | undefined;
  /** Tells the meaning of sentences, where the model is installed. */
  meaning: Pick<Meaning, 'direction' | 'isThere'>;
  /** The playbooks that calls listen with. */
  playbooks: ListeningPlaybooks;
  /** The same as files that a person edits. */
  playbookFiles?: PlaybookFiles | undefined;
  /** The scorecards that ended calls are judged by. If absent, no call is judged. */
  scorecards?: Pick<Scorecards, 'current' | 'rulesOf' | 'problems'>;
  /** The teams of an agent, by the people of this installation. */
  teamsOf?: (agent: string) => readonly string[];
  /** The articles for agents. If absent, there are none. */
  knowledge?: Knowledge | undefined;
  /** False if calls show no articles by themselves. */
  cards?: boolean;
  /** The carrier names that `POST /api/streams` accepts. */
  carriers: readonly string[];
  /** Extracts facts about a call from the carrier's callbacks. If absent, callbacks are only stored. */
  factsOf?: ReadFacts;
  clock?: Clock;
};

/** The parts of the bridge. Each part is made once, here. */
export type BridgeParts = {
  node: string;
  journal: Journal;
  speech: SpeechClient;
  recordings: Recordings;
  feed: LiveFeed;
  links: CallLinks;
  secondPasses: SecondPasses;
  wrapUps: WrapUps;
  calls: Calls;
  tokens: StreamTokens;
  eraser: Eraser;
  retention: Retention;
  live: LiveApi;
  panelTokens: PanelTokens;
  panelDoor: PanelDoor;
  /** True if calls are recorded. */
  recording: boolean;
  /** True if a link to one call also opens its recording. */
  withRecording: boolean;
  clock: Clock;
  log: Logger;
};

function dispositionsOf({ config, store, meaning }: BridgeOptions, clock: Clock): Dispositions {
  return new Dispositions({
    list: config.dispositions,
    chosenBefore: (name, limit) => chosenBefore(store.db, name, limit),
    meaning,
    clock,
  });
}

/** Creates the parts in order of their dependencies. `opened` closes them in reverse order. */
export async function openParts(
  opened: AsyncDisposableStack,
  options: BridgeOptions,
): Promise<BridgeParts> {
  const { config, store, language, outbox, dataDir, clock = systemClock, objects } = options;
  const log = options.log.child({ part: 'bridge' });
  const journal = opened.use(await openJournal({ dir: join(dataDir, 'journal'), log, clock }));
  const speech = opened.use(
    new SpeechClient({ config: options.speech, nodes: options.speechNodes, clock, log }),
  );
  const node = await nodeIdOf(dataDir);
  const recordings = new Recordings({ store, journal, node, clock, log, objects });
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
  const wakeOutbox = (): void => outbox.wake();
  const secondPasses = new SecondPasses({
    config,
    store,
    recordings,
    jobs: speech.jobs,
    model: options.speech.model,
    language,
    feed,
    links,
    clock,
    log,
    node,
    wakeOutbox,
  });
  opened.defer(() => secondPasses.stop());
  const dispositions = dispositionsOf(options, clock);
  const wrapUps = new WrapUps({ config, store, language, feed, clock, log, wakeOutbox, dispositions }); // prettier-ignore
  opened.defer(() => wrapUps.stop());
  const parts = {
    node,
    journal,
    speech,
    recordings,
    feed,
    links,
    secondPasses,
    wrapUps,
    recording,
    clock,
    log,
  };
  const { calls, eraser } = openCalls(opened, options, parts);
  const tokens = new StreamTokens({
    store,
    lifeMs: config.tokenLifeMs,
    key: await installationKey(store, 'stream-tokens'),
  });
  opened.defer(() => eraser.stop());
  const days = config.retentionDays;
  const retention = new Retention({ store, recordings, eraser, tokens, clock, log, days });
  opened.defer(() => retention.stop());
  const live = opened.use(new LiveApi({ store, calls, feed, clock }));
  const panelTokens = new PanelTokens({ store, clock, secret: config.panelSecret });
  const { teamsOf } = options;
  const panelDoor = opened.use(new PanelDoor({ store, tokens: panelTokens, teamsOf, clock }));
  return {
    ...parts,
    calls,
    tokens,
    eraser,
    retention,
    live,
    panelTokens,
    panelDoor,
    withRecording,
  };
}

/** Creates the calls and the eraser. One eraser serves both requests and calls whose consent was withdrawn. */
function openCalls(
  opened: AsyncDisposableStack,
  options: BridgeOptions,
  parts: Omit<
    BridgeParts,
    | 'calls'
    | 'tokens'
    | 'eraser'
    | 'retention'
    | 'live'
    | 'withRecording'
    | 'panelTokens'
    | 'panelDoor'
  >,
): { calls: Calls; eraser: Eraser } {
  const { config, store, outbox, language, nodes, link, objects } = options;
  const { node, journal, clock, log } = parts;
  const relay =
    nodes === undefined || link === undefined
      ? undefined
      : relayTo({ nodes, link, clock, log, openStream: (...args) => calls.openStream(...args) });
  const goneMs = nodes?.isFleet ? nodes.takeOverMs : 0;
  const lostRecordings =
    nodes?.isFleet && objects !== undefined
      ? opened.use(new LostRecordings({ objects, store, journal, node, goneMs, clock, log }))
      : undefined;
  const calls: Calls = new Calls({
    ...parts,
    config,
    store,
    language,
    playbooks: options.playbooks,
    knowledge: options.cards === false ? undefined : options.knowledge,
    contacts: outbox.contacts ?? { find: () => Promise.resolve(undefined) },
    factsOf: options.factsOf ?? (() => ({})),
    objects,
    lostRecordings,
    takeOverMs: goneMs,
    relay,
    eraseAudio: (callId) => eraser.eraseAudio(callId),
    coverAudio: (callId) => parts.recordings.cover(callId),
    eraseSessions: (callId) => eraser.eraseSessionsOf(callId),
    wakeOutbox: () => outbox.wake(),
  });
  opened.defer(() => calls.leave());
  if (objects !== undefined && objects.tailS > 0)
    opened.use(
      new Tails({ calls, objects, store, journal, node, everyS: objects.tailS, clock, log }),
    );
  const eraser: Eraser = new Eraser({ ...parts, store, calls, outbox });
  return { calls, eraser };
}

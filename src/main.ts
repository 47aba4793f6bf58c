import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { PlaybookFiles } from './assist/playbook-files.ts';
import { Playbooks } from './assist/playbooks.ts';
import { Scorecards } from './assist/scorecards.ts';
import { openArticles } from './bridge/shown-articles.ts';
import { startBridge, type BridgePart } from './bridge/bridge.ts';
import { carrierNames, carriers, factsOf, firstCarrier } from './carriers/all.ts';
import { startCarriers } from './carriers/carriers.ts';
import { loadConfig, settingsByHand, type Config } from './config.ts';
import { featuresOf } from './console/features.ts';
import { startConsole } from './console/console.ts';
import { openDocs } from './port/docs.ts';
import { healthOf, type HttpServer } from './port/http.ts';
import { tryModel } from './language/llm/model-trial.ts';
import { startLanguageRunner } from './language/runner.ts';
import { isLoopback } from './port/addresses.ts';
import { stayAwake, systemClock, wait } from './lib/clock.ts';
import { watchProcess } from './lib/metrics.ts';
import { reasonOf, TrunklineError } from './lib/errors.ts';
import { every } from './lib/every.ts';
import { createLog, type Logger } from './lib/log.ts';
import type { Part } from './port/part.ts';
import { version } from './lib/version.ts';
import { nodeIdOf } from './lib/node-id.ts';
import { startNodes, type NodesPart } from './nodes/nodes.ts';
import { Feelings } from './meaning/feelings.ts';
import { SentenceMeaning } from './meaning/meaning.ts';
import { Objects } from './objects/objects.ts';
import { openPort } from './people/people-part.ts';
import { startOutbox } from './outbox/outbox.ts';
import type { SealingOptions } from './outbox/sealing.ts';
import type { SpeechTarget } from './speech-client/service-api.ts';
import { speechUrls } from './speech-client/config.ts';
import type { SpeechNode } from './speech-client/speech-nodes.ts';
import { startRecognisers } from './hearing/pool/recognisers.ts';
import type { Recogniser } from './hearing/recogniser.ts';
import type { OtherSpeechNodes } from './speech-service/live/sockets.ts';
import { startSpeechService } from './speech-service/service.ts';
import { fullDiskError, openStore, type Store } from './store/store.ts';

/**
 * At a terminal, running streams are awaited for this long at most, whatever `drainS` says, because Ctrl-C is no
 * planned upgrade. Calls that are left continue after the next start.
 */
const mostDrainAtTerminalMs = 18_000;
/**
 * The longest time from the end of the drain to the end of the process. Closing 500 legs takes some seconds, and so
 * does closing each part whose database does not answer. With the default drain time, the sum stays below the 30 s
 * after which a supervisor kills the process.
 */
const putAwayMs = 9_000;
const goesOn = 'unfinished calls stay in the store and go on at the next start';
const endsAtOnce = 'a second signal (Ctrl-C) ends at once';
/** A process that npm started checks at this interval whether npm is still running. */
const parentLookMs = 500;

type OpenProcess = {
  config: Config;
  /** The settings that somebody chose, for the page. */
  settings: ReturnType<typeof settingsByHand>;
  log: Logger;
  store: Store;
  http: HttpServer;
  teamsOf: (agent: string) => readonly string[];
  parts: Part[];
  /** Mounts a part on the one port. All parts are closed in reverse order when the process ends. */
  mount: <T extends Part & AsyncDisposable>(part: T) => T;
  own: <T extends AsyncDisposable>(resource: T) => T;
};

/** Opens the parts in order, says `ready`, waits for a stop signal, and closes the parts in reverse order. */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const loaded = loadConfig(env);
  const { config } = loaded;
  const log = createLog({ level: config.logLevel });
  // Keeps the process running until the last part is closed. If the database is gone, no open socket would do so.
  using _awake = stayAwake();
  process.umask(0o077);
  watchProcess();
  const stop = stopSignal(log);
  // A terminal that closes sends the same signal. At a terminal, SIGHUP therefore ends the process, as it does with
  // other programs.
  if (!process.stdout.isTTY) checkOnReload(env, log);
  // The stack is closed by `closeAll` when the process stops, and at once if the start fails.
  await using stack = new AsyncDisposableStack();
  const store = stack.use(
    await openStore({
      ...config.store,
      log,
      onFailure: (error) => endNow(log, 'the store failed', error),
    }),
  );
  const internalKey = randomBytes(32).toString('base64url');
  const { http, people, teamsOf } = await openPort(stack, {
    ...{ config: config.people, store, clock: systemClock, log },
    node: await nodeIdOf(config.store.dataDir),
    port: { config: config.http, insecure: config.insecure, internalKey, isStarting: true },
  });
  const parts: Part[] = [];
  const opened: OpenProcess = {
    config,
    settings: settingsByHand(loaded),
    log,
    store,
    ...{ http, teamsOf },
    parts,
    own: (resource) => stack.use(resource),
    mount(part) {
      parts.push(part);
      http.mount(part);
      return stack.use(part);
    },
  };
  http.mount({ name: 'store', health: () => store.health() });
  parts.push(people);
  http.mount(people);
  await openParts(opened, internalKey);
  http.started();
  await sayReady(opened);
  const signal = await Promise.race([stop, npmGone(env)]);
  const limitMs = config.drainS * 1_000;
  const drainMs = signal === 'SIGINT' ? Math.min(limitMs, mostDrainAtTerminalMs) : limitMs;
  const waitsFor = parts.flatMap((part) => part.waitsFor?.(drainMs) ?? []);
  if (waitsFor.length === 0) log.info({ signal }, `stopping; ${goesOn}`);
  else {
    const waits = `waits up to ${drainMs / 1_000} s for ${waitsFor.join(' and ')}`;
    log.info({ signal, waitsFor }, `stopping: ${waits}; ${endsAtOnce}; ${goesOn}`);
  }
  http.stopAccepting();
  const overdue = endWhenOverdue(log, drainMs + putAwayMs);
  // The parts drain in the order in which audio passes through them. Carriers are first, so that the bridge gets their
  // last bytes. All parts share one deadline.
  const untilMs = systemClock.monotonicMs() + drainMs;
  await Promise.all(parts.map(async (part) => part.leaving?.()));
  for (const part of parts.toReversed())
    await withinDrain(part, log, Math.max(0, untilMs - systemClock.monotonicMs()));
  await stack.disposeAsync();
  await store.threadsEnded();
  overdue();
  log.info('stopped: every part is closed');
}

/**
 * Ends the process if it has not ended by itself, because a commit that keeps failing or a lost database must not keep
 * it running until a supervisor kills it. Anything that was not stored is in the journals, and the next start finds it.
 * `process.exit` would wait for SQLite's thread, which may wait for its lock. The process therefore kills itself, as a
 * supervisor would a moment later. The returned function cancels this.
 */
function endWhenOverdue(log: Logger, stopMs: number): () => void {
  return systemClock.after(stopMs, () => {
    log.error(
      'not everything could be stored before the deadline; the process ends, and the next start goes on from the journals',
    );
    process.kill(process.pid, 'SIGKILL');
  });
}

/**
 * Resolves when npm, which started this process, has ended. npm ends at SIGTERM without passing the signal on, and the
 * process would continue without a supervisor. The npm script begins with `exec`, so npm itself is the parent.
 */
function npmGone(env: Readonly<Record<string, string | undefined>>): Promise<NodeJS.Signals> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    if (env['npm_lifecycle_event'] === undefined) return;
    every(systemClock, parentLookMs, () => {
      if (process.ppid === parent) return;
      resolve('SIGTERM');
      return 'over';
    });
  });
}

async function openParts(opened: OpenProcess, internalKey: string): Promise<void> {
  const { config, log, store, http, mount, own } = opened;
  const { publicUrl } = http;
  const roles = new Set(config.roles);
  const carrierRoutes = new URL('./carriers/webhook-routes.ts', import.meta.url);
  mount(openDocs({ version, carrierRoutes, publicUrl: () => publicUrl() }));
  const nodes = mount(
    await startNodes({
      store,
      clock: systemClock,
      log,
      node: await nodeIdOf(config.store.dataDir),
      config: config.nodes,
      roles: config.roles,
      capacity: config.bridge.maxLegs,
    }),
  );
  http.reckon(() => nodes.link?.connections ?? 0);
  const objects = await objectStoreOf(opened);
  const feelings = own(new Feelings(config.speechService.recogniser, systemClock, log));
  const language = own(
    startLanguageRunner({ config: config.language, onUnusedAnswer: answerLog(log), feelings }),
  );
  const shared = { nodes, objects, language };
  const recogniser = roles.has('speech') ? await openSpeech(opened, shared) : undefined;
  if (!roles.has('bridge')) return;
  const bridge = await openBridge(opened, shared, internalKey);
  http.acceptTokens(bridge.tokenDoor);
  if (!roles.has('console')) return;
  mount(
    await startConsole({
      store,
      bridge,
      players: [firstCarrier.player, ...carrierNames.map((name) => carriers[name].player)],
      http,
      log,
      panelOrigins: config.bridge.panelOrigins,
      installation: {
        roles: config.roles,
        insecure: config.insecure,
        features: featuresOf(config, recordingOf(config).kept),
        settings: opened.settings,
        tryLanguageModel: () => tryModel(config.language),
        health: () => healthOf([{ name: 'store', health: () => store.health() }, ...opened.parts]),
        recogniser: recogniser === undefined ? undefined : () => recogniser.status(),
      },
    }),
  );
}

/** Objects that several parts need when they are opened. */
type Shared = {
  nodes: NodesPart;
  objects: Objects | undefined;
  language: ReturnType<typeof startLanguageRunner>;
};

/** Opens the embedded speech service and its recogniser. */
async function openSpeech(
  { config, log, store, http, mount, own }: OpenProcess,
  { nodes, objects, language }: Shared,
): Promise<Recogniser> {
  const { recogniser: recogniserConfig, jobs } = config.speechService;
  const { live: recogniser, recordings: jobsRecogniser } = own(
    await startRecognisers({ config: recogniserConfig, log, secondReader: jobs.model }),
  );
  const speech = mount(
    await startSpeechService({
      config: config.speechService,
      dataDir: config.store.dataDir,
      store,
      log,
      recogniser,
      jobsRecogniser,
      onModel: () => jobsRecogniser.renew(),
      language,
      publicUrl: http.publicUrl,
      recording: recordingOf(config),
      objects,
      isRelieved: () => nodes.membership.isRelievedAs('speech'),
      others: otherSpeechNodes(nodes),
    }),
  );
  nodes.membership.attach({
    legs: () => 0,
    speech: () => speech.load(),
    // A node that stops on purpose keeps its sessions for its next start, until it counts as lost.
    takeOver: (lost) =>
      speech.endSessionsOf(lost.filter(({ hasLeft }) => !hasLeft).map(({ node }) => node)),
    wasGivenUp: () => speech.leaveEndedByOthers(),
  });
  return recogniser;
}

/** Opens the outbox, the bridge, and the carriers that bring calls to the bridge. */
async function openBridge(
  { config, log, store, http, teamsOf, mount, own }: OpenProcess,
  { nodes, objects, language }: Shared,
  internalKey: string,
): Promise<BridgePart> {
  const { publicUrl } = http;
  const outbox = mount(
    await startOutbox({ config: config.outbox, store, log, sealing: sealingOf(config) }),
  );
  const meaning = own(new SentenceMeaning(config.speechService.recogniser, systemClock, log));
  const shared = { meaning, clock: systemClock, log };
  const { dataDir } = config.store;
  const scorecards = own(new Scorecards({ config: config.assist, dataDir, ...shared }));
  const rules = { folder: config.assist.folder ?? join(dataDir, 'assist'), starter: config.assist.starter === 'on' }; // prettier-ignore
  const playbooks = own(await Playbooks.open({ ...rules, ...shared }));
  const knowledge = own(openArticles(config.knowledge, dataDir, { store, ...shared }));
  const bridge = mount(
    await startBridge({
      config: config.bridge,
      dataDir,
      store,
      log,
      language,
      ...{ playbooks, playbookFiles: new PlaybookFiles(rules) },
      ...{ knowledge, cards: config.knowledge.cards === 'on', meaning, scorecards },
      outbox,
      publicUrl,
      speech: config.speech,
      speechNodes: speechNodesOf(config, http, internalKey, nodes),
      loopback: isLoopback(config.http.host),
      objects,
      nodes: nodes.membership,
      link: nodes.link,
      carriers: carrierNames,
      ...{ teamsOf, factsOf },
    }),
  );
  mount(
    await startCarriers({
      config: config.carriers,
      bridge,
      log,
      publicUrl: () => publicUrl(),
      insecure: config.insecure,
      hasRoom: () => http.hasRoom(),
      isProxy: http.isProxy,
      secrets: http.secrets,
    }),
  );
  return bridge;
}

/** The secrets that all nodes of a database share, and a file of this node where there is none. */
function sealingOf({ http, nodes, store }: Config): SealingOptions {
  return {
    secrets: [...(nodes.key === undefined ? [] : [nodes.key]), ...http.apiKeys],
    keyFile: join(store.dataDir, 'endpoint-key'),
  };
}

const answerLogEveryMs = 10_000;

/** Logs an answer of the language model that could not be used, at most once in ten seconds, with how many there were. */
function answerLog(log: Logger): (reason: string) => void {
  let loggedMs = -Infinity;
  let answers = 0;
  return (reason) => {
    answers += 1;
    const nowMs = systemClock.monotonicMs();
    if (nowMs - loggedMs < answerLogEveryMs) return;
    const mend = 'npx trunkline doctor tries the model';
    log.warn({ reason, answers, mend }, 'the answer of the language model could not be used');
    loggedMs = nowMs;
    answers = 0;
  };
}

/** Opens the configured object store. If none is set, audio stays on the disk. */
async function objectStoreOf({
  config,
  store,
  log,
  mount,
}: OpenProcess): Promise<Objects | undefined> {
  const { url } = config.objects;
  if (url === undefined) return undefined;
  const node = await nodeIdOf(config.store.dataDir);
  const bucket = { ...config.objects, url };
  return mount(new Objects({ config: bucket, store, node, clock: systemClock, log }));
}

/** Connects the speech services of the nodes with one another. Undefined if this node has no port for other nodes. */
function otherSpeechNodes({ link, membership }: NodesPart): OtherSpeechNodes | undefined {
  if (link === undefined) return undefined;
  return {
    connect: async (node, query, headers) => {
      const address = (await membership.peers()).get(node);
      return address === undefined
        ? undefined
        : link.connect(address, `/node/sessions?${query}`, headers);
    },
    forward: async (node, request, response, withinMs) => {
      const address = (await membership.peers()).get(node);
      return address !== undefined && (await link.forward(address, request, response, withinMs));
    },
    serve: ({ sockets: take, requests }) =>
      link.serve({
        speech: requests,
        // `/node/sessions` receives clients that another node forwards; `/v2/live` receives bridges that connect
        // directly.
        sockets: take === undefined ? {} : { '/node/sessions': take, '/v2/live': take },
      }),
  };
}

/**
 * Decides whether and how long the audio of calls is kept. The bridge and the speech service follow the same setting.
 * `auto` keeps audio only on loopback. A service that runs without a bridge keeps audio unless the setting is off.
 */
function recordingOf({ bridge, roles, http }: Config): { kept: boolean; days: number } {
  const auto = !roles.includes('bridge') || isLoopback(http.host);
  return {
    kept: bridge.recording === 'on' || (bridge.recording === 'auto' && auto),
    days: bridge.retentionDays.recordings,
  };
}

/**
 * Lists the speech services that the bridge may use. Configured ones come alone. Otherwise the list holds our own
 * service, by its real address and the key made at this start, and the services of the other nodes of the database, by
 * the ports between nodes.
 */
function speechNodesOf(
  { speech, roles }: Config,
  http: HttpServer,
  internalKey: string,
  { membership, link }: NodesPart,
): () => readonly SpeechNode[] {
  const { url, key, keyHeader, hosts } = speech;
  if (url !== undefined) {
    const listed = speechUrls(url).map((address) => ({
      name: nameOf(address),
      target: { url: address, key, keyHeader, hosts },
      isOfFleet: false,
    }));
    return () => listed;
  }
  const own: SpeechNode[] = roles.includes('speech')
    ? [
        {
          name: membership.node,
          target: { url: http.ownUrl, key: internalKey, keyHeader: 'x-service-key', own: true },
          isOfFleet: true,
          isHere: true,
        },
      ]
    : [];
  if (link === undefined) return () => own;
  const { ca, authorization } = link;
  const targets = new Map<string, SpeechTarget>();
  const targetAt = (address: string): SpeechTarget => {
    const known = targets.get(address);
    if (known !== undefined) return known;
    const there = { url: address, key: authorization, keyHeader: 'authorization', own: true };
    const target = { ...there, ca, keyOnSockets: true };
    targets.set(address, target);
    return target;
  };
  return () => [
    ...own,
    ...membership.speechNodes.flatMap((row) =>
      row.address === null || row.node === membership.node
        ? []
        : [
            {
              name: row.node,
              target: targetAt(row.address),
              isOfFleet: true,
              isDraining: row.draining === 1,
              load: { used: row.speech_used, capacity: row.speech_capacity, at: row.seen_at },
            },
          ],
    ),
  ];
}

/** Returns the part of an address that is stored. The rest may be secret. */
function nameOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** Reports that the process is ready: as a few lines on a terminal, or as one record for a machine. */
async function sayReady({ config, log, http, parts }: OpenProcess): Promise<void> {
  const base = http.publicUrl();
  const notes = [...http.notes(), ...parts.flatMap((part) => part.notes?.() ?? [])];
  const missing = [
    ...parts.flatMap((part) => part.missing?.() ?? []),
    ...(config.http.publicUrl === undefined ? ['a public address (TRUNKLINE_PUBLIC_URL)'] : []),
  ];
  const models = await Promise.all(parts.map(async (part) => (await part.notInstalled?.()) ?? []));
  const notInstalled = models.flat();
  if (config.insecure)
    notes.unshift('INSECURE: TRUNKLINE_INSECURE=1 lets anyone stream calls and use the API');
  const addresses: Record<string, string> = {
    ...(config.roles.includes('console') ? { console: `${base}/` } : {}),
    ...(config.roles.includes('bridge')
      ? { carriers: `${base.replace(/^http/, 'ws')}/carriers` }
      : {}),
    ...speechAddress(config, base),
    docs: `${base}/docs`,
  };
  const data =
    config.store.databaseUrl === undefined
      ? config.store.dataDir
      : `Postgres, journals in ${config.store.dataDir}`;
  if (!process.stdout.isTTY) {
    log.info(
      { roles: config.roles, addresses, data, missing, notInstalled, notes },
      `ready at ${http.ownUrl}`,
    );
    return;
  }
  const lines = Object.entries(addresses).map(
    ([name, address]) => `  ${name.padEnd(9)} ${address}`,
  );
  const told = notes.map((note) => `  ! ${note}`);
  console.log(
    [
      '',
      `Trunkline is ready at ${http.ownUrl}`,
      ...lines,
      `  ${'data'.padEnd(9)} ${data}`,
      ...(missing.length === 0 ? [] : [`  ${'not set'.padEnd(9)} ${missing.join(', ')}`]),
      ...(notInstalled.length === 0
        ? []
        : [
            `  ${'optional'.padEnd(9)} not installed; "npx trunkline models pull NAME" or the page installs one:`,
            ...notInstalled.map((model) => `  ${''.padEnd(9)} - ${model}`),
          ]),
      ...told,
      '',
    ].join('\n'),
  );
}

/**
 * Names the service that recognises the calls. A service elsewhere is named only by its origin, because the rest of its
 * address may be secret.
 */
function speechAddress({ roles, speech }: Config, base: string): Record<string, string> {
  if (roles.includes('bridge') && speech.url !== undefined)
    return {
      speech: speechUrls(speech.url)
        .map((url) => new URL(url).origin)
        .join(', '),
    };
  return roles.includes('speech') ? { speech: `${base}/v2/live` } : {};
}

/** Drains a part, and waits a second longer than its deadline. A part that fails does not hold up the others. */
async function withinDrain(part: Part, log: Logger, leftMs: number): Promise<void> {
  if (!part.drain) return;
  const stopWaiting = new AbortController();
  const late = wait(systemClock, leftMs + 1_000, stopWaiting.signal).then(() => 'late');
  const drained = part.drain(leftMs).then(
    () => 'drained',
    (error: unknown) => {
      log.error({ err: error, part: part.name }, 'part failed while it drained');
      return 'failed';
    },
  );
  const outcome = await Promise.race([drained, late]);
  stopWaiting.abort();
  if (outcome === 'late') log.warn({ part: part.name }, 'part did not drain in time');
}

/** Resolves at the first stop signal, which begins the drain. A second signal ends the process at once. */
function stopSignal(log: Logger): Promise<NodeJS.Signals> {
  process.on('uncaughtException', (error) => endNow(log, 'unexpected error', error));
  process.on('unhandledRejection', (error) => endNow(log, 'unhandled rejection', error));
  return new Promise((resolve) => {
    let first = true;
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        if (!first) process.exit(1);
        first = false;
        resolve(signal);
      });
  });
}

/** On SIGHUP, logs whether the next start would accept the settings. Those in use do not change until then. */
function checkOnReload(env: Readonly<Record<string, string | undefined>>, log: Logger): void {
  process.on('SIGHUP', () => {
    try {
      loadConfig(env);
      log.info('the settings can be read; changes take effect at the next start');
    } catch (error) {
      log.error({ reason: reasonOf(error) }, 'the settings have errors; the ones in use stay');
    }
  });
}

/**
 * Ends the process after an unexpected error, because its state is unknown. A restart loses nothing that was accepted.
 */
function endNow(log: Logger, what: string, error: unknown): void {
  log.fatal(
    { err: error },
    `${what}; the process ends and goes on from its store when it is started again`,
  );
  process.exitCode = 70;
  setTimeout(() => process.exit(70), 100);
}

if (import.meta.main) {
  try {
    await main(process.env);
    process.exit(0);
  } catch (thrown) {
    const error = fullDiskError(thrown) ?? thrown;
    const expected = error instanceof TrunklineError;
    console.error(expected ? `${error.code}: ${reasonOf(error)}` : error);
    process.exit(expected && error.code === 'CONFIG_INVALID' ? 78 : 1);
  }
}

import { randomBytes } from 'node:crypto';
import { startBridge, type BridgePart } from './bridge/bridge.ts';
import { carrierNames, carriers, factsOf, firstCarrier } from './carriers/all.ts';
import { startCarriers } from './carriers/carriers.ts';
import { loadConfig, type Config } from './config.ts';
import { startConsole } from './console/console.ts';
import { openDocs } from './port/docs.ts';
import { healthOf, listen, type HttpServer } from './port/http.ts';
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
import { Objects } from './objects/objects.ts';
import { startOutbox } from './outbox/outbox.ts';
import type { SpeechTarget } from './speech-client/service-api.ts';
import { speechUrls } from './speech-client/config.ts';
import type { SpeechNode } from './speech-client/speech-nodes.ts';
import { secondReaderFolder } from './hearing/models/second-reader.ts';
import { backgroundRecogniser } from './hearing/pool/background.ts';
import { startRecogniser } from './hearing/pool/pool.ts';
import type { Recogniser } from './hearing/recogniser.ts';
import type { OtherSpeechNodes } from './speech-service/live/sockets.ts';
import { startSpeechService } from './speech-service/service.ts';
import { openStore, type Store } from './store/store.ts';

/**
 * A person at a terminal waits no longer for streams that go on, whatever `drainS` says: Ctrl-C is no upgrade. What is
 * left goes on after the next start.
 */
const mostDrainAtTerminalMs = 18_000;
/**
 * From the end of the drain to the end of the process, whatever still waits. Five hundred legs take some seconds to be put
 * away, as do the parts, one after the other, whose database does not answer; and with the drain's default a supervisor
 * kills a process 30 s after the signal.
 */
const putAwayMs = 9_000;
const goesOn = 'unfinished calls stay in the store and go on at the next start';
const endsAtOnce = 'a second signal (Ctrl-C) ends at once';
/** A process that npm started looks this often whether npm is still there. */
const parentLookMs = 500;

type OpenProcess = {
  config: Config;
  log: Logger;
  store: Store;
  http: HttpServer;
  parts: Part[];
  /** Mounts a part on the one port and closes it, in reverse order, when the process ends. */
  mount: <T extends Part & AsyncDisposable>(part: T) => T;
  own: <T extends AsyncDisposable>(resource: T) => T;
};

/** Opens the parts in order, says `ready`, waits for a stop signal, closes them in reverse. */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { config } = loadConfig(env);
  const log = createLog({ level: config.logLevel });
  // Until the last part is closed: a database that is gone leaves no socket that would keep the process.
  using _awake = stayAwake();
  process.umask(0o077);
  watchProcess();
  const stop = stopSignal(log);
  // A terminal that closes sends the same signal: there it ends the process, as everywhere.
  if (!process.stdout.isTTY) checkOnReload(env, log);
  // Closed at the end by `closeAll` when the process stops, and at once when its start fails.
  await using stack = new AsyncDisposableStack();
  const store = stack.use(
    await openStore({
      ...config.store,
      log,
      onFailure: (error) => endNow(log, 'the store failed', error),
    }),
  );
  const internalKey = randomBytes(32).toString('base64url');
  const http = stack.use(
    await listen({
      config: config.http,
      insecure: config.insecure,
      internalKey,
      log,
      isStarting: true,
    }),
  );
  const parts: Part[] = [];
  const opened: OpenProcess = {
    config,
    log,
    store,
    http,
    parts,
    own: (resource) => stack.use(resource),
    mount(part) {
      parts.push(part);
      http.mount(part);
      return stack.use(part);
    },
  };
  http.mount({ name: 'store', health: () => store.health() });
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
  // The parts drain in the order of the audio: carriers first, so that the bridge sees their last bytes. All of them
  // share one deadline.
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
 * Ends the process when it has not ended by itself: a commit that fails again and again, or a database that is gone,
 * must not keep it until a supervisor kills it. What was not stored is in the journals, and the next start finds it.
 * `process.exit` would wait for the thread of SQLite, which waits for its lock: the system ends all of it at once, as a
 * supervisor would a moment later. The answer cancels.
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
 * Resolves when npm, which started this process, is gone: npm ends at SIGTERM without passing it on, and what it
 * started would go on without a supervisor. The script begins with `exec`, so that npm itself is the parent.
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
  const language = own(
    startLanguageRunner({ config: config.language, onUnusedAnswer: answerLog(log) }),
  );
  const shared = { nodes, objects, language };
  const recogniser = roles.has('speech') ? await openSpeech(opened, shared) : undefined;
  if (!roles.has('bridge')) return;
  const bridge = await openBridge(opened, shared, internalKey);
  if (!roles.has('console')) return;
  mount(
    await startConsole({
      store,
      bridge,
      players: [firstCarrier.player, ...carrierNames.map((name) => carriers[name].player)],
      http,
      log,
      installation: {
        roles: config.roles,
        insecure: config.insecure,
        tryLanguageModel: () => tryModel(config.language),
        health: () => healthOf([{ name: 'store', health: () => store.health() }, ...opened.parts]),
        recogniser: recogniser === undefined ? undefined : () => recogniser.status(),
      },
    }),
  );
}

/** The things with which several parts are opened. */
type Shared = {
  nodes: NodesPart;
  objects: Objects | undefined;
  language: ReturnType<typeof startLanguageRunner>;
};

/** The embedded speech service, and the recogniser that it hears with. */
async function openSpeech(
  { config, log, store, http, mount, own }: OpenProcess,
  { nodes, objects, language }: Shared,
): Promise<Recogniser> {
  const { recogniser: recogniserConfig } = config.speechService;
  const recogniser = own(await startRecogniser({ config: recogniserConfig, log }));
  const jobsRecogniser = own(
    backgroundRecogniser({
      start: async () =>
        startRecogniser({
          config: recogniserConfig,
          log,
          inBackground: true,
          secondReader: await secondReaderFolder(config.speechService, log),
        }),
      live: recogniser,
      clock: systemClock,
      log,
    }),
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
    // A node that stops keeps its sessions for its next start, until it counts as lost.
    takeOver: (lost) =>
      speech.endSessionsOf(lost.filter(({ hasLeft }) => !hasLeft).map(({ node }) => node)),
    wasGivenUp: () => speech.leaveEndedByOthers(),
  });
  return recogniser;
}

/** The outbox, the bridge and the carriers that bring it calls. */
async function openBridge(
  { config, log, store, http, mount }: OpenProcess,
  { nodes, objects, language }: Shared,
  internalKey: string,
): Promise<BridgePart> {
  const { publicUrl } = http;
  const outbox = mount(await startOutbox({ config: config.outbox, store, log }));
  const bridge = mount(
    await startBridge({
      config: config.bridge,
      dataDir: config.store.dataDir,
      store,
      log,
      language,
      outbox,
      publicUrl,
      speech: config.speech,
      speechNodes: speechNodesOf(config, http, internalKey, nodes),
      loopback: isLoopback(config.http.host),
      objects,
      nodes: nodes.membership,
      link: nodes.link,
      carriers: carrierNames,
      factsOf,
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

/** The object store that is set; without one audio stays on the disk. */
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

/** Sockets of live sessions go from node to node over the link of the nodes, where there is one. */
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
        ...(requests === undefined ? {} : { speech: requests }),
        // By the one way a node passes a client on, by the other a bridge comes itself.
        sockets: take === undefined ? {} : { '/node/sessions': take, '/v2/live': take },
      }),
  };
}

/**
 * One rule for the audio of a call wherever it lies. The bridge's recording follows the same setting, where
 * `auto` means on loopback only; a service that runs without a bridge keeps audio unless the setting is off.
 */
function recordingOf({ bridge, roles, http }: Config): { kept: boolean; days: number } {
  const auto = !roles.includes('bridge') || isLoopback(http.host);
  return {
    kept: bridge.recording === 'on' || (bridge.recording === 'auto' && auto),
    days: bridge.retentionDays.recordings,
  };
}

/**
 * The nodes of the speech service: those that are configured, else our own by its real address and with the key made at
 * this start, and those of the other nodes of the database, by the port that nodes have for one another.
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

/** The part of an address that is stored; the rest may be secret. */
function nameOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** Says that the process is ready: a few lines on a terminal, one record for a machine. */
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
            `  ${'optional'.padEnd(9)} not installed: ${notInstalled.join(', ')}; "npx trunkline models pull NAME" or the page installs one`,
          ]),
      ...told,
      '',
    ].join('\n'),
  );
}

/** The service that recognises the calls. A service elsewhere is named by its origin only: the rest of its address may be secret. */
function speechAddress({ roles, speech }: Config, base: string): Record<string, string> {
  if (roles.includes('bridge') && speech.url !== undefined)
    return {
      speech: speechUrls(speech.url)
        .map((url) => new URL(url).origin)
        .join(', '),
    };
  return roles.includes('speech') ? { speech: `${base}/v2/live` } : {};
}

/** Waits for a part to drain, a second longer than it was given. A part that fails does not keep the others from it. */
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

/** Resolves at the first signal, which drains. A second one ends the process at once. */
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

/** Settings are read at a start. SIGHUP reads them and logs what the next start would say; the ones in use stay. */
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

/** Ends the process after an error that nothing expected. Its state is unknown; a restart loses nothing that was accepted. */
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
  } catch (error) {
    const expected = error instanceof TrunklineError;
    console.error(expected ? `${error.code}: ${reasonOf(error)}` : error);
    process.exit(expected && error.code === 'CONFIG_INVALID' ? 78 : 1);
  }
}

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { carrierNames, type CarrierName } from '../../../src/carriers/all.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { freePort } from '../../support/process/free-port.ts';
import { provenEnv } from '../../support/carriers/proven-config.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { bucketEnv, startBucket } from '../../support/store/bucket.ts';
import { startPostgresPair } from '../../support/store/postgres.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { Caller } from './fleet-caller.ts';
import { balancer, haproxy } from './fleet-doors.ts';
import { heardAgain } from './fleet-recordings.ts';
import { WatchedWrites } from './fleet-writes.ts';

/** The faults that befall a fleet in the middle of its calls. */
export const fleetFaults = [
  'kill',
  'kill-and-disk',
  'stop',
  'database',
  'failover',
  'objects',
  'balancer',
  'speech',
] as const;
export type FleetFault = (typeof fleetFaults)[number];

const tickMs = 100;
/** A service that is away is away beyond the end of the calls. */
const awayMs = 12_000;
/** A node that found it away asks again after pauses that grow. */
const storedWithinMs = 90_000;

type LedgerFigure = 'received' | 'acknowledged' | 'gaps' | 'paused';
type ToldEvent = {
  type: string;
  occurred_at: string;
  data: { duration: number; short_gaps: { seconds: number }; code: string };
};
type ReadCall = { call: AnyJson; events: AnyJson[] };
type NotStored = { id: string; callId: string };
type ReadAgain = {
  figures: RoundFigures;
  caller: Caller;
  records: readonly ReadCall[];
  told: number;
  notStored: readonly NotStored[];
  broken: (what: string) => void;
};

/** The result of one round. Each of the first eight counts broken promises. */
export type RoundFigures = {
  fault: FleetFault;
  neverEnded: number;
  eventsWrong: number;
  deliveriesWrong: number;
  unevenBytes: number;
  /** Rows of calls that a node wrote while another had the call. */
  fencedWrites: number;
  /** Seconds of audio that did not arrive and that no gap tells of, more than half a second of a call. */
  untoldS: number;
  /** Recordings that did not come into the object store. */
  recordingsLost: number;
  /** Recordings that nodes read differently, or with what the carrier did not say, or out of order. */
  recordingsWrong: number;
  /** The calls to which the eight counts before belong. */
  why: string[];
  /** Calls for which no node could be had: of a machine that is too busy for the trial. */
  neverTaken: number;
  records: number;
  /** Calls in more than one record: the second says which one it continues. */
  split: number;
  recordings: number;
  /** Rows of calls that were written in all. */
  writes: number;
  redials: number;
  takenOver: number;
  gapS: number;
  /** Seconds that were said, are in no gap and are not in a recording: the disk of their node had them. */
  unrecordedS: number;
  /** Deliveries that came again: at least once is what is promised. */
  repeated: number;
  goesOnAfterMs: number[];
};

export type FleetTrialOptions = {
  rounds: number;
  nodes: number;
  calls: number;
  seconds: number;
  /** The time for which a node is stopped. */
  stoppedMs: number;
  faults?: readonly FleetFault[];
  /** The time for which a node may give no sign of life. */
  silentMs: number;
  /** The interval at which running audio goes to the object store; 0: when its call has ended. */
  tailS: number;
  /** Each in turn; all of them where none is named. */
  carriers?: readonly CarrierName[];
  /** The balancer in front of the nodes. */
  door?: 'own' | 'haproxy';
  /** The folder for the nodes' logs and the callers' stories, round by round. */
  logs?: string | undefined;
  random: (below: number) => number;
  onRound(figures: RoundFigures): void;
};

/** Rounds of calls over several nodes behind a balancer, one fault in the middle of each. */
export async function fleetTrial(options: FleetTrialOptions): Promise<void> {
  const { random, calls, seconds } = options;
  const { faults = fleetFaults, carriers: names = carrierNames } = options;
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await startPostgresPair());
  const bucket = stack.use(await startBucket());
  const toBucket = stack.use(await FaultProxy.start(bucket.port));
  // Two speech nodes: a bridge has somewhere to go when one of them is away.
  const speech = [stack.use(await FakeSpeech.start()), stack.use(await FakeSpeech.start())];
  const lines: FaultProxy[] = [];
  for (const node of speech) {
    const line = stack.use(await FaultProxy.start(node.port));
    node.publicPort = line.port;
    lines.push(line);
  }
  const databaseUrl = await postgres.newDatabase();
  const crm = await receiver();
  stack.defer(() => crm.close());
  const ports: number[] = [];
  for (let at = 0; at < options.nodes; at++) ports.push(await freePort());
  const folder = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'trunkline-fleet-'));
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    return dir;
  };
  const starts: { at: number; app: App }[] = [];
  /** The node's name is on its disk, and the database knows its connections by it. */
  const start = async (at: number, dataDir: string, name: string): Promise<App> => {
    await mkdir(dataDir, { recursive: true });
    await writeFile(join(dataDir, 'node-id'), `${name}\n`);
    const app = await startApp({
      dataDir,
      env: {
        ...provenEnv(),
        ...bucketEnv(toBucket.url),
        TRUNKLINE_OBJECTS_TAIL_S: String(options.tailS),
        PORT: String(ports[at]),
        TRUNKLINE_ROLES: 'bridge,console',
        TRUNKLINE_RECORDING: 'on',
        TRUNKLINE_SPEECH_URL: lines.map(({ url }) => url).join(','),
        TRUNKLINE_INSECURE: '1',
        TRUNKLINE_WEBHOOK_URL: crm.url,
        TRUNKLINE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
        DATABASE_URL: `${databaseUrl}?application_name=${name}`,
        TRUNKLINE_NODE_SILENT_MS: String(options.silentMs),
        TRUNKLINE_NODE_URL: `http://127.0.0.1:${await freePort()}`,
        TRUNKLINE_NODE_KEY: 'the-same-key-at-all-nodes',
        TRUNKLINE_REJOIN_WAIT_MS: '10000',
      },
    });
    starts.push({ at, app });
    return app;
  };
  const nodes: App[] = [];
  const nodeNames: string[] = [];
  for (let at = 0; at < options.nodes; at++) {
    nodeNames.push(randomUUID());
    nodes.push(await start(at, await folder(), nodeNames[at] ?? ''));
  }
  stack.defer(async () => {
    for (const app of nodes) await app[Symbol.asyncDispose]();
  });
  const writes = await WatchedWrites.begin(databaseUrl);
  const door =
    options.door === 'haproxy' ? await haproxy(ports, await folder()) : await balancer(() => nodes);
  stack.defer(() => door.close());

  for (let round = 0; round < options.rounds; round++) {
    const fault = faults[round % faults.length] ?? 'kill';
    const callers = Array.from({ length: calls }, (_, at) => {
      const carrier = names[at % names.length] ?? 'twilio';
      return new Caller(door.url, carrier, seconds, round * 1_000 + at);
    });
    const struckAt = Math.floor((seconds * 1_000) / tickMs / 3) + random(10);
    const startedMs = performance.now();
    let struckAtMs = 0;
    let mending: Promise<void> = Promise.resolve();
    for (let tick = 0; tick < (seconds * 1_000) / tickMs; tick++) {
      for (const caller of callers) caller.say((tick + 1) * tickMs);
      if (tick === struckAt) {
        struckAtMs = Date.now();
        mending = strike(fault, random(nodes.length));
      }
      const waitMs = startedMs + (tick + 1) * tickMs - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
    }
    await Promise.all(callers.map((caller) => caller.hangUp()));
    // All calls end while the node stands still, or is not there yet.
    const taken = callers.filter(({ lastMs }) => lastMs > 0);
    await Promise.all(taken.map(({ callId }) => patiently(callId)));
    await mending;
    // A node that goes on writes at once whatever it would still write.
    if (fault === 'stop') await new Promise((resolve) => setTimeout(resolve, 3_000));
    const figures = await figuresOf(fault, callers, struckAtMs);
    options.onRound(figures);
    await keepLogs(round, figures, callers);
    for (const { app } of starts) app.lines.length = 0;
    for (const caller of callers) caller.close();
  }

  async function keepLogs(
    round: number,
    figures: RoundFigures,
    callers: readonly Caller[],
  ): Promise<void> {
    if (options.logs === undefined) return;
    const dir = join(options.logs, `${process.pid}-${round + 1}-${figures.fault}`);
    await mkdir(dir, { recursive: true });
    for (const [number, { at, app }] of starts.entries())
      if (app.lines.length > 0)
        await writeFile(join(dir, `node-${at}-${number}.log`), app.lines.join('\n'));
    const stories = callers.map(({ carrier, callId, story }, at) =>
      [`${at} ${carrier} ${callId}`, ...story].join('\n  '),
    );
    await writeFile(join(dir, 'callers.txt'), [...figures.why, ...stories].join('\n'));
  }

  async function strike(fault: FleetFault, which: number): Promise<void> {
    const app = nodes[which];
    if (app === undefined) return;
    switch (fault) {
      case 'balancer':
        await door.cutAll();
        return;
      case 'speech':
      case 'objects': {
        const line = fault === 'objects' ? toBucket : lines[which % lines.length];
        await line?.refuse();
        await new Promise((resolve) => setTimeout(resolve, awayMs));
        await line?.accept();
        return;
      }
      case 'database':
        await postgres.outage.begin();
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        await postgres.outage.end();
        return;
      case 'failover':
        await postgres.failOver();
        await postgres.renew();
        return;
      case 'stop':
        app.process.kill('SIGSTOP');
        await new Promise((resolve) => setTimeout(resolve, options.stoppedMs));
        app.process.kill('SIGCONT');
        return;
      case 'kill':
      case 'kill-and-disk': {
        await app.end('SIGKILL');
        if (fault === 'kill-and-disk') {
          await rm(app.dataDir, { recursive: true, force: true });
          nodeNames[which] = randomUUID();
        }
        // Its supervisor is slow: the others have its calls by then.
        await new Promise((resolve) => setTimeout(resolve, 6_000));
        nodes[which] = await start(which, app.dataDir, nodeNames[which] ?? '');
      }
    }
  }

  async function figuresOf(
    fault: FleetFault,
    callers: readonly Caller[],
    struckAtMs: number,
  ): Promise<RoundFigures> {
    const figures: RoundFigures = {
      fault,
      neverEnded: 0,
      eventsWrong: 0,
      deliveriesWrong: 0,
      unevenBytes: 0,
      fencedWrites: 0,
      untoldS: 0,
      recordingsLost: 0,
      recordingsWrong: 0,
      why: [],
      neverTaken: 0,
      records: 0,
      split: 0,
      recordings: 0,
      writes: 0,
      redials: 0,
      takenOver: 0,
      gapS: 0,
      unrecordedS: 0,
      repeated: 0,
      goesOnAfterMs: [],
    };
    // Side by side: one that never ends must not make the others wait for its deadline.
    const found = await Promise.all(
      callers.map(async ({ callId, lastMs }) => (lastMs === 0 ? undefined : patiently(callId))),
    );
    const notStored = await notStoredOf(found.flatMap((records) => records ?? []));
    for (const [at, caller] of callers.entries()) {
      const records = found[at];
      const broken = (what: string): void => {
        figures.why.push(`${at} ${caller.carrier} ${what}`);
      };
      figures.redials += Math.max(0, caller.redials - 1);
      // Nobody could be had in all its time, on a machine that is busy: a carrier plays no call to a door that is shut.
      if (caller.lastMs === 0) {
        figures.neverTaken++;
        continue;
      }
      // Its node was gone before it had a row, and then every door was shut.
      if (records === undefined && caller.endedWithoutLine && !(await hasRow(caller))) {
        figures.neverTaken++;
        caller.story.push('no row');
        continue;
      }
      if (records === undefined) {
        figures.neverEnded++;
        broken('never ended');
        continue;
      }
      figures.records += records.length;
      if (records.length > 1) figures.split++;
      let received = 0;
      let told = 0;
      for (const { call, events } of records) {
        const numbers: number[] = events.map(({ sequence }: AnyJson) => sequence);
        const wrong = numbers.every((number, at) => number === at + 1) ? [] : ['its numbers'];
        for (const type of ['call.started', 'call.ended', 'call.summary', 'call.completed'])
          if (events.filter((event: AnyJson) => event.type === type).length !== 1) wrong.push(type);
        figures.eventsWrong += wrong.length;
        if (wrong.length > 0) broken(`events: ${wrong.join(', ')}`);
        if (!(await delivered(call.id, numbers.length))) {
          figures.deliveriesWrong++;
          broken(`delivered ${crm.of(call.id).join(' ')} of ${numbers.length}`);
        }
        const came = crm.of(call.id);
        figures.repeated += came.length - new Set(came).size;
        for (const { ledger } of call.legs as { ledger: Record<LedgerFigure, number> }[]) {
          received += ledger.received;
          const uneven = ledger.received - ledger.acknowledged - ledger.gaps - ledger.paused;
          figures.unevenBytes += Math.abs(uneven);
          if (uneven !== 0) broken(`uneven by ${uneven} bytes`);
        }
        for (const { type, data, occurred_at } of events as ToldEvent[]) {
          if (type === 'call.gap') told += data.duration;
          if (type === 'call.ended') told += data.short_gaps.seconds;
          if (type === 'call.warning' && data.code === 'NODE_LOST') {
            figures.takenOver++;
            figures.goesOnAfterMs.push(Date.parse(occurred_at) - struckAtMs);
          }
        }
      }
      const spokenS = Math.max(0, caller.lastMs - caller.firstMs) / 1_000;
      const legs = caller.legs.length;
      // The times of two records of a call tell what lies between them.
      const betweenS = await secondsBetween(records, caller.bytesPerSecond);
      told += betweenS * legs;
      figures.gapS += told;
      const missing = spokenS * legs - received / caller.bytesPerSecond;
      if (missing - told > 0.5 * legs) {
        figures.untoldS += missing - told;
        broken(`${(missing - told).toFixed(1)} s that no gap tells of`);
      }
      await readAgain({ figures, caller, records, told, notStored, broken });
    }
    const { writes: count, fenced } = await writes.take();
    figures.writes = count;
    figures.fencedWrites = fenced.length;
    for (const { table, callId, writer, holder } of fenced.slice(0, 20))
      figures.why.push(`${table} of ${callId} (${holder}) was written by ${writer}`);
    return figures;
  }

  /** Every node reads the same recordings, and they are what the carrier said. */
  async function readAgain({ figures, caller, records, told, notStored, broken }: ReadAgain) {
    const wavs: Buffer[] = [];
    for (const { call } of records) {
      const left = notStored.filter((leg) => leg.callId === call.id);
      if (left.length > 0) {
        figures.recordingsLost += left.length;
        broken(`not in the object store: ${left.map(({ id }) => id).join(', ')}`);
        continue;
      }
      const read = await Promise.all(nodes.map((app) => recordingAt(app, call.id)));
      const [first] = read;
      if (first === undefined || !read.every((wav) => wav?.equals(first))) {
        figures.recordingsWrong++;
        broken(`recording of ${call.id} read as ${read.map((wav) => wav?.length).join(', ')} bytes`); // prettier-ignore
        continue;
      }
      figures.recordings++;
      wavs.push(first);
    }
    const { frames, misplaced, foreign } = heardAgain(caller, wavs);
    if (misplaced > 0 || foreign > 0.5 * caller.legs.length) {
      figures.recordingsWrong++;
      broken(`recording: ${misplaced} frames misplaced, ${foreign.toFixed(1)} that it did not say`);
    }
    const from = caller.firstMs / caller.frameMs;
    const to = caller.lastMs / caller.frameMs;
    let missing = 0;
    for (const heard of frames)
      for (let number = from; number < to; number++) if (!heard.has(number)) missing++;
    figures.unrecordedS += Math.max(0, (missing * caller.frameMs) / 1_000 - told);
  }

  async function hasRow({ callId }: Caller): Promise<boolean> {
    const rows = await writes.ask('select id from calls where carrier_call_id = $1', [callId]);
    return rows.length > 0;
  }

  /** From the last byte of each record to the first of the one that continues it. */
  async function secondsBetween(records: readonly ReadCall[], bytesPerSecond: number) {
    if (records.length < 2) return 0;
    const rows = await writes.ask<{ zeroAt: string; bytes: string }>(
      `select calls.zero_at as "zeroAt", max(legs.received + legs.filler - legs.paused) as bytes
        from calls join legs on legs.call_id = calls.id where calls.id = any($1) group by calls.id order by calls.zero_at`,
      [records.map(({ call }) => call.id)],
    );
    const ends = rows.map(({ zeroAt, bytes }) => Number(zeroAt) / 1_000 + Number(bytes) / bytesPerSecond); // prettier-ignore
    return rows
      .slice(1)
      .reduce(
        (sum, { zeroAt }, at) => sum + Math.max(0, Number(zeroAt) / 1_000 - (ends[at] ?? 0)),
        0,
      );
  }

  /** Legs whose recording does not come into the object store in its time. */
  async function notStoredOf(records: readonly ReadCall[]): Promise<NotStored[]> {
    const endMs = performance.now() + storedWithinMs;
    for (;;) {
      const left = await writes.ask<NotStored>(
        `select legs.id, call_id as "callId" from legs where call_id = any($1) and received > 0 and not exists
          (select 1 from objects where objects.key = 'recordings/' || legs.id and objects.state = 'stored')`,
        [records.map(({ call }) => call.id)],
      );
      if (left.length === 0 || performance.now() > endMs) return left;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  async function recordingAt(app: App, callId: string): Promise<Buffer | undefined> {
    return until(async () => {
      const answer = await app
        .get(`/api/calls/${callId}/recording`, { signal: AbortSignal.timeout(10_000) })
        .catch(() => undefined);
      return answer?.ok === true && Buffer.from(await answer.arrayBuffer());
    }, 20_000).catch(() => undefined);
  }

  /** Seldom enough that the asking is no load of its own. */
  async function patiently(callId: string): Promise<ReadCall[] | undefined> {
    const endMs = performance.now() + 120_000;
    while (performance.now() < endMs) {
      const records = await recordsOf(callId).catch(() => false as const);
      if (records !== false) return records;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    return undefined;
  }

  async function recordsOf(callId: string): Promise<ReadCall[] | false> {
    const json = async (path: string): Promise<AnyJson> => {
      for (const app of nodes) {
        const answer = await app
          .get(path, { signal: AbortSignal.timeout(5_000) })
          .catch(() => null);
        if (answer?.ok) return answer.json();
      }
      return undefined;
    };
    const list = await json(`/api/calls?carrier_call_id=${encodeURIComponent(callId)}`);
    if (list === undefined || list.items.length === 0) return false;
    const found: ReadCall[] = [];
    for (const { id } of list.items) {
      const events = (await json(`/api/calls/${id}/events?limit=1000`))?.items ?? [];
      if (!events.some(({ type }: AnyJson) => type === 'call.completed')) return false;
      found.push({ call: await json(`/api/calls/${id}`), events });
    }
    return found.sort((a, b) => (a.call.started_at < b.call.started_at ? -1 : 1));
  }

  /** Each number came, and none came for the first time behind a higher one. */
  function delivered(callId: string, count: number): Promise<boolean> {
    return until(() => {
      const numbers = crm.of(callId);
      return new Set(numbers).size >= count && [...new Set(numbers)].every((n, at) => n === at + 1); // prettier-ignore
    }, 60_000).catch(() => false);
  }
}

/** A CRM that takes everything and remembers the numbers of each call, as they came. */
async function receiver() {
  const numbers = new Map<string, number[]>();
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { call, sequence } = JSON.parse(body) as { call: { id: string }; sequence: number };
      numbers.set(call.id, [...(numbers.get(call.id) ?? []), sequence]);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    of: (callId: string) => numbers.get(callId) ?? [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

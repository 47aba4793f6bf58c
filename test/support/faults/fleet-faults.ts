import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { Dialogue, PlayedCall } from '../../../src/player/dialogue.ts';
import type { AnyJson } from '../bridge/test-bridge.ts';
import { freePort } from '../bridge/fleet.ts';
import { usualForm } from '../carriers/carrier-shape.ts';
import { playedCall } from '../carriers/played-call.ts';
import { provenConfig, provenEnv } from '../carriers/proven-config.ts';
import { startApp, type App } from '../process/app.ts';
import { endsWithUs } from '../process/ends-with-us.ts';
import { until } from '../process/until.ts';
import { seededAudio } from '../speech/audio.ts';
import { FakeSpeech } from '../speech/fake-speech.ts';
import type { TestPostgres } from '../store/postgres.ts';
import { FaultProxy } from './fault-proxy.ts';

/** What befalls a fleet in the middle of its calls. */
export const fleetFaults = [
  'kill',
  'kill-and-disk',
  'stop',
  'database',
  'balancer',
  'speech',
] as const;
export type FleetFault = (typeof fleetFaults)[number];

/** Events that a call may have after its completion. */
const saidLater = new Set(['call.transcript.revised', 'call.warning']);
const tickMs = 100;
const lookEveryMs = 300;
const config = provenConfig();

/** The door of the fleet, whoever keeps it. */
type Door = { url: string; cutAll: () => void | Promise<void>; close: () => void };

/** HAProxy from Debian; undefined where it is not installed. */
export const haproxyPath = ['/usr/sbin/haproxy', '/usr/bin/haproxy'].find((path) =>
  existsSync(path),
);

/** A real TCP balancer: it asks each node how it is, and cuts what goes to one that does not answer. */
async function haproxy(ports: readonly number[], folder: string): Promise<Door> {
  if (haproxyPath === undefined) throw new Error('haproxy is not installed');
  const port = await freePort();
  const socket = join(folder, 'haproxy.sock');
  const file = join(folder, 'haproxy.cfg');
  await writeFile(
    file,
    [
      'global',
      `  stats socket ${socket} mode 600 level admin`,
      'defaults',
      '  mode tcp',
      '  timeout connect 2s',
      '  timeout client 1h',
      '  timeout server 1h',
      '  retries 2',
      '  option redispatch',
      'listen fleet',
      `  bind 127.0.0.1:${port}`,
      '  balance leastconn',
      '  option httpchk GET /health/live',
      '  timeout check 1s',
      '  default-server check inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions',
      ...ports.map((one, at) => `  server node${at} 127.0.0.1:${one}`),
      '',
    ].join('\n'),
  );
  const child = endsWithUs(spawn(haproxyPath, ['-f', file, '-db'], { stdio: 'ignore' }));
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        const probe = connect(port, '127.0.0.1');
        probe.once('connect', () => {
          probe.destroy();
          resolve(true);
        });
        probe.once('error', () => resolve(false));
      }),
  );
  const order = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const line = connect(socket);
      line.on('error', () => resolve());
      line.on('close', () => resolve());
      line.resume();
      line.end(`${text}\n`);
    });
  return {
    url: `ws://127.0.0.1:${port}`,
    cutAll: async () => {
      for (const at of ports.keys()) await order(`shutdown sessions server fleet/node${at}`);
    },
    close: () => child.kill('SIGKILL'),
  };
}

/** A balancer of our own, where there is no other: looks whether the nodes are well, and cuts what goes to one that is not. */
async function balancer(nodes: () => readonly App[]): Promise<Door> {
  const sick = new Map<string, number>();
  const pairs = new Set<{ url: string; client: Socket; node: Socket }>();
  let next = 0;
  const isWell = (app: App): boolean => (sick.get(app.url) ?? 0) < 2;
  const server = createServer((client) => {
    client.on('error', () => undefined);
    const well = nodes().filter(isWell);
    const app = well[next++ % Math.max(1, well.length)];
    if (app === undefined) return void client.resetAndDestroy();
    const node = connect(Number(new URL(app.url).port), '127.0.0.1');
    const pair = { url: app.url, client, node };
    pairs.add(pair);
    node.on('error', () => client.resetAndDestroy());
    client.pipe(node);
    node.pipe(client);
    for (const [one, other] of [
      [client, node],
      [node, client],
    ] as const)
      // prettier-ignore
      one.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (isMeant: (url: string) => boolean): void => {
    for (const { url, client, node } of pairs)
      if (isMeant(url)) for (const socket of [client, node]) socket.resetAndDestroy();
  };
  let isOpen = true;
  const look = async (): Promise<void> => {
    await Promise.all(
      nodes().map(async (app) => {
        const answer = await app
          .get('/health/live', { signal: AbortSignal.timeout(1_000) })
          .catch(() => undefined);
        if (answer?.ok) sick.delete(app.url);
        else sick.set(app.url, (sick.get(app.url) ?? 0) + 1);
        if (!isWell(app)) cut((url) => url === app.url);
      }),
    );
    if (isOpen) setTimeout(() => void look(), lookEveryMs);
  };
  void look();
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAll: () => cut(() => true),
    close: () => {
      isOpen = false;
      cut(() => true);
      server.close();
    },
  };
}

/** A phone call whose carrier comes back whenever its socket goes; it speaks in real time, come what may. */
class Caller {
  readonly carrier: CarrierName;
  readonly callId: string;
  /** Bytes that stand for a second of one leg. */
  readonly bytesPerSecond: number;
  readonly legs: number;
  redials = 0;
  /** Where it spoke first and last: what lies outside nobody was told of. */
  firstMs = Infinity;
  lastMs = 0;
  readonly #url: string;
  readonly #call: PlayedCall;
  readonly #audio: Buffer;
  readonly #frameMs: number;
  #line: { socket: WebSocket; dialogue: Dialogue; beganMs: number; isReady: boolean } | undefined;
  #isOver = false;
  /** Milliseconds of the call that were said, or passed while there was no line. */
  #saidMs = 0;

  constructor(url: string, carrier: CarrierName, seconds: number, seed: number) {
    const form = usualForm(carrier);
    const { player } = carriers[carrier];
    this.carrier = carrier;
    this.#url = url;
    this.bytesPerSecond = form.bytesPerMs * 1_000;
    this.legs = form.legs.length;
    this.#frameMs = player.frameMs;
    this.#audio = seededAudio(seconds * this.bytesPerSecond, seed);
    const { encoding, rateHz, legs } = form;
    this.#call = playedCall({ ...player.newIds(), encoding, rateHz, legs });
    this.callId = this.#call.callId;
    void this.#dial();
  }

  say(untilMs: number): void {
    for (; this.#saidMs + this.#frameMs <= untilMs; this.#saidMs += this.#frameMs) {
      const line = this.#line;
      if (line?.isReady !== true || line.socket.readyState !== WebSocket.OPEN) continue;
      const perMs = this.bytesPerSecond / 1_000;
      const bytes = this.#audio.subarray(
        this.#saidMs * perMs,
        (this.#saidMs + this.#frameMs) * perMs,
      );
      const frames = this.#call.legs.map((leg) => ({ leg, bytes }));
      for (const frame of line.dialogue.media(frames, this.#saidMs - line.beganMs))
        line.socket.send(frame);
      this.firstMs = Math.min(this.firstMs, this.#saidMs);
      this.lastMs = this.#saidMs + this.#frameMs;
    }
  }

  hangUp(): void {
    this.#isOver = true;
    const line = this.#line;
    if (line?.socket.readyState !== WebSocket.OPEN) return;
    for (const frame of line.dialogue.closing(this.#saidMs - line.beganMs)) line.socket.send(frame);
    if (!line.dialogue.waitsForOver) line.socket.close(1000);
  }

  close(): void {
    this.#isOver = true;
    this.#line?.socket.terminate();
  }

  async #dial(): Promise<void> {
    const { player } = carriers[this.carrier];
    while (!this.#isOver) {
      const call =
        this.redials === 0 ? this.#call : { ...this.#call, streamId: player.newIds().streamId };
      const address = new URL(`${this.#url}/carriers/${this.carrier}`);
      for (const [name, value] of Object.entries(player.addressParameters?.(call) ?? {}))
        address.searchParams.set(name, value);
      const socket = new WebSocket(address, [...(player.protocols ?? [])], {
        headers: player.headers(address.href, call, carriers[this.carrier].playerSecrets(config)),
        perMessageDeflate: false,
        handshakeTimeout: 5_000,
      });
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const opened = new Promise<boolean>((resolve) => {
        socket.once('open', () => resolve(true));
        void closed.then(() => resolve(false));
      });
      if (!(await opened)) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        continue;
      }
      this.redials++;
      const dialogue = player.newDialogue(call);
      const line = { socket, dialogue, beganMs: this.#saidMs, isReady: dialogue.readyAtOnce };
      socket.on('message', (data: Buffer, isBinary) => {
        if (isBinary) return;
        const answer = dialogue.received(data.toString(), this.#saidMs - line.beganMs);
        for (const frame of answer.send) socket.send(frame);
        if (answer.ready === true && !line.isReady) {
          line.beganMs = this.#saidMs;
          line.isReady = true;
        }
        if (answer.over === true) socket.close();
      });
      this.#line = line;
      for (const frame of dialogue.opening()) socket.send(frame);
      await closed;
    }
  }
}

type LedgerFigure = 'received' | 'acknowledged' | 'gaps' | 'paused';
type ToldEvent = {
  type: string;
  occurred_at: string;
  data: { duration: number; short_gaps: { seconds: number }; code: string };
};

/** What one round came to. Of the first six each one is a broken promise. */
export type RoundFigures = {
  fault: FleetFault;
  neverEnded: number;
  eventsWrong: number;
  deliveriesWrong: number;
  unevenBytes: number;
  /** Calls that read otherwise after the stopped node went on than before. */
  fencedWrites: number;
  /** Seconds of audio that did not arrive and that no gap tells of, more than half a second of a call. */
  untoldS: number;
  untoldOf: string[];
  /** Calls for which no node could be had: of a machine that is too busy for the trial. */
  neverTaken: number;
  records: number;
  redials: number;
  takenOver: number;
  gapS: number;
  goesOnAfterMs: number[];
};

export type FleetTrialOptions = {
  postgres: TestPostgres;
  rounds: number;
  nodes: number;
  calls: number;
  seconds: number;
  /** How long a node is stopped. */
  stoppedMs: number;
  faults?: readonly FleetFault[];
  /** How long a node may give no sign of life. */
  silentMs: number;
  /** Each in turn; all of them where none is named. */
  carriers?: readonly CarrierName[];
  /** Who stands in front of the nodes. */
  door?: 'own' | 'haproxy';
  random: (below: number) => number;
  onRound(figures: RoundFigures): void;
};

/** Rounds of calls over several nodes behind a balancer, one fault in the middle of each. */
export async function fleetTrial(options: FleetTrialOptions): Promise<void> {
  const { postgres, random, calls, seconds } = options;
  const { faults = fleetFaults, carriers: names = carrierNames } = options;
  await using stack = new AsyncDisposableStack();
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
  const env = async (at: number): Promise<Record<string, string>> => ({
    ...provenEnv(),
    PORT: String(ports[at]),
    TRUNKLINE_ROLES: 'bridge,console',
    TRUNKLINE_SPEECH_URL: lines.map(({ url }) => url).join(','),
    TRUNKLINE_INSECURE: '1',
    TRUNKLINE_WEBHOOK_URL: crm.url,
    TRUNKLINE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    DATABASE_URL: databaseUrl,
    TRUNKLINE_NODE_SILENT_MS: String(options.silentMs),
    TRUNKLINE_NODE_URL: `http://127.0.0.1:${await freePort()}`,
    TRUNKLINE_NODE_KEY: 'the-same-key-at-all-nodes',
    TRUNKLINE_REJOIN_WAIT_MS: '10000',
  });
  const folder = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'trunkline-fleet-'));
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    return dir;
  };
  const nodes: App[] = [];
  for (let at = 0; at < options.nodes; at++)
    nodes.push(await startApp({ dataDir: await folder(), env: await env(at) }));
  stack.defer(async () => {
    for (const app of nodes) await app[Symbol.asyncDispose]();
  });
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
    for (const caller of callers) caller.hangUp();
    // All calls end while the node stands still; what it does when it goes on must change none of them.
    const before = fault === 'stop' ? await asRead(callers) : undefined;
    await mending;
    if (before !== undefined) await new Promise((resolve) => setTimeout(resolve, 3_000));
    const figures = await figuresOf(fault, callers, struckAtMs);
    if (before !== undefined) {
      const after = await asRead(callers);
      figures.fencedWrites = after.filter((text, at) => text !== before[at]).length;
    }
    options.onRound(figures);
    for (const caller of callers) caller.close();
  }

  async function asRead(callers: readonly Caller[]): Promise<(string | undefined)[]> {
    return Promise.all(
      callers.map(async ({ callId }) => {
        const records = await patiently(callId);
        return JSON.stringify(
          (records || undefined)?.map(({ call, events }) => [
            call.id,
            call.legs,
            // Whatever a second pass of a mixed leg says later is no word of the stopped node.
            events.filter((event) => !saidLater.has(event.type)),
          ]),
        );
      }),
    );
  }

  async function strike(fault: FleetFault, which: number): Promise<void> {
    const app = nodes[which];
    if (app === undefined) return;
    switch (fault) {
      case 'balancer':
        await door.cutAll();
        return;
      case 'speech': {
        const line = lines[which % lines.length];
        await line?.refuse();
        await new Promise((resolve) => setTimeout(resolve, 12_000));
        await line?.accept();
        return;
      }
      case 'database':
        await postgres.outage?.begin();
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        await postgres.outage?.end();
        return;
      case 'stop':
        app.process.kill('SIGSTOP');
        await new Promise((resolve) => setTimeout(resolve, options.stoppedMs));
        app.process.kill('SIGCONT');
        return;
      case 'kill':
      case 'kill-and-disk': {
        await app.end('SIGKILL');
        if (fault === 'kill-and-disk') await rm(app.dataDir, { recursive: true, force: true });
        // Its supervisor is slow: the others have its calls by then.
        await new Promise((resolve) => setTimeout(resolve, 6_000));
        const { dataDir } = app;
        nodes[which] = await startApp({ dataDir, env: await env(which) });
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
      untoldOf: [],
      neverTaken: 0,
      records: 0,
      redials: 0,
      takenOver: 0,
      gapS: 0,
      goesOnAfterMs: [],
    };
    // Side by side: one that never ends must not make the others wait for its deadline.
    const found = await Promise.all(
      callers.map(async ({ callId, lastMs }) => (lastMs === 0 ? undefined : patiently(callId))),
    );
    for (const [at, caller] of callers.entries()) {
      const records = found[at];
      figures.redials += Math.max(0, caller.redials - 1);
      // Nobody could be had in all its time, on a machine that is busy: a carrier plays no call to a door that is shut.
      if (caller.lastMs === 0) {
        figures.neverTaken++;
        continue;
      }
      if (records === undefined || records === false) {
        figures.neverEnded++;
        figures.untoldOf.push(`${caller.carrier} never ended`);
        continue;
      }
      figures.records += records.length;
      let received = 0;
      let told = 0;
      for (const { call, events } of records) {
        const numbers: number[] = events.map(({ sequence }: AnyJson) => sequence);
        if (!numbers.every((number, at) => number === at + 1)) figures.eventsWrong++;
        for (const type of ['call.started', 'call.ended', 'call.summary', 'call.completed'])
          if (events.filter((event: AnyJson) => event.type === type).length !== 1)
            figures.eventsWrong++;
        if (!(await delivered(call.id, numbers.length))) {
          figures.deliveriesWrong++;
          figures.untoldOf.push(
            `${caller.carrier} delivered ${crm.of(call.id).join(' ')} of ${numbers.length}`,
          );
        }
        for (const { ledger } of call.legs as { ledger: Record<LedgerFigure, number> }[]) {
          received += ledger.received;
          figures.unevenBytes += Math.abs(
            ledger.received - ledger.acknowledged - ledger.gaps - ledger.paused,
          );
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
      figures.gapS += told;
      const spokenS = Math.max(0, caller.lastMs - caller.firstMs) / 1_000;
      const missing = spokenS * caller.legs - received / caller.bytesPerSecond;
      if (missing - told > 0.5 * caller.legs) {
        figures.untoldS += missing - told;
        figures.untoldOf.push(`${caller.carrier} ${(missing - told).toFixed(1)}`);
      }
    }
    return figures;
  }

  /** Seldom enough that the asking is no load of its own. */
  async function patiently(
    callId: string,
  ): Promise<Awaited<ReturnType<typeof recordsOf>> | undefined> {
    const endMs = performance.now() + 120_000;
    while (performance.now() < endMs) {
      const records = await recordsOf(callId).catch(() => false as const);
      if (records !== false) return records;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    return undefined;
  }

  async function recordsOf(
    callId: string,
  ): Promise<{ call: AnyJson; events: AnyJson[] }[] | false> {
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
    const found: { call: AnyJson; events: AnyJson[] }[] = [];
    for (const { id } of list.items) {
      const events = (await json(`/api/calls/${id}/events?limit=1000`))?.items ?? [];
      if (!events.some(({ type }: AnyJson) => type === 'call.completed')) return false;
      found.push({ call: await json(`/api/calls/${id}`), events });
    }
    return found;
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

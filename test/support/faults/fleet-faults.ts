import { createServer as createHttpServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyJson } from '../bridge/test-bridge.ts';
import { freePort } from '../bridge/fleet.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../carriers/carrier-client.ts';
import { startApp, type App } from '../process/app.ts';
import { until } from '../process/until.ts';
import { seededAudio } from '../speech/audio.ts';
import { FakeSpeech } from '../speech/fake-speech.ts';
import type { TestPostgres } from '../store/postgres.ts';

/** What befalls a fleet in the middle of its calls. */
export const fleetFaults = ['kill', 'kill-and-disk', 'stop', 'database', 'balancer'] as const;
export type FleetFault = (typeof fleetFaults)[number];

const tickMs = 100;
const bytesPerTick = 800;
const lookEveryMs = 300;

/** Whoever stands in front of the nodes: looks whether they are well, and cuts what goes to one that is not. */
async function balancer(nodes: () => readonly App[]) {
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
  readonly callSid: string;
  sentBytes = 0;
  redials = 0;
  #client: CarrierClient | undefined;
  #isOver = false;
  #chunk = 0;
  readonly #url: string;
  readonly #audio: Buffer;

  constructor(url: string, callSid: string, audio: Buffer) {
    this.#url = url;
    this.callSid = callSid;
    this.#audio = audio;
    void this.#dial();
  }

  say(tick: number): void {
    const at = tick * bytesPerTick;
    const client = this.#client;
    if (client?.closed !== undefined || client === undefined) return;
    for (let from = at; from < at + bytesPerTick; from += 160) {
      client.send(twilioMedia(++this.#chunk, this.#audio.subarray(from, from + 160)));
      this.sentBytes += 160;
    }
  }

  hangUp(): void {
    this.#isOver = true;
    this.#client?.send(twilioStop);
  }

  close(): void {
    this.#isOver = true;
    this.#client?.socket.terminate();
  }

  async #dial(): Promise<void> {
    while (!this.#isOver) {
      const client = await CarrierClient.open(`${this.#url}/carriers/twilio`).catch(
        () => undefined,
      );
      if (client === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        continue;
      }
      const streamSid = `MZ${this.callSid}-${this.redials++}`;
      this.#chunk = 1;
      client.send(
        twilioConnected,
        twilioStart({ callSid: this.callSid, streamSid, tracks: ['inbound'] }),
      );
      this.#client = client;
      await new Promise((resolve) => client.socket.once('close', resolve));
    }
  }
}

type LedgerFigure = 'received' | 'acknowledged' | 'gaps' | 'paused';
type ToldEvent = {
  type: string;
  occurred_at: string;
  data: { duration: number; short_gaps: { seconds: number }; code: string };
};

/** What one round came to. Of the first five each one is a broken promise. */
export type RoundFigures = {
  fault: FleetFault;
  neverEnded: number;
  eventsWrong: number;
  deliveriesWrong: number;
  unevenBytes: number;
  /** Seconds of audio that did not arrive and that no gap tells of, more than half a second of a call. */
  untoldS: number;
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
  random: (below: number) => number;
  onRound(figures: RoundFigures): void;
};

/** Rounds of calls over several nodes behind a balancer, one fault in the middle of each. */
export async function fleetTrial(options: FleetTrialOptions): Promise<void> {
  const { postgres, random, calls, seconds } = options;
  await using stack = new AsyncDisposableStack();
  const speech = stack.use(await FakeSpeech.start());
  const databaseUrl = await postgres.newDatabase();
  const crm = await receiver();
  stack.defer(() => crm.close());
  const env = async (): Promise<Record<string, string>> => ({
    TRUNKLINE_ROLES: 'bridge,console',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_INSECURE: '1',
    TRUNKLINE_WEBHOOK_URL: crm.url,
    TRUNKLINE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    DATABASE_URL: databaseUrl,
    TRUNKLINE_NODE_SILENT_MS: '2000',
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
    nodes.push(await startApp({ dataDir: await folder(), env: await env() }));
  stack.defer(async () => {
    for (const app of nodes) await app[Symbol.asyncDispose]();
  });
  const door = await balancer(() => nodes);
  stack.defer(() => door.close());

  for (let round = 0; round < options.rounds; round++) {
    const fault = fleetFaults[round % fleetFaults.length] ?? 'kill';
    const callers = Array.from({ length: calls }, (_, at) => {
      const audio = seededAudio(seconds * 8_000, round * 1_000 + at);
      return new Caller(door.url, `CA${round}-${at}`, audio);
    });
    const struckAt = Math.floor((seconds * 1_000) / tickMs / 3) + random(10);
    const startedMs = performance.now();
    let struckAtMs = 0;
    let mending: Promise<void> = Promise.resolve();
    for (let tick = 0; tick < (seconds * 1_000) / tickMs; tick++) {
      for (const caller of callers) caller.say(tick);
      if (tick === struckAt) {
        struckAtMs = Date.now();
        mending = strike(fault, random(nodes.length));
      }
      const waitMs = startedMs + (tick + 1) * tickMs - performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs)));
    }
    for (const caller of callers) caller.hangUp();
    await mending;
    options.onRound(await figuresOf(fault, callers, struckAtMs));
    for (const caller of callers) caller.close();
  }

  async function strike(fault: FleetFault, which: number): Promise<void> {
    const app = nodes[which];
    if (app === undefined) return;
    switch (fault) {
      case 'balancer':
        door.cutAll();
        return;
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
        nodes[which] = await startApp({ dataDir, env: await env() });
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
      untoldS: 0,
      records: 0,
      redials: 0,
      takenOver: 0,
      gapS: 0,
      goesOnAfterMs: [],
    };
    for (const caller of callers) {
      const records = await until(() => recordsOf(caller.callSid), 90_000).catch(() => undefined);
      figures.redials += caller.redials - 1;
      if (records === undefined) {
        figures.neverEnded++;
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
        if (!(await delivered(call.id, numbers.length))) figures.deliveriesWrong++;
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
      const missing = (seconds * 8_000 - received) / 8_000;
      if (missing - told > 0.5) figures.untoldS += missing - told;
    }
    return figures;
  }

  async function recordsOf(
    callSid: string,
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
    const list = await json(`/api/calls?carrier_call_id=${callSid}`);
    if (list === undefined || list.items.length === 0) return false;
    const found: { call: AnyJson; events: AnyJson[] }[] = [];
    for (const { id } of list.items) {
      const events = (await json(`/api/calls/${id}/events?limit=1000`))?.items ?? [];
      if (events.at(-1)?.type !== 'call.completed') return false;
      found.push({ call: await json(`/api/calls/${id}`), events });
    }
    return found;
  }

  /** Each number came, and none came for the first time behind a higher one. */
  function delivered(callId: string, count: number): Promise<boolean> {
    return until(() => {
      const numbers = crm.of(callId);
      return new Set(numbers).size === count && [...new Set(numbers)].every((n, at) => n === at + 1); // prettier-ignore
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

/**
 * Measures what a stream costs that comes in at a node without its call, and what a leg costs in a fleet.
 *
 * Method: two nodes of the whole program share a Postgres and the sink of the bridge bench, which checks every byte of
 * every frame and its age. Of each call a first stream opens at node A and stays silent; a second one of the same call
 * comes in at A (right) or at B (wrong: B sends it on to A). Frames go through one of the two sets at a time, in short
 * turns (A B B A B A A B), so that both see the same machine. CPU is that of both processes together, and of B alone,
 * divided by the frames that came out. Then the same legs on one, two and three nodes, at the right ones.
 *
 *   BENCH_LEGS=50 BENCH_SECONDS=5 npm run bench -- relay
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../support/process/free-port.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import type { GeneratorCommand, GeneratorReport } from './bridge/generator.ts';
import type { ProbeReading } from './bridge/probe.ts';
import type { SinkCommand, SinkReport } from './bridge/sink.ts';

const here = join(import.meta.dirname, 'bridge');
const root = join(import.meta.dirname, '../..');
const quiet = '--disable-warning=ExperimentalWarning';
const legs = Number(process.env['BENCH_LEGS'] ?? 50);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const order = ['right', 'wrong', 'wrong', 'right', 'wrong', 'right', 'right', 'wrong'] as const;

type BenchNode = AsyncDisposable & { port: number; child: ChildProcess };
type Way = 'right' | 'wrong';
type RelayTurn = Omit<SinkReport, 'cpuMicros'> & { cpuMicros: number[]; lateShare: number };

async function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  const answer = once(child, 'message');
  child.send(message);
  const [value] = (await answer) as [T & { error?: string }];
  if (value.error !== undefined) throw new Error(value.error);
  return value;
}

async function startNode(databaseUrl: string, sink: string): Promise<BenchNode> {
  const dir = await mkdtemp(join(tmpdir(), 'trunkline-bench-'));
  const child = fork(join(root, 'src/main.ts'), [], {
    execArgv: [quiet, '--expose-gc', '--import', join(here, 'probe.ts')],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dir,
      PORT: '0',
      DATABASE_URL: databaseUrl,
      TRUNKLINE_DATA: dir,
      TRUNKLINE_SPEECH_URL: sink,
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_QUIET_FILL_MS: '0',
      TRUNKLINE_NODE_URL: `http://127.0.0.1:${await freePort()}`,
      TRUNKLINE_NODE_KEY: 'the-same-key-at-all-nodes',
      // A machine that is busy must not lose a node in the middle of the bench.
      TRUNKLINE_NODE_SILENT_MS: '60000',
    },
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a node ended with ${String(code)}`)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const address = /ready (?:at )?(https?:\/\/[\w.:]+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  return {
    port: Number(new URL(url).port),
    child,
    async [Symbol.asyncDispose]() {
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
      if (child.exitCode === null) await once(child, 'exit');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export async function run(): Promise<void> {
  if (postgresMissing !== undefined) {
    console.log(`left out: ${postgresMissing}`);
    return;
  }
  await using postgres = await startPostgres();
  const sink = fork(join(here, 'sink.ts'), { execArgv: [quiet] });
  const generator = fork(join(here, 'generator.ts'), { execArgv: [quiet] });
  const [{ port: sinkPort }] = (await once(sink, 'message')) as [{ port: number }];
  const sinkUrl = `http://127.0.0.1:${sinkPort}`;
  const sinkSays = (message: SinkCommand): Promise<SinkReport> => ask(sink, message);
  const generate = (command: GeneratorCommand): Promise<GeneratorReport> => ask(generator, command);
  let nextLeg = 0;

  const open = async (set: string, { port }: BenchNode, count: number, callsOf?: string) => {
    const already = (await sinkSays('report')).sessions;
    await generate({
      do: 'open',
      set,
      port,
      path: '/carriers/twilio',
      legs: count,
      firstLeg: nextLeg,
      ...(callsOf === undefined ? {} : { callsOf }),
    });
    nextLeg += count;
    for (let wait = 0; (await sinkSays('report')).sessions < already + count; wait++) {
      if (wait > 600) throw new Error(`not every leg of ${set} got its session`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  const turn = async (set: string, nodes: readonly BenchNode[]): Promise<RelayTurn> => {
    await sinkSays('reset');
    const cpuOf = () =>
      Promise.all(nodes.map(({ child }) => ask<ProbeReading>(child, { probe: 'read' })));
    const before = await cpuOf();
    const { byLeg, lateShare, frames } = await generate({ do: 'play', set, seconds });
    let heard = await sinkSays('report');
    for (let wait = 0; heard.frames < frames && wait < 100; wait++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      heard = await sinkSays('report');
    }
    const after = await cpuOf();
    const arrived = new Map(heard.byLeg);
    const missing = byLeg.reduce((sum, [leg, sent]) => sum + Math.abs(sent - (arrived.get(leg) ?? 0)), 0); // prettier-ignore
    if (missing + heard.wrong > 0)
      console.log(`  ${set}: frames lost, doubled or altered ${missing + heard.wrong}`);
    const cpuMicros = after.map(({ cpuMicros: now }, at) => now - (before[at]?.cpuMicros ?? 0));
    return { ...heard, cpuMicros, lateShare };
  };

  {
    const databaseUrl = await postgres.newDatabase();
    await using a = await startNode(databaseUrl, sinkUrl);
    await using b = await startNode(databaseUrl, sinkUrl);
    const nodes = [a, b];
    await open('calls right', a, legs);
    await open('calls wrong', a, legs);
    await open('right', a, legs, 'calls right');
    await open('wrong', b, legs, 'calls wrong');
    const turns: Record<Way, RelayTurn[]> = { right: [], wrong: [] };
    for (const way of order.slice(0, 2)) await turn(way, nodes); // warm
    for (const way of order) turns[way].push(await turn(way, nodes));
    const mean = (way: Way, of: (one: RelayTurn) => number): number =>
      turns[way].reduce((sum, one) => sum + of(one), 0) / turns[way].length;
    const perFrame = ({ cpuMicros, frames }: RelayTurn, at?: number): number =>
      (at === undefined ? cpuMicros.reduce((sum, one) => sum + one, 0) : (cpuMicros[at] ?? 0)) /
      Math.max(1, frames);
    const late = Math.max(...[...turns.right, ...turns.wrong].map(({ lateShare }) => lateShare));
    console.log(
      `${legs} legs at 50 frames a second at the right node, and the same at the wrong one (generator late in ${(late * 100).toFixed(1)} % of its turns)\n`,
    );
    const rows: [string, (one: RelayTurn) => number][] = [
      ['CPU us a frame, both nodes', (one) => perFrame(one)],
      ['  of it the node with the call', (one) => perFrame(one, 0)],
      ['  of it the other node', (one) => perFrame(one, 1)],
      ['latency p50 ms', ({ p50Ms }) => p50Ms],
      ['latency p99 ms', ({ p99Ms }) => p99Ms],
    ];
    console.log('| | right node | wrong node | more |');
    console.log('|---|---|---|---|');
    for (const [name, of] of rows) {
      const [right, wrong] = [mean('right', of), mean('wrong', of)];
      console.log(
        `| ${name} | ${right.toFixed(2)} | ${wrong.toFixed(2)} | ${(wrong - right).toFixed(2)} |`,
      );
    }
    for (const set of ['right', 'wrong', 'calls right', 'calls wrong'])
      await generate({ do: 'stop', set });
  }

  console.log('\n| nodes | legs | CPU us a frame, all nodes | legs a core | latency p99 ms |');
  console.log('|---|---|---|---|---|');
  for (const count of [1, 2, 3]) {
    const databaseUrl = await postgres.newDatabase();
    await using stack = new AsyncDisposableStack();
    const nodes: BenchNode[] = [];
    for (let at = 0; at < count; at++) nodes.push(stack.use(await startNode(databaseUrl, sinkUrl)));
    const set = `fleet of ${count}`;
    for (const node of nodes) await open(set, node, Math.floor((legs * 2) / count));
    await turn(set, nodes); // warm
    const { cpuMicros, frames, p99Ms } = await turn(set, nodes);
    const perFrame = cpuMicros.reduce((sum, one) => sum + one, 0) / Math.max(1, frames);
    console.log(
      `| ${count} | ${Math.floor((legs * 2) / count) * count} | ${perFrame.toFixed(1)} | ${Math.floor(1e6 / 50 / perFrame)} | ${p99Ms.toFixed(1)} |`,
    );
    await generate({ do: 'stop', set });
  }
  for (const child of [sink, generator]) child.kill('SIGKILL');
}

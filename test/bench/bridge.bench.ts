/**
 * The bridge against the smallest possible pipe, on one machine, in turns.
 *
 * Method: a generator process plays N Twilio legs at 50 frames a second into the process under test; a sink
 * process is the speech service, acknowledges every message, checks every byte of every frame (its number, its
 * leg, its content) and its age by a stamp in the payload. The process under test is in turn the pipe, the
 * bridge, the bridge, the pipe, and so on in short turns (A B B A B A A B), so that a machine that is faster for
 * some seconds is so for both; frames never go to two at once; ratios are sums of one against sums of the other.
 * The bridge is the whole program (src/main.ts) with carriers, calls, events, SQLite, journal, ledger, recording
 * and the language runner on; the pipe reads and parses one ack a frame as well. CPU is the whole process
 * with all its threads, divided by the frames that came out. A row at N legs is printed only if the generator kept
 * its own time (at most 1 % of its turns over 10 ms late) and neither side took more than 70 % of a core; a row
 * that is left out says why. Memory: what each further leg adds to a process that has some legs already, after a
 * garbage collection and while frames flow; both sides run with the memory settings of the image.
 *
 *   npm run bench -- bridge             all sizes
 *   BENCH_LEGS=100 BENCH_SECONDS=5 npm run bench -- bridge
 *   BENCH_ONLY=scans|play|acks|memory|ceiling|churn npm run bench -- bridge
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { carriers } from '../../src/carriers/all.ts';
import { CarriersConfig } from '../../src/carriers/config.ts';
import { readServerMessage } from '../../src/protocol/live-messages.ts';
import { scanAck } from '../../src/speech-client/message-identity.ts';
import { twilioStart } from '../support/carriers/carrier-client.ts';
import type { GeneratorCommand, GeneratorReport } from './bridge/generator.ts';
import type { ProbeReading } from './bridge/probe.ts';
import type { SinkCommand, SinkReport } from './bridge/sink.ts';

const here = join(import.meta.dirname, 'bridge');
const root = join(import.meta.dirname, '../..');
const quiet = '--disable-warning=ExperimentalWarning';
/** Both sides are started with the memory settings of the image, which are those of `npm start` and two more. */
const image = readFileSync(join(root, 'Dockerfile'), 'utf8');
const memoryFlags = image.match(/--(?:[\w-]+-size=\d+|no-parallel-scavenge)/g) ?? [];
const memoryEnv = Object.fromEntries(
  [...image.matchAll(/\b(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]),
);
const sizes = (process.env['BENCH_LEGS'] ?? '100,500,1000').split(',').map(Number);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 4);

type SubjectKind = 'pipe' | 'bridge';
type Subject = AsyncDisposable & {
  kind: SubjectKind;
  port: number;
  path: string;
  child: ChildProcess;
  url: string;
};
type Turn = {
  kind: SubjectKind;
  cpuMicrosPerFrame: number;
  cpuShare: number;
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
  loopP99Ms: number;
  framesPerSecond: number;
  lateShare: number;
  inexact: number;
  journalMs: number;
};

async function ask<T>(child: ChildProcess, message: unknown): Promise<T> {
  const answer = once(child, 'message');
  child.send(message as object);
  const [value] = (await answer) as [T & { error?: string }];
  if (value.error !== undefined) throw new Error(value.error);
  return value;
}

const probe = async (child: ChildProcess, what: string): Promise<ProbeReading> =>
  await ask(child, { probe: what });
const sleep = async (ms: number): Promise<void> =>
  await new Promise((resolve) => setTimeout(resolve, ms));

async function startSubject(kind: SubjectKind, sink: string): Promise<Subject> {
  const dir = await mkdtemp(join(tmpdir(), 'trunkline-bench-'));
  const file = kind === 'pipe' ? join(here, 'pipe.ts') : join(root, 'src/main.ts');
  const child = fork(file, kind === 'pipe' ? [sink.replace('http', 'ws')] : [], {
    execArgv: [quiet, ...memoryFlags, '--expose-gc', '--import', join(here, 'probe.ts')],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dir,
      ...memoryEnv,
      ...(process.env['BENCH_PROFILE'] === undefined
        ? {}
        : { BENCH_PROFILE: process.env['BENCH_PROFILE'] }),
      PORT: '0',
      TRUNKLINE_DATA: dir,
      TRUNKLINE_SPEECH_URL: sink,
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_LOG_LEVEL: 'info',
      TRUNKLINE_QUIET_FILL_MS: '0',
      TRUNKLINE_FINALS_WAIT_MS: '1000',
    },
  });
  if (!child.stdout) throw new Error('no output');
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${kind} ended with ${String(code)}`)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const address = /ready (?:at )?(https?:\/\/[\w.:]+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  return {
    kind,
    port: Number(new URL(url).port),
    path: kind === 'pipe' ? '/' : '/carriers/twilio',
    url,
    child,
    async [Symbol.asyncDispose]() {
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
      if (child.exitCode === null) await once(child, 'exit');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The yardsticks go before what is measured, where the machine lets us: a late one would measure itself. */
function goFirst(pid: number | undefined): void {
  try {
    setPriority(pid ?? 0, constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not allowed here: the generator says itself how late it was.
  }
}

class Bench implements AsyncDisposable {
  readonly sink: ChildProcess = fork(join(here, 'sink.ts'), { execArgv: [quiet] });
  readonly generator: ChildProcess = fork(join(here, 'generator.ts'), { execArgv: [quiet] });
  sinkUrl = '';
  private nextLeg = 0;

  async start(): Promise<void> {
    const [{ port }] = (await once(this.sink, 'message')) as [{ port: number }];
    this.sinkUrl = `http://127.0.0.1:${port}`;
    for (const { pid } of [this.sink, this.generator]) goFirst(pid);
  }

  async generate(command: GeneratorCommand): Promise<GeneratorReport> {
    return await ask(this.generator, command);
  }

  async sinkSays(message: SinkCommand): Promise<SinkReport> {
    return await ask(this.sink, message);
  }

  async open(subject: Subject, legs: number): Promise<void> {
    const already = (await this.sinkSays('report')).sessions;
    await this.generate({
      do: 'open',
      set: subject.kind,
      port: subject.port,
      path: subject.path,
      legs,
      firstLeg: this.nextLeg,
    });
    this.nextLeg += legs;
    for (let wait = 0; (await this.sinkSays('report')).sessions < legs + already; wait++) {
      if (wait > 300) throw new Error('not every leg got its session');
      await sleep(100);
    }
  }

  async send(
    { kind }: Subject,
    how: 'play' | 'flood',
    forSeconds: number,
  ): Promise<GeneratorReport> {
    return await this.generate({ do: how, set: kind, seconds: forSeconds, sink: this.sinkUrl });
  }

  async stop(subject: Subject): Promise<void> {
    await this.generate({ do: 'stop', set: subject.kind });
  }

  /** Frames of this turn that did not come out exactly as they went in. */
  async inexact(sent: readonly [number, number][]): Promise<number> {
    let report = await this.sinkSays('report');
    const missing = (): number => {
      const heard = new Map(report.byLeg);
      return sent.reduce((sum, [leg, count]) => sum + Math.abs(count - (heard.get(leg) ?? 0)), 0);
    };
    for (let wait = 0; wait < 100 && missing() > 0; wait++) {
      await sleep(100);
      report = await this.sinkSays('report');
    }
    return missing() + report.wrong;
  }

  /** Frames flow for a while, and everything that was begun for the legs is finished. */
  async settle(subject: Subject, how: 'play' | 'flood' = 'play'): Promise<void> {
    for (const seconds of [2, 3]) {
      const { byLeg } = await this.send(subject, how, seconds);
      await this.inexact(byLeg);
    }
  }

  async turn(subject: Subject, how: 'play' | 'flood'): Promise<Turn> {
    await probe(subject.child, 'reset');
    await this.sinkSays('reset');
    const before = await probe(subject.child, 'read');
    const played = await this.send(subject, how, seconds);
    const inTime = (await this.sinkSays('report')).frames;
    const inexact = await this.inexact(played.byLeg);
    const after = await probe(subject.child, 'read');
    const heard = await this.sinkSays('report');
    await probe(subject.child, 'read after gc');
    const cpu = after.cpuMicros - before.cpuMicros;
    return {
      kind: subject.kind,
      cpuMicrosPerFrame: cpu / Math.max(1, heard.frames),
      cpuShare: cpu / 1e6 / played.seconds,
      p50Ms: heard.p50Ms,
      p99Ms: heard.p99Ms,
      p999Ms: heard.p999Ms,
      loopP99Ms: after.loopDelayP99Ms,
      framesPerSecond: inTime / played.seconds,
      lateShare: played.lateShare,
      inexact,
      journalMs: subject.kind === 'bridge' ? await slowestJournalMs(subject.url) : 0,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sink.kill('SIGKILL');
    this.generator.kill('SIGKILL');
    await Promise.resolve();
  }
}

async function slowestJournalMs(url: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`);
  const line = /^trunkline_journal_slowest_write_seconds (\S+)$/m.exec(await answer.text());
  return line ? Number(line[1]) * 1_000 : Number.NaN;
}

const mean = (turns: readonly Turn[], of: (turn: Turn) => number): number =>
  turns.reduce((sum, turn) => sum + of(turn), 0) / turns.length;

/** Both processes live and have their legs all the time; frames go to one at a time. */
async function abba(
  bench: Bench,
  legs: number,
  how: 'play' | 'flood',
): Promise<Record<SubjectKind, Turn[]>> {
  await bench.sinkSays('forget');
  await using pipe = await startSubject('pipe', bench.sinkUrl);
  await using bridge = await startSubject('bridge', bench.sinkUrl);
  const subjects = { pipe, bridge };
  for (const subject of [pipe, bridge]) {
    await bench.open(subject, legs);
    await bench.settle(subject, how);
  }
  const turns: Record<SubjectKind, Turn[]> = { pipe: [], bridge: [] };
  for (const kind of order) turns[kind].push(await bench.turn(subjects[kind], how));
  for (const subject of [pipe, bridge]) await bench.stop(subject);
  return turns;
}

const order = ['pipe', 'bridge', 'bridge', 'pipe', 'bridge', 'pipe', 'pipe', 'bridge'] as const;

function row(
  name: string,
  { pipe, bridge }: Record<SubjectKind, Turn[]>,
  of: (turn: Turn) => number,
  target = '',
): void {
  const [one, other] = [mean(pipe, of), mean(bridge, of)];
  console.log(
    `  ${name.padEnd(30)} pipe ${one.toFixed(2).padStart(10)}   bridge ${other.toFixed(2).padStart(10)}   ratio ${(other / one).toFixed(2).padStart(5)}  ${target}`,
  );
}

function tableAt(legs: number, turns: Record<SubjectKind, Turn[]>): void {
  const all = [...turns.pipe, ...turns.bridge];
  const late = Math.max(...all.map(({ lateShare }) => lateShare));
  const busiest = Math.max(...all.map(({ cpuShare }) => cpuShare));
  console.log(
    `\n${legs} legs at 50 frames a second (busiest side ${(busiest * 100).toFixed(0)} % of a core, generator late in ${(late * 100).toFixed(1)} % of its turns)`,
  );
  row('CPU us a frame', turns, (turn) => turn.cpuMicrosPerFrame, 'at most 1.30');
  if (late > 0.01 || busiest > 0.7) {
    console.log('  latency rows left out: the machine was too busy for them to mean anything');
  } else {
    // A few frames wait up to 2 ms for others in the bridge, many do not: the targets are those of many legs.
    const [p50, p99] = legs >= 1_000 ? ['at most 1.50', 'at most 2.00'] : [];
    row('added latency p50 ms', turns, (turn) => turn.p50Ms, p50);
    row('added latency p99 ms', turns, (turn) => turn.p99Ms, p99);
    row('added latency p99.9 ms', turns, (turn) => turn.p999Ms);
    row('event-loop delay p99 ms', turns, (turn) => turn.loopP99Ms);
  }
  exact(all);
  console.log(
    `  longest stall by the journal   ${Math.max(...turns.bridge.map(({ journalMs }) => journalMs)).toFixed(2)} ms  at most 10`,
  );
}

function exact(turns: readonly Turn[]): void {
  const inexact = turns.reduce((sum, turn) => sum + turn.inexact, 0);
  console.log(`  frames lost, doubled or altered ${inexact}`);
}

type LegMemory = { rss: number; heap: number };

/** The memory that a further leg costs, in a process that has seen legs before. */
async function furtherLeg(
  bench: Bench,
  kind: SubjectKind,
  some: number,
  more: number,
): Promise<LegMemory> {
  await using subject = await startSubject(kind, bench.sinkUrl);
  await bench.sinkSays('forget');
  await bench.open(subject, some);
  await bench.settle(subject);
  const few = await probe(subject.child, 'read after gc');
  await bench.open(subject, more);
  await bench.settle(subject);
  const many = await probe(subject.child, 'read after gc');
  await bench.stop(subject);
  const share = (one: number, other: number): number => (other - one) / more / 1_024;
  return {
    rss: share(few.rssBytes, many.rssBytes),
    heap: share(few.heapBytes, many.heapBytes),
  };
}

/** Each process is new: how much its allocator keeps of what it once had differs from one to the next. */
async function memory(bench: Bench, some: number, more: number): Promise<void> {
  const found: Record<SubjectKind, LegMemory[]> = { pipe: [], bridge: [] };
  for (const kind of ['pipe', 'bridge', 'bridge', 'pipe'] as const)
    found[kind].push(await furtherLeg(bench, kind, some, more));
  const meanOf = (kind: SubjectKind, of: keyof LegMemory): number =>
    found[kind].reduce((sum, one) => sum + one[of], 0) / found[kind].length;
  const line = (name: string, of: 'rss' | 'heap', target: string): void => {
    const [one, other] = [meanOf('pipe', of), meanOf('bridge', of)];
    console.log(
      `  ${name.padEnd(30)} pipe ${one.toFixed(1).padStart(10)}   bridge ${other.toFixed(1).padStart(10)}   ${target}`,
    );
  };
  console.log(`\nmemory of a further leg, ${more} of them after ${some}`);
  line('RSS KB', 'rss', 'at most 60');
  line('heap KB', 'heap', 'at most 16');
}

/** Heap after rounds of legs that came and went, against the heap before them. */
async function churn(bench: Bench, legs: number, rounds: number): Promise<void> {
  await using subject = await startSubject('bridge', bench.sinkUrl);
  // One round first, so that code and caches are there.
  const once_ = async (): Promise<void> => {
    await bench.open(subject, legs);
    await bench.send(subject, 'play', 1);
    await bench.stop(subject);
    for (let wait = 0; wait < 200 && (await bench.sinkSays('report')).sessions > 0; wait++)
      await sleep(100);
    await sleep(2_000);
  };
  await once_();
  const before = await probe(subject.child, 'read after gc');
  for (let round = 0; round < rounds; round++) await once_();
  await sleep(3_000);
  const after = await probe(subject.child, 'read after gc');
  console.log(
    `\nheap after ${legs * rounds} legs have come and gone: ${(before.heapBytes / 2 ** 20).toFixed(1)} MB before, ${(after.heapBytes / 2 ** 20).toFixed(1)} MB after (${(((after.heapBytes - before.heapBytes) / before.heapBytes) * 100).toFixed(1)} %; within 10 %)`,
  );
}

/** The cost of the slow paths that the scans replace: the same messages through both, in turns. */
function scans(): void {
  const ack = Buffer.from(
    '{"session_id":"7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11","created_at":"2026-02-03T09:15:00.700Z","type":"audio_chunk","acknowledged":true,"error":null,"data":{"byte_range":[123360,123520],"time_range":[15.42,15.44]}}',
  );
  const range = { start: 0, end: 0 };
  // Exactly the form that the scan knows, and the same with a space that makes it read in full.
  const media = (number: number, space: string): Buffer =>
    Buffer.from(
      `{"event":"media",${space}"sequenceNumber":"${number}","streamSid":"MZ1","media":{"track":"inbound","chunk":"${number - 1}","timestamp":"${number * 20}","payload":"${Buffer.alloc(160, number).toString('base64')}"}}`,
    );
  const decode = (space: string): ((round: number) => void) => {
    const codec = carriers.twilio.newCodec(CarriersConfig.parse({}), emptyRequest);
    codec.decode(Buffer.from(JSON.stringify(twilioStart())), false);
    const messages = Array.from({ length: scanRounds }, (_, at) => media(at + 2, space));
    return (round) => void codec.decode(messages[round]!, false);
  };
  const [full, scanned] = [decode(' '), decode('')];
  console.log('\nus a message            read in full      scanned');
  const both = (name: string, slow: (round: number) => void, fast: (round: number) => void) => {
    const [one, other] = [microsOf(slow), microsOf(fast)];
    console.log(
      `  ${name.padEnd(20)} ${one.toFixed(2).padStart(12)} ${other.toFixed(2).padStart(12)}`,
    );
  };
  both(
    'acknowledgement',
    () => void readServerMessage(ack.toString('utf8')),
    () => void scanAck(ack, range),
  );
  both('media frame', full, scanned);
}

const scanRounds = 200_000;
const emptyRequest = { target: '/', path: '/', query: '', headers: {} };

function microsOf(work: (round: number) => void): number {
  const startedMs = performance.now();
  for (let round = 0; round < scanRounds; round++) work(round);
  return ((performance.now() - startedMs) * 1_000) / scanRounds;
}

export async function run(): Promise<void> {
  const only = process.env['BENCH_ONLY'];
  if (only === undefined || only === 'scans') scans();
  if (only === 'scans') return;
  await using bench = new Bench();
  await bench.start();
  if (only === undefined || only === 'play')
    for (const legs of sizes) tableAt(legs, await abba(bench, legs, 'play'));
  if (only === undefined || only === 'acks')
    for (const legs of sizes) await withoutAcks(bench, legs);
  if (only === undefined || only === 'memory')
    await memory(bench, 200, Number(process.env['BENCH_MORE'] ?? 300));
  if (only === undefined || only === 'ceiling') await ceilingOf(bench);
  if (only === undefined || only === 'churn') await churn(bench, 500, 4);
}

/** The rest of the difference when nobody has to read acknowledgements. */
async function withoutAcks(bench: Bench, legs: number): Promise<void> {
  await bench.sinkSays('ack rarely');
  const turns = await abba(bench, legs, 'play');
  await bench.sinkSays('ack each');
  console.log(`\n${legs} legs at 50 frames a second, one acknowledgement in 2 s of audio`);
  row('CPU us a frame', turns, (turn) => turn.cpuMicrosPerFrame, 'at most 1.15');
  exact([...turns.pipe, ...turns.bridge]);
}

async function ceilingOf(bench: Bench): Promise<void> {
  const ceiling = await abba(bench, 100, 'flood');
  console.log('\nceiling, 100 legs, 32 frames of each always under way');
  row('frames a second', ceiling, (turn) => turn.framesPerSecond, 'at least 0.80');
  row('frames a second a core', ceiling, (turn) => 1e6 / turn.cpuMicrosPerFrame);
  row('CPU us a frame', ceiling, (turn) => turn.cpuMicrosPerFrame);
  exact([...ceiling.pipe, ...ceiling.bridge]);
}

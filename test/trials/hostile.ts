/**
 * `npm run trials -- hostile`: everything that a hostile reading of the port found, from fifty addresses of loopback
 * at once, beside twenty honest calls, for an hour (HOSTILE_MINUTES). The speech service is scripted, so that no
 * recogniser is measured. Some calls are hostile themselves: their speech service answers what no service should.
 * HOSTILE_KINDS takes some of the attacks, by part of their names, comma-separated; HOSTILE_PER_SECOND is their rate.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { carriers } from '../../src/carriers/all.ts';
import { play } from '../../src/player/play.ts';
import type { AnyJson } from '../support/bridge/test-bridge.ts';
import { playedCall } from '../support/carriers/played-call.ts';
import { startCrm } from '../support/crm/crm.ts';
import { secret } from '../support/crm/outbox.ts';
import {
  hostileKinds,
  startHostiles,
  type HostileKind,
  type HostileReport,
} from './hostile/conversations.ts';
import { startApp, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import { seededAudio } from '../support/speech/audio.ts';
import { FakeSpeech, wordsOf, type FakeSession } from '../support/speech/fake-speech.ts';

const minutes = Math.min(180, Math.max(0.5, Number(process.env['HOSTILE_MINUTES'] ?? 60)));
const perSecond = Math.min(200, Number(process.env['HOSTILE_PER_SECOND'] ?? 20));
const wanted = process.env['HOSTILE_KINDS']?.split(',');
const kinds = hostileKinds.filter((kind) => wanted?.some((part) => kind.includes(part)) ?? true);
/**
 * Rounds of the same calls, first without attackers and then with them. What else the machine does in an hour then
 * falls on both alike, and what is measured under attack is compared with what is measured without.
 */
const rounds = Math.min(12, Math.max(1, Math.round(minutes / 3)));
const quietS = Math.min(120, Math.max(25, (minutes * 20) / rounds));
const honestCalls = 20;
const callS = 20;
const addresses = Array.from({ length: 50 }, (_, at) => `127.0.1.${at + 1}`);
const key = 'key-of-the-operator-in-the-trial';
const authToken = 'twilio-secret-of-the-trial';
const hostileNumber = '+15550199999';

/** The answers that each attack may get. Anything else is a finding. */
const right: Record<HostileKind, RegExp> = {
  'pipelined documentation, never read': /^ended$/,
  'forty requests, never read': /^ended$/,
  'a property of every object': /^(401|403|429) json$/,
  'the same with a key': /^(200|400|422) json$/,
  'headers of a proxy': /^(401|403|429) json$/,
  'sessions by guessed tokens': /^(4401|401|429|503)$/,
  'streams by guessed tokens': /^(401|403|503)/,
  'a path of slashes': /^(401|404|429) json$/,
  'an upgrade to HTTP/2': /^200/,
  'a request of another site': /^(401|403|429) json$/,
  'guessed keys': /^(401|403|429) json$/,
  'guessed sign-ins': /^(401|403|429) json$/,
  'a filter over all sessions': /^200 json$/,
  silence: /^(closed without a word|408)/,
  'a dripped header': /^ended$/,
  'frame numbers that jump': /^answered$/,
  'eleven days of discarded audio': /^answered$/,
  'a signed form of four thousand names': /^(403|429)/,
  'guessed passwords of a carrier': /^(401|403|429|503)/,
  'a webhook token at a stream': /^(401|403|429|503)/,
  'a request to the address of another host': /^(401|403|404|429) json$/,
  'texts that no database takes, with a key': /^(200|400) json$/,
};

/** The messages of the speech service in the middle of a hostile call. */
const hostileFinals: ((session: FakeSession) => object)[] = [
  (session) => final(session, 'nul', 'words \u0000 with a nul', 0, 0.5),
  (session) => final(session, 'late', 'words at the end of time', 1e308, 1.7e308),
  (session) => final(session, 'long', 'endless '.repeat(40_000), 0, 0.5),
  (session) => final(session, 'loop', 'please loopforever', 0, 0.5),
];

function final(session: FakeSession, id: string, text: string, start: number, end: number): object {
  const spoken = { start, end, confidence: 1, channel: 0, language: 'en', text };
  const words = [{ word: text, start, end, confidence: 1 }];
  return {
    session_id: session.id,
    created_at: new Date().toISOString(),
    type: 'transcript',
    data: { id, is_final: true, utterance: { ...spoken, words } },
  };
}

type Played = { callId: string; startedMs: number; exact: boolean; problem: string };
type HostilePhase = { calls: Played[]; latenciesMs: number[] };

/** The work of the machine in a phase: whose CPU it was, and how long the event loops of both sides were held up. */
class Load {
  readonly #startedMs = performance.now();
  readonly #cpuS = new Map<string, { first: number; last: number }>();
  readonly #waitsMs: number[] = [];
  readonly #own = monitorEventLoopDelay({ resolution: 5 });
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;

  /** The processes whose CPU is counted, as they are at each look: the program may be started again. */
  constructor(app: () => App, others: Record<string, ChildProcess | undefined>) {
    this.#own.enable();
    this.#watching = this.#watch(app, others);
  }

  async #watch(app: () => App, others: Record<string, ChildProcess | undefined>): Promise<void> {
    while (!this.#over.signal.aborted) {
      const processes = { program: app().process, ...others };
      for (const [name, child] of Object.entries(processes)) await this.#look(name, child?.pid);
      await this.#look('trial', process.pid);
      const askedMs = performance.now();
      const asked = app().get('/health/live', { signal: AbortSignal.timeout(60_000) });
      await asked.then((answer) => answer.arrayBuffer()).catch(() => undefined);
      this.#waitsMs.push(performance.now() - askedMs);
      await sleep(100);
    }
  }

  async #look(name: string, pid: number | undefined): Promise<void> {
    const cpuS = pid === undefined ? undefined : await cpuSecondsOf(pid).catch(() => undefined);
    if (cpuS === undefined) return;
    this.#cpuS.set(name, { first: this.#cpuS.get(name)?.first ?? cpuS, last: cpuS });
  }

  async end(): Promise<void> {
    this.#over.abort();
    await this.#watching;
    this.#own.disable();
    const seconds = (performance.now() - this.#startedMs) / 1_000;
    const shares = [...this.#cpuS].map(([name, { first, last }]) => `${name} ${(((last - first) / seconds) * 100).toFixed(0)} %`); // prettier-ignore
    const own = (share: number): string => (this.#own.percentile(share) / 1e6).toFixed(0);
    console.log(
      `  of a core: ${shares.join(', ')}; an answer of the program took p95 ${percentile(this.#waitsMs, 0.95).toFixed(0)} ms, longest ${percentile(this.#waitsMs, 1).toFixed(0)} ms; ` +
        `the trial's own event loop was late by p95 ${own(95)} ms, p99 ${own(99)} ms`,
    );
  }
}

class Trial {
  readonly #speech: FakeSpeech;
  readonly #folder: string;
  readonly #env: Record<string, string>;
  #app: App;
  #port: number;
  #isEnding = false;
  /** When each call of the carrier's id began, and in which phase. */
  readonly #began = new Map<string, { startedMs: number; phase: HostilePhase }>();
  /** Texts that came to the CRM, by the carrier's call id and role. */
  readonly #texts = new Map<string, Map<string, string>>();
  readonly #summaries = new Set<string>();
  readonly restarts: string[] = [];
  readonly rssMb: { atS: number; mb: number }[] = [];
  #seed = 1;
  hostileCalls = 0;
  erased = 0;

  constructor(speech: FakeSpeech, app: App, folder: string, env: Record<string, string>) {
    this.#speech = speech;
    this.#app = app;
    this.#folder = folder;
    this.#env = env;
    this.#port = Number(new URL(app.url).port);
    void this.#supervise();
  }

  get port(): number {
    return this.#port;
  }

  get app(): App {
    return this.#app;
  }

  /** Starts the program again, as its supervisor would, and counts it. */
  async #supervise(): Promise<void> {
    while (!this.#isEnding) {
      const { code, signal } = await this.#app.exited();
      if (this.#isEnding) return;
      this.restarts.push(`${code ?? signal}: ${this.#app.lines.slice(-3).join(' | ').slice(-600)}`);
      this.#app = await startApp({ dataDir: this.#folder, env: { ...this.#env, PORT: String(this.#port) } }); // prettier-ignore
    }
  }

  leave(): void {
    this.#isEnding = true;
  }

  /** An event at the CRM: its latency is from when its second of audio had been spoken. */
  arrived(event: AnyJson): void {
    const id = event.call.carrier_call_id as string;
    if (event.type === 'call.summary') this.#summaries.add(id);
    if (event.type !== 'call.transcript') return;
    const texts = this.#texts.get(id) ?? new Map<string, string>();
    texts.set(`${event.leg.role} ${event.data.start}`, event.data.text);
    this.#texts.set(id, texts);
    const call = this.#began.get(id);
    const saidMs = (call?.startedMs ?? 0) + (Number(event.data.start) + 1) * 1_000;
    call?.phase.latenciesMs.push(performance.now() - saidMs);
  }

  async honest(phase: HostilePhase, untilMs: number, line: number): Promise<void> {
    await sleep((line * callS * 1_000) / honestCalls / 2);
    while (performance.now() < untilMs) phase.calls.push(await this.#honestCall(phase));
  }

  async #honestCall(phase: HostilePhase): Promise<Played> {
    const call = playedCall({ ...carriers.twilio.player.newIds(), legs: ['customer', 'agent'] });
    const audio = (['customer', 'agent'] as const).map((leg) => ({
      leg,
      bytes: seededAudio(callS * 8_000, this.#seed++),
    }));
    const startedMs = performance.now();
    this.#began.set(call.callId, { startedMs, phase });
    const played = await this.#play(call, audio);
    const problem =
      played.outcome === 'played'
        ? await this.#judge(call.callId, audio).catch((error: unknown) => String(error))
        : `${played.outcome} ${played.detail}`;
    this.#began.delete(call.callId);
    this.#texts.delete(call.callId);
    return { callId: call.callId, startedMs, exact: problem === '', problem };
  }

  #play(
    call: ReturnType<typeof playedCall>,
    audio: { leg: 'customer' | 'agent'; bytes: Buffer }[],
  ) {
    return play({
      to: `ws://127.0.0.1:${this.#port}/carriers/twilio`,
      player: carriers.twilio.player,
      call,
      secrets: { authToken },
      audio,
      speed: 1,
    });
  }

  /** Empty when the service heard every byte, the ledger says so, and the CRM has every word. */
  async #judge(
    callId: string,
    audio: { leg: 'customer' | 'agent'; bytes: Buffer }[],
  ): Promise<string> {
    await until(() => this.#summaries.delete(callId), 60_000);
    const sessions = this.#sessionsOf(callId);
    const texts = this.#texts.get(callId) ?? new Map<string, string>();
    const problems: string[] = [];
    for (const { leg, bytes } of audio) {
      const heard = sessions.find(({ bytes: own }) => own.length > 0 && own.subarray(0, 8_000).equals(bytes.subarray(0, 8_000))); // prettier-ignore
      if (!heard?.bytes.equals(bytes))
        problems.push(`${leg}: ${heard?.bytes.length ?? 0} of ${bytes.length} bytes heard`);
      const missing = wordsOf(bytes).filter((word, second) => texts.get(`${leg} ${second}`) !== word); // prettier-ignore
      if (missing.length > 0) problems.push(`${leg}: ${missing.length} words not at the CRM`);
    }
    for (const { id } of sessions) this.#speech.sessions.delete(id);
    return problems.join(', ');
  }

  #sessionsOf(callId: string): FakeSession[] {
    return [...this.#speech.sessions.values()].filter(
      ({ request }) => (request['custom_metadata'] as AnyJson)?.carrier_call_id === callId,
    );
  }

  /** Calls whose speech service goes mad; every third is erased afterwards. */
  async hostile(untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      const call = playedCall({ ...carriers.twilio.player.newIds(), from: hostileNumber });
      const bytes = seededAudio(8_000 * 4, this.#seed++);
      const playing = this.#play(call, [{ leg: 'customer', bytes }]);
      await sleep(2_000);
      const say = hostileFinals[this.hostileCalls++ % hostileFinals.length]!;
      for (const session of this.#sessionsOf(call.callId))
        session.socket?.send(JSON.stringify(say(session)));
      await playing;
      if (this.hostileCalls % 3 === 0) await this.#erase(call.callId);
      for (const { id, state } of this.#sessionsOf(call.callId))
        if (state !== 'live') this.#speech.sessions.delete(id);
    }
  }

  async #erase(carrierCallId: string): Promise<void> {
    const headers = { 'x-service-key': key };
    const signal = AbortSignal.timeout(20_000);
    try {
      const list = (await (await this.#app.get('/api/calls?limit=50', { headers, signal })).json()) as AnyJson; // prettier-ignore
      const found = list.items.find((one: AnyJson) => one.carrier_call_id === carrierCallId);
      if (!found) return;
      const path = `/api/calls/${found.id}`;
      const answer = await this.#app.get(path, { method: 'DELETE', headers, signal });
      if (answer.ok) this.erased++;
    } catch {
      // Refused or not answered: the honest calls are what is judged.
    }
  }

  async watchMemory(startedMs: number, until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const mb = await rssMbOf(this.#app.process).catch(() => 0);
      if (mb > 0) this.rssMb.push({ atS: (performance.now() - startedMs) / 1_000, mb });
      await sleep(1_000);
    }
  }

  /** SIGTERM at the end of it all. */
  async end(): Promise<{ code: number | null; seconds: number }> {
    this.#isEnding = true;
    const startedMs = performance.now();
    const killing = setTimeout(() => this.#app.process.kill('SIGKILL'), 60_000);
    const { code } = await this.#app.end('SIGTERM');
    clearTimeout(killing);
    return { code, seconds: (performance.now() - startedMs) / 1_000 };
  }
}

/** An endpoint whose mapping does not end when a caller says one word. */
const looping = `$contains($string(event.data.text), "loopforever")
  ? ($f := function($n) { $f($n + 1) }; $f(0))
  : {"method": "POST", "path": "/", "body": {"text": event.data.text}}`;

async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-hostile-'));
  await using speech = await FakeSpeech.start();
  await using crm = await startCrm([secret]);
  // Audio that carriers declare lost is silence: it must not become words that no recogniser would say.
  speech.script.silenceHasNoWords = true;
  speech.script.address = (url, { request }) =>
    (request['custom_metadata'] as AnyJson)?.from === hostileNumber && speech.posts.length % 4 === 0
      ? `${url}#fragment`
      : url;
  const settings = join(folder, 'settings.yaml');
  const endpoint = { url: crm.url, secrets: [secret], events: ['call.transcript', 'call.summary'] };
  const request = { shape: { steps: [{ name: 'note', request: looping }] } };
  const loop = { name: 'loop', ...endpoint, url: crm.url.replace('/hook', '/loop'), ...request, events: ['call.transcript'] }; // prettier-ignore
  await writeFile(settings, stringify({ outbox: { endpoints: [{ name: 'crm', ...endpoint }, loop] } })); // prettier-ignore
  const env = {
    TRUNKLINE_CONFIG: settings,
    TRUNKLINE_ROLES: 'bridge,speech,console',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_API_KEYS: key,
    TRUNKLINE_TWILIO_AUTH_TOKEN: authToken,
    TRUNKLINE_PLIVO_AUTH_TOKEN: 'plivo-secret-of-the-trial',
    TRUNKLINE_EXOTEL_USERNAME: 'exotel',
    TRUNKLINE_EXOTEL_PASSWORD: 'exotel-secret-of-the-trial',
    TRUNKLINE_VONAGE_API_KEY: 'abcd1234',
    TRUNKLINE_VONAGE_SIGNATURE_SECRET: 'vonage-secret-of-the-trial',
    TRUNKLINE_REJOIN_WAIT_MS: '1000',
    TRUNKLINE_QUIET_FILL_MS: '0',
  };
  const app = await startApp({ dataDir: folder, env });
  const trial = new Trial(speech, app, folder, env);
  crm.behave = (asked) => {
    crm.requests.length = 0;
    crm.arrivals.length = 0;
    if (asked.path.startsWith('/hook')) trial.arrived(asked.event);
    return 200;
  };
  try {
    await phases(trial);
  } finally {
    trial.leave(); // whatever went wrong: nobody starts the program again
    await trial.app[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  }
}

async function phases(trial: Trial): Promise<void> {
  const startedMs = performance.now();
  const watching = new AbortController();
  const memory = trial.watchMemory(startedMs, watching.signal);
  const quiet: HostilePhase = { calls: [], latenciesMs: [] };
  const loud: HostilePhase = { calls: [], latenciesMs: [] };
  const reports: HostileReport[] = [];
  let attacked: { atS: number; mb: number } | undefined;
  for (let round = 1; round <= rounds; round++) {
    console.log(`round ${round} of ${rounds}, quiet, then hostile`);
    await quietRound(trial, quiet);
    attacked ??= trial.rssMb.at(-1);
    reports.push(await hostileRound(trial, loud, (minutes * 60) / rounds));
  }
  watching.abort();
  await memory;
  for (const { problem } of loud.calls.filter(({ exact }) => !exact).slice(0, 20))
    console.log(`  not exact: ${problem}`);
  tell(exactCalls(quiet), `quiet, ${(quietS * rounds).toFixed(0)} s: ${callsText(quiet)}`);
  tell(exactCalls(loud), `hostile, ${(minutes * 60).toFixed(0)} s: ${callsText(loud)}`);
  tellLatency(quiet, loud);
  tellMemory(trial, attacked?.mb ?? 0, attacked?.atS ?? 0);
  for (const line of trial.restarts.slice(0, 5)) console.log(`  restart: ${line}`);
  tell(trial.restarts.length === 0, `restarts ${trial.restarts.length}`);
  tellAttacks(together(reports));
  console.log(`${trial.hostileCalls} calls whose speech service said what it must not, ${trial.erased} of them erased`); // prettier-ignore
  const { code, seconds: stoppedS } = await trial.end();
  tell(
    code === 0 && stoppedS <= 30,
    `SIGTERM afterwards: code ${code} after ${stoppedS.toFixed(1)} s`,
  );
}

async function quietRound(trial: Trial, phase: HostilePhase): Promise<void> {
  const endMs = performance.now() + quietS * 1_000;
  const load = new Load(() => trial.app, {});
  await Promise.all(Array.from({ length: honestCalls }, (_, line) => trial.honest(phase, endMs, line))); // prettier-ignore
  await load.end();
}

async function hostileRound(
  trial: Trial,
  phase: HostilePhase,
  seconds: number,
): Promise<HostileReport> {
  const endMs = performance.now() + seconds * 1_000;
  const attackers = startHostiles({ port: trial.port, seconds, key, addresses, perSecond, atOnce: 600, kinds }); // prettier-ignore
  const load = new Load(() => trial.app, { attackers: attackers.process });
  const honest = Array.from({ length: honestCalls }, (_, line) => trial.honest(phase, endMs, line));
  await Promise.all([...honest, trial.hostile(endMs), trial.hostile(endMs)]);
  await load.end();
  return attackers.report;
}

function together(reports: readonly HostileReport[]): HostileReport {
  const all: HostileReport = { sent: 0, mostAtOnce: 0, outcomes: {}, slowestMs: {} };
  for (const { sent, mostAtOnce, outcomes, slowestMs } of reports) {
    all.sent += sent;
    all.mostAtOnce = Math.max(all.mostAtOnce, mostAtOnce);
    for (const [kind, counts] of Object.entries(outcomes)) {
      const own = (all.outcomes[kind] ??= {});
      for (const [outcome, count] of Object.entries(counts))
        own[outcome] = (own[outcome] ?? 0) + count;
    }
    for (const [kind, ms] of Object.entries(slowestMs))
      all.slowestMs[kind] = Math.max(all.slowestMs[kind] ?? 0, ms);
  }
  return all;
}

function exactCalls(phase: HostilePhase): boolean {
  return phase.calls.length > 0 && phase.calls.every(({ exact }) => exact);
}

function callsText({ calls }: HostilePhase): string {
  const exact = calls.filter((call) => call.exact).length;
  return `${exact} of ${calls.length} honest calls of ${callS} s and two legs exact to the byte, every word at the CRM`;
}

function tellLatency(quiet: HostilePhase, loud: HostilePhase): void {
  const [before, after] = [percentile(quiet.latenciesMs, 0.95), percentile(loud.latenciesMs, 0.95)];
  tell(
    after <= before * 1.5,
    `finals at the CRM after their audio: p50 ${percentile(quiet.latenciesMs, 0.5).toFixed(0)} ms quiet, ${percentile(loud.latenciesMs, 0.5).toFixed(0)} ms hostile; ` +
      `p95 ${before.toFixed(0)} ms quiet, ${after.toFixed(0)} ms hostile (${(after / before).toFixed(2)} times); longest ${percentile(loud.latenciesMs, 1).toFixed(0)} ms`,
  );
}

/** Flat: the last tenth lies no more than a quarter, or 64 MB, above the first after the attack began. */
function tellMemory({ rssMb }: Trial, startMb: number, fromS: number): void {
  const during = rssMb.filter(({ atS }) => atS > fromS + 5).map(({ mb }) => mb);
  const tenth = Math.max(1, Math.floor(during.length / 10));
  const early = median(during.slice(0, tenth));
  const late = median(during.slice(-tenth));
  tell(
    late <= Math.max(early * 1.25, early + 64),
    `resident: ${startMb} MB when the attack began, ${early} MB in its first tenth, ${late} MB in its last, at most ${percentile(during, 1)} MB`,
  );
}

function tellAttacks({ sent, mostAtOnce, outcomes, slowestMs }: HostileReport): void {
  console.log(`${sent} attacks from ${addresses.length} addresses, at most ${mostAtOnce} at once`);
  for (const [kind, counts] of Object.entries(outcomes)) {
    const wrong = Object.keys(counts).filter(
      (outcome) => !right[kind as HostileKind].test(outcome),
    );
    const text = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
    tell(wrong.length === 0, `  ${kind}: ${text.join('; ')} (longest ${((slowestMs[kind] ?? 0) / 1_000).toFixed(1)} s)`); // prettier-ignore
  }
}

/** User and system time; a tick is 10 ms. */
async function cpuSecondsOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function rssMbOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

function tell(holds: boolean, line: string): void {
  if (!holds) process.exitCode = 1;
  console.log(holds ? line : `BROKEN ${line}`);
}

// Its children end with it, also when somebody has seen enough.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await run();
process.exit();

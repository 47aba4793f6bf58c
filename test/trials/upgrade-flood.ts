/**
 * `node test/trials/upgrade-flood.ts [seconds of each flood] [upgrades a second]`. Strangers at the whole program, in a process of their own, beside calls that go on and calls that begin:
 * every upgrade is answered in words and counted, no speech session comes of one, the calls lose no byte, and
 * afterwards nothing is left of the flood. What the machine can do at all is shown by a server that only refuses.
 */
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { play, type PlayResult } from '../../src/player/play.ts';
import { carriers } from '../../src/carriers/all.ts';
import { startApp, type App } from '../support/process/app.ts';
import type { AnyJson } from '../support/bridge/test-bridge.ts';
import { playedCall } from '../support/carriers/played-call.ts';
import { seededAudio } from '../support/speech/audio.ts';
import { FakeSpeech } from '../support/speech/fake-speech.ts';
import {
  guessedTokens,
  handlesOf,
  isInWords,
  refusedUpgrades,
  withoutProof,
  wrongCredentials,
} from '../support/faults/strangers.ts';
import { until } from '../support/process/until.ts';
import {
  bareRefusals,
  cpuMicrosOf,
  floodUpgrades,
  upgrade,
  type FloodReport,
  type Knock,
} from '../support/faults/upgrade-flood.ts';

const seconds = Number(process.argv[2] ?? 10);
const perSecond = Number(process.argv[3] ?? 2_000);
const authToken = 'twilio-secret-of-the-trial';
/** As where carriers are: under another address than the one we listen on. */
const publicUrl = 'https://bridge.example.net';
const goodCalls = 5;
const newcomerEveryMs = 1_000;
const newcomerS = 2;
/** Connections to others that the process keeps for the next time; what a flood leaves behind is thousands. */
const keptHandles = 8;
/** Below the queue of a listener, beyond which the system answers in its place. */
const atOnce = 400;

const key = 'a-key-of-the-trial';

const floods: [string, Knock[]][] = [
  ['refused by what they bring', wrongCredentials],
  ['with tokens that were never given out', guessedTokens],
  ['who go on to their first messages', withoutProof],
];

async function run(): Promise<void> {
  await ceiling();
  await using speech = await FakeSpeech.start();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_PUBLIC_URL: publicUrl,
      TRUNKLINE_API_KEYS: key,
      TRUNKLINE_TWILIO_AUTH_TOKEN: authToken,
      TRUNKLINE_PLIVO_AUTH_TOKEN: 'plivo-secret-of-the-trial',
      TRUNKLINE_REJOIN_WAIT_MS: '200',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const hangUp = new AbortController();
  const lasts = 2 * floods.length * (seconds + 60);
  const playing = Array.from({ length: goodCalls }, (_, at) =>
    playCall(app, at, lasts, hangUp.signal),
  );
  await until(async () => {
    const all = await ledgers(app);
    return all.length === goodCalls && all.every(({ received }) => received > 8_000);
  });
  const before = await cpuMicrosOf(app.process);
  await sleep(3_000);
  const restMicrosPerS = ((await cpuMicrosOf(app.process)) - before) / 3;
  console.log(`${goodCalls} calls alone: ${(restMicrosPerS / 10_000).toFixed(1)} % of a core`);
  // Handles that a first call opens and keeps are no trace of a flood.
  playing.push(playCall(app, 99, newcomerS));
  await playing.at(-1);
  for (const pass of ['', 'once more, '])
    for (const [name, knocks] of floods)
      playing.push(...(await flood({ app, name: pass + name, knocks, restMicrosPerS })));
  hangUp.abort();
  const played = await Promise.all(playing);
  const ended = await until(async () => {
    const all = await ledgers(app);
    return all.every(({ state }) => state === 'ended') && all;
  }, 60_000);
  const sentBytes = played.map(({ sentBytes }) => sentBytes['customer'] ?? 0).sort();
  const heardBytes = [...speech.sessions.values()].map(({ bytes }) => bytes.length).sort();
  const exact = sentBytes.filter((bytes, at) => bytes > 0 && bytes === heardBytes[at]).length;
  const whole = ended.filter(({ gaps, received, acknowledged }) => gaps === 0 && received === acknowledged); // prettier-ignore
  tell(
    exact === played.length &&
      whole.length === played.length &&
      speech.posts.length === played.length,
    `${played.length} calls, ${played.length - goodCalls} of them begun during the floods: ${exact} byte-exact at the speech service, ` +
      `${whole.length} with every byte acknowledged and no gap; ${speech.posts.length - played.length} speech sessions came of strangers`,
  );
}

/** The pace of this machine when refusing is all there is to do. */
async function ceiling(): Promise<void> {
  await using bare = await bareRefusals();
  for (const rate of [perSecond, 50_000]) {
    const before = await cpuMicrosOf(bare.process);
    const knocks = [{ request: upgrade('/') }];
    const report = await floodUpgrades({ port: bare.port, perSecond: rate, seconds: 5, atOnce, knocks }); // prettier-ignore
    const micros = (await cpuMicrosOf(bare.process)) - before;
    console.log(
      `a bare node:http server, ${rate} a second asked for: ${figures(report, micros)}, the generator ${perKnock(report, report.cpuMicros)} us`,
    );
  }
}

async function flood(options: {
  app: App;
  name: string;
  knocks: Knock[];
  restMicrosPerS: number;
}): Promise<Promise<PlayResult>[]> {
  const { app, name, knocks, restMicrosPerS } = options;
  const { url, process: server } = app;
  const port = Number(new URL(url).port);
  const handlesBefore = await handlesOf(server);
  const rssBefore = await rssMbOf(server);
  const countedBefore = await refusedUpgrades(app);
  const cpuBefore = await cpuMicrosOf(server);
  const newcomers: Promise<PlayResult>[] = [];
  const arriving = setInterval(
    () => newcomers.push(playCall(app, 100 + newcomers.length, newcomerS)),
    newcomerEveryMs,
  );
  const startedMs = performance.now();
  const report = await floodUpgrades({ port, perSecond, seconds, atOnce, knocks });
  clearInterval(arriving);
  const tookS = (performance.now() - startedMs) / 1_000;
  const micros = (await cpuMicrosOf(server)) - cpuBefore - restMicrosPerS * tookS;
  const rssAfter = await rssMbOf(server);
  const letIn = (await Promise.all(newcomers)).filter(({ outcome }) => outcome === 'played');
  const counted = (await refusedUpgrades(app)) - countedBefore;
  const answered = Object.values(report.answers).reduce((sum, count) => sum + count, 0);
  const unreadable = Object.entries(report.answers).filter(([answer]) => !isInWords(answer));
  for (const [answer, count] of unreadable.slice(0, 5)) console.error(count, JSON.stringify(answer.slice(0, 300))); // prettier-ignore
  const kinds = Object.entries(report.answers).map(([answer, count]) => `${count} ${wordsOf(answer)}`); // prettier-ignore
  tell(
    answered === report.sent &&
      unreadable.length === 0 &&
      counted === report.sent &&
      letIn.length === newcomers.length,
    `${name}: ${figures(report, micros)}; ${answered} of ${report.sent} answered, ${unreadable.length} kinds of answer not in words, ${counted} counted; ` +
      `${letIn.length} of ${newcomers.length} calls that began meanwhile were played out`,
  );
  console.log(kinds.map((kind) => `  ${kind}`).join('\n'));
  const handlesAtMost = handlesBefore + keptHandles;
  await until(async () => (await handlesOf(server)) <= handlesAtMost).catch(() => undefined);
  const handlesAfter = await handlesOf(server);
  tell(
    handlesAfter <= handlesAtMost,
    `  handles ${handlesBefore} before, ${handlesAfter} after; resident ${rssBefore} MB before, ${rssAfter} MB at the end of it, ${await rssMbOf(server)} MB afterwards`,
  );
  return newcomers;
}

function playCall(app: App, at: number, lasts: number, signal?: AbortSignal): Promise<PlayResult> {
  return play({
    to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
    signedUrl: `${publicUrl.replace('http', 'ws')}/carriers/twilio`,
    player: carriers.twilio.player,
    call: playedCall({ ...carriers.twilio.player.newIds() }),
    secrets: { authToken: authToken },
    audio: [{ leg: 'customer', bytes: seededAudio(8_000 * lasts, at) }],
    speed: 1,
    ...(signal ? { signal } : {}),
  });
}

async function ledgers(app: App): Promise<AnyJson[]> {
  const { items } = (await (
    await app.get('/api/calls?limit=100', { headers: { 'x-service-key': key } })
  ).json()) as AnyJson;
  return items.map((call: AnyJson) => ({ state: call.state, ...call.legs[0]?.ledger }));
}

async function rssMbOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024);
}

function wordsOf(answer: string): string {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return `${head.slice(9, 12)} ${body.replace(/[^ -~]+/g, ' ').trim()}`;
}

function figures(report: FloodReport, micros: number): string {
  const { sent, tookS, latencyMs, mostInFlight } = report;
  const ms = (value: number): string => value.toFixed(0);
  return (
    `${sent} in ${tookS.toFixed(1)} s, ${Math.round(sent / tookS)} a second, ${perKnock(report, micros)} us of processor each, ` +
    `answered after ${ms(latencyMs.p50)} ms (p50), ${ms(latencyMs.p99)} ms (p99), ${ms(latencyMs.most)} ms (longest), at most ${mostInFlight} at once`
  );
}

function perKnock({ sent }: FloodReport, micros: number): number {
  return Math.round(micros / sent);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function tell(holds: boolean, line: string): void {
  if (!holds) process.exitCode = 1;
  console.log(holds ? line : `BROKEN ${line}`);
}

await run();

/**
 * Hints in a running call: how late they are, and what they cost.
 *
 * `late`: the whole program with its recogniser; ten legs play recorded speech at the pace of speech, and a playbook has
 * a hint for the most frequent words of it beside the starter set. The time from the end of the speech, by the clock of
 * the one who plays, to the hint in the live feed; and from the final in that feed to its hint.
 *
 * `cost`: two programs with 200 legs each, one with the starter set and one without any playbook. A speech service of
 * the bench says a line on each leg after every 3 s of audio. Frames go to one at a time, in turns (A B B A). The CPU is
 * the whole process of the bridge with all threads, divided by the frames; the way of a final is from the service to the
 * live feed.
 *
 *   HINTS_PARTS=late,cost   HINTS_LEGS=10   HINTS_SECONDS=60   HINTS_COST_LEGS=200   HINTS_ROUNDS=6
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { linearToMulaw } from '../../src/audio/g711.ts';
import { callAt } from '../support/bridge/fleet.ts';
import type { AnyJson } from '../support/bridge/test-bridge.ts';
import { startApp, type App } from '../support/process/app.ts';
import { recognisersOf } from '../support/process/recognisers.ts';
import { until } from '../support/process/until.ts';
import { telephonePrompts } from '../support/recognition/prompts.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { temporaryFolder } from '../support/store/store.ts';
import type { GeneratorReport } from './bridge/generator.ts';
import { confidenceWraps, nowMicros } from './bridge/frame.ts';
import { session } from './recognition/client.ts';
import { quantile } from './recognition/figures.ts';
import { monologue } from './recognition/measures.ts';

const parts = (process.env['HINTS_PARTS'] ?? 'late,cost').split(',');
const legs = Number(process.env['HINTS_LEGS'] ?? 10);
const seconds = Number(process.env['HINTS_SECONDS'] ?? 60);
const costLegs = Number(process.env['HINTS_COST_LEGS'] ?? 200);
const rounds = Number(process.env['HINTS_ROUNDS'] ?? 6);
const turnS = 6;
const frameMs = 20;

const oftenSaid = `
id: often
status: live
rules:
  - { id: often, title: Often said, when: { phrase: { any: [number, extension, message, enter, press, call] } }, then: [{ hint: { title: Often said, priority: 95 } }], cooldown: 0 }
`;

/** The live feed of all calls, each message with the time of its arrival. */
async function watched(url: string, take: (event: string, data: AnyJson, atMs: number) => void) {
  const abort = new AbortController();
  const answer = await fetch(`${url}/api/live`, { signal: abort.signal });
  const read = async (): Promise<void> => {
    let text = '';
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      const atMs = performance.now();
      const blocks = (text + part).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [event, data] = [/^event: (.*)$/m.exec(block)?.[1], /^data: (.*)$/m.exec(block)?.[1]];
        if (event?.startsWith('call.') === true && data !== undefined) take(event, JSON.parse(data), atMs); // prettier-ignore
      }
    }
  };
  const done = read().catch(() => undefined);
  return { [Symbol.asyncDispose]: async () => (abort.abort(), await done) };
}

function line(name: string, times: readonly number[], target = ''): void {
  const at = (share: number): string => `${quantile(times, share).toFixed(0)} ms`;
  console.log(`  ${name.padEnd(34)} median ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} (${times.length})  ${target}`); // prettier-ignore
}

async function late(): Promise<void> {
  const model = await realModel();
  if (model === undefined) throw new Error('the default model is not to be had');
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'assist'), { recursive: true });
  await writeFile(join(folder.path, 'assist', 'often.yaml'), oftenSaid);
  await using app = await startApp({ dataDir: folder.path, env: { TRUNKLINE_MODEL: model.model, TRUNKLINE_MODELS: model.models, TRUNKLINE_RECOGNISERS: '2', TRUNKLINE_QUIET_FILL_MS: '0' } }); // prettier-ignore
  // A recogniser that is still being loaded would be measured in place of the hints.
  await until(() => recognisersOf(app.process.pid!).length > 0);
  const prompts = telephonePrompts();
  await session(app.url, monologue(prompts, 0, 5).audio, { pace: 'fast' });
  const spoken = new Map<string, { zeroMs: number; ends: readonly number[] }>();
  const finals = new Map<string, { atMs: number; endMs: number | undefined }>();
  const [ofFinal, ofHint, between] = [[], [], []] as [number[], number[], number[]];
  await using _feed = await watched(app.url, (event, { call, data }, atMs) => {
    const leg = spoken.get(call.carrier_call_id as string);
    if (event === 'call.transcript' && leg !== undefined) {
      const end = leg.ends.find((one) => Math.abs(one - data.end) < 0.5);
      const endMs = end === undefined ? undefined : leg.zeroMs + end * 1_000;
      finals.set(data.utterance_id as string, { atMs, endMs });
      if (endMs !== undefined) ofFinal.push(atMs - endMs);
    }
    if (event !== 'call.hint' || data.playbook !== 'often') return;
    const final = finals.get(data.cause.utterance_id as string);
    if (final === undefined) return;
    between.push(atMs - final.atMs);
    if (final.endMs !== undefined) ofHint.push(atMs - final.endMs);
  });
  await Promise.all(
    Array.from({ length: legs }, async (_, leg) => {
      await sleep(leg * 1_053);
      const callSid = `CA-${leg}`;
      const { client, say } = await callAt(app, `MZ-${leg}`, { callSid });
      const { audio, ends } = monologue(prompts, leg, seconds);
      const bytes = Buffer.from(Uint8Array.from(audio, (sample) => linearToMulaw(sample)));
      const zeroMs = performance.now();
      spoken.set(callSid, { zeroMs, ends });
      for (let at = 0; at * 160 < bytes.length; at++) {
        // A frame is sent when its last sample was spoken.
        const dueMs = zeroMs + (at + 1) * frameMs - performance.now();
        if (dueMs > 0) await sleep(dueMs);
        say(bytes.subarray(at * 160, at * 160 + 160));
      }
      await sleep(3_000);
      await client.close();
    }),
  );
  console.log(`\n${legs} legs that speak all the time`);
  line('end of speech to final', ofFinal);
  line('final to hint', between, 'p95 at most 50 ms');
  line('end of speech to hint', ofHint, 'p95 at most 650 ms');
}

async function ask<T>(child: ChildProcess, message: unknown): Promise<T> {
  const answer = once(child, 'message');
  child.send(message as object);
  const [value] = (await answer) as [T & { error?: string }];
  if (value.error !== undefined) throw new Error(value.error);
  return value;
}

/** Processor microseconds of a process so far, with all its threads. */
async function cpuMicros(app: App): Promise<number> {
  const stat = (await readFile(`/proc/${app.process.pid!}/stat`, 'utf8')).split(') ').at(-1)!.split(' '); // prettier-ignore
  return (Number(stat[11]) + Number(stat[12])) * 10_000;
}

async function cost(): Promise<void> {
  const here = join(import.meta.dirname, 'bridge');
  const execArgv = ['--disable-warning=ExperimentalWarning'];
  const [sink, generator] = ['sink.ts', 'generator.ts'].map((file) => fork(join(here, file), { execArgv })) as [ChildProcess, ChildProcess]; // prettier-ignore
  try {
    const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
    await ask(sink, 'ack rarely');
    await ask(sink, 'speak');
    const env = { TRUNKLINE_ROLES: 'bridge', TRUNKLINE_SPEECH_URL: `http://127.0.0.1:${port}`, TRUNKLINE_INSECURE: '1', TRUNKLINE_QUIET_FILL_MS: '0', TRUNKLINE_FINALS_WAIT_MS: '500' }; // prettier-ignore
    await using off = await startApp({ env: { ...env, TRUNKLINE_ASSIST_STARTER: 'off' } });
    await using on = await startApp({ env });
    const sides = { off, on };
    const figures = { off: [], on: [] } as Record<keyof typeof sides, { cpu: number; ways: number[]; hints: number }[]>; // prettier-ignore
    for (const [at, [set, app]] of Object.entries(sides).entries())
      await ask(generator, { do: 'open', set, port: Number(new URL(app.url).port), path: '/carriers/twilio', legs: costLegs, firstLeg: at * costLegs }); // prettier-ignore
    const turn = async (set: keyof typeof sides, isKept: boolean): Promise<void> => {
      const ways: number[] = [];
      let hints = 0;
      await using _feed = await watched(sides[set].url, (event, { data }) => {
        if (event === 'call.hint') hints++;
        if (event !== 'call.transcript') return;
        const sent = data.confidence * confidenceWraps;
        ways.push((((nowMicros() - sent) % confidenceWraps) + confidenceWraps) % confidenceWraps / 1_000); // prettier-ignore
      });
      const before = await cpuMicros(sides[set]);
      const { frames } = await ask<GeneratorReport>(generator, { do: 'play', set, seconds: turnS });
      await sleep(500);
      const cpu = ((await cpuMicros(sides[set])) - before) / Math.max(1, frames);
      if (isKept) figures[set].push({ cpu, ways, hints });
    };
    for (const set of ['off', 'on', 'on', 'off'] as const) await turn(set, false);
    for (let round = 0; round < rounds; round++)
      for (const set of round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const))
        await turn(set, true);
    console.log(
      `\n${costLegs} legs, ${rounds} turns each of ${turnS} s, a final on each leg every 3 s`,
    );
    const sum = (set: keyof typeof sides): number => figures[set].reduce((all, { cpu }) => all + cpu, 0) / rounds; // prettier-ignore
    for (const set of ['off', 'on'] as const) {
      const hints = figures[set].reduce((all, one) => all + one.hints, 0);
      console.log(`  starter ${set.padEnd(4)} CPU ${sum(set).toFixed(2)} us a frame (${figures[set].map(({ cpu }) => cpu.toFixed(1)).join(' ')}), ${hints} hints`); // prettier-ignore
      line(
        `starter ${set}: a final to the feed`,
        figures[set].flatMap(({ ways }) => ways),
      );
    }
    const ratios = figures.on.map(({ cpu }, at) => cpu / (figures.off[at]?.cpu ?? 1));
    console.log(`  CPU with / without ${(sum('on') / sum('off')).toFixed(3)}; of the pairs ${ratios.map((one) => one.toFixed(3)).join(' ')}  at most 1.03`); // prettier-ignore
    for (const set of ['off', 'on']) await ask(generator, { do: 'stop', set });
  } finally {
    sink.kill('SIGKILL');
    generator.kill('SIGKILL');
  }
}

export async function run(): Promise<void> {
  if (parts.includes('late')) await late();
  if (parts.includes('cost')) await cost();
}

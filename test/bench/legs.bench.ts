/**
 * Measures what a leg that speaks all the time costs, and how late its words are while many speak.
 *
 * Method: the whole program with two recogniser processes, both running; each leg is a session through the real socket,
 * 8 kHz mu-law at call speed, prompt after prompt with 0.6 s between them. The price is the processor time (user and
 * system) of the recogniser processes, divided by the legs and the seconds that they spoke. Beside it the price of one greedy reading
 * of the native engine is measured, before and after: a machine that is slower or busy today is slower for both, so the
 * ratio is what can be compared. A word counts as taken back where a partial showed it and the next partial or the
 * final of its utterance has another word, or none, in its place.
 *
 *   npm run bench -- legs
 *   BENCH_LEGS=5,20 BENCH_SECONDS=40 BENCH_PARTIALS=yes npm run bench -- legs
 *   BENCH_LEGS=4 BENCH_SECONDS=60 BENCH_MIXED=both npm run bench -- legs     with speakers told apart, and without
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readModelFolder } from '../../src/hearing/models/model-folder.ts';
import { leastCpuSeconds } from '../../src/hearing/engine/load.ts';
import { loadSherpa } from '../../src/hearing/engine/sherpa.ts';
import { OfflineModel } from '../../src/hearing/offline/offline-model.ts';
import { bare } from '../../src/hearing/offline/readings.ts';
import { startApp, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import { telephonePrompts, type Prompt } from '../support/recognition/prompts.ts';
import { realModel, type RealModel } from '../support/recognition/real-model.ts';
import { session, type SessionResult } from './recognition/client.ts';
import { quantile, residentMb } from './recognition/figures.ts';
import { recognisersOf } from '../support/process/recognisers.ts';
import { monologue } from './recognition/measures.ts';

const steps = (process.env['BENCH_LEGS'] ?? '1,5,10,20,40').split(',').map(Number);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 30);
const kinds = { yes: [true], no: [false], both: [true, false] };
const partialKinds = kinds[(process.env['BENCH_PARTIALS'] ?? 'both') as keyof typeof kinds];
const mixedKinds = kinds[(process.env['BENCH_MIXED'] ?? 'no') as keyof typeof kinds];
const ms = (value: number) => (Number.isFinite(value) ? `${value.toFixed(0)} ms` : 'none');

/** The share of a core that one greedy reading of speech takes here and now. */
async function greedyFactor(model: RealModel, prompts: readonly Prompt[]): Promise<number> {
  const folder = await readModelFolder(join(model.models, model.model), model.model);
  if (folder.description.kind !== 'moonshine') throw new Error('the default model is another now');
  const native = new OfflineModel(loadSherpa(), folder, folder.description);
  const audios = prompts.slice(0, 12).map(({ samples }) => {
    const audio = new Float32Array(2 * samples.length);
    for (const [i, sample] of samples.entries()) audio.fill(sample / 32768, 2 * i, 2 * i + 2);
    return audio;
  });
  const audioS = audios.reduce((sum, audio) => sum + audio.length / 16000, 0);
  const spent = leastCpuSeconds(() => {
    for (const audio of audios) native.read(audio, '');
  });
  return spent / audioS;
}

/** Processor seconds of the recogniser processes so far. */
function recogniserS(app: App): number {
  const ticks = recognisersOf(app.process.pid!).map((pid) => {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .split(') ')
      .at(-1)
      ?.split(' ');
    return Number(stat?.[11]) + Number(stat?.[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / 100;
}

type Flicker = { shown: number; takenBack: number };

function flickerOf({ partials, finals }: SessionResult): Flicker {
  const flicker = { shown: 0, takenBack: 0 };
  for (const final of finals) {
    let before: string[] = [];
    for (const { text } of [...partials.filter(({ id }) => id === final.id), final]) {
      const words = text.split(/\s+/).filter(Boolean).map(bare);
      let common = 0;
      while (common < before.length && before[common] === words[common]) common++;
      flicker.shown += words.length - common;
      flicker.takenBack += before.length - common;
      before = words;
    }
  }
  return flicker;
}

type SpeakingLegs = { legs: number; partials: boolean; mixed: boolean };

async function measured(
  app: App,
  prompts: readonly Prompt[],
  { legs, partials, mixed }: SpeakingLegs,
) {
  const late: number[] = [];
  const first: number[] = [];
  const flicker = { shown: 0, takenBack: 0 };
  let refused = 0;
  let missing = 0;
  const before = { cpuS: recogniserS(app), atMs: performance.now() };
  await Promise.all(
    Array.from({ length: legs }, async (_, leg) => {
      await sleep(leg * 53); // calls do not all begin at once
      const { audio, ends, starts } = monologue(prompts, leg, seconds);
      const heard = await session(app.url, audio, { pace: 'call', partials, mixed });
      if (!heard) {
        refused++;
        return;
      }
      for (const [index, end] of ends.entries()) {
        const final = heard.finals.find((one) => Math.abs(one.end - end) < 0.5);
        if (final) late.push(final.atMs - heard.sentAtMs(end));
        else missing++;
        const start = starts[index] ?? 0;
        const shown = heard.partials.find(
          (one) => one.start > start - 0.5 && one.start < start + 1 && one.end <= end + 0.5,
        );
        if (shown && end - start > 1.2) first.push(shown.atMs - heard.sentAtMs(start));
      }
      const own = flickerOf(heard);
      flicker.shown += own.shown;
      flicker.takenBack += own.takenBack;
    }),
  );
  const legS = (legs - refused) * seconds;
  const cost = (recogniserS(app) - before.cpuS) / Math.max(1, legS);
  return { late, first, flicker, refused, missing, cost };
}

export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had; see the line above');
  if (mixedKinds.includes(true) && !(await realModel('voice-encoder')))
    throw new Error('the model that tells voices apart is not to be had; see the line above');
  const prompts = telephonePrompts().filter(({ samples }) => samples.length < 8000 * 8);
  const factors = [await greedyFactor(model, prompts)];
  {
    await using app = await startApp({
      env: {
        TRUNKLINE_MODEL: model.model,
        TRUNKLINE_MODELS: model.models,
        TRUNKLINE_RECOGNISERS: '2',
        TRUNKLINE_ROLES: 'speech',
      },
    });
    await until(() => recognisersOf(app.process.pid!).length > 0);
    await session(app.url, monologue(prompts, 0, 5).audio, { pace: 'fast' });
    // A service that has just started has one process, which the first legs would share if they came together.
    const quiet = new Int16Array(8_000 * 8);
    await Promise.all(Array.from({ length: 20 }, () => session(app.url, quiet, { pace: 'call' })));
    await until(() => recognisersOf(app.process.pid!).length > 1);
    for (const partials of partialKinds)
      for (const [legs, mixed] of steps.flatMap((step) =>
        mixedKinds.map((kind) => [step, kind] as const),
      )) {
        // prettier-ignore
        const load = { legs, partials, mixed };
        const { late, first, flicker, refused, missing, cost } = await measured(app, prompts, load);
        factors.push(await greedyFactor(model, prompts));
        const greedy = Math.min(...factors.slice(-2));
        const back = (100 * flicker.takenBack) / Math.max(1, flicker.shown);
        console.log(
          `${String(legs)} legs ${partials ? 'with' : 'without'} partials${mixed ? ', speakers told apart' : ''}: ${cost.toFixed(4)} of a core each ` +
            `(${(cost / greedy).toFixed(2)} of a greedy reading, ${greedy.toFixed(4)}), refused ${String(refused)}, ` +
            `finals p50 ${ms(quantile(late, 0.5))}, p95 ${ms(quantile(late, 0.95))}, latest ${ms(Math.max(...late))}, missing ${String(missing)}` +
            (partials
              ? `, first words p50 ${ms(quantile(first, 0.5))}, p95 ${ms(quantile(first, 0.95))}, taken back ${back.toFixed(1)} % of ${String(flicker.shown)}`
              : ''),
        );
      }
    const pids = recognisersOf(app.process.pid!);
    console.log(
      `memory: recognisers ${pids.map((pid) => `${residentMb(pid).toFixed(0)} MB`).join(', ')}, main process ${residentMb(app.process.pid!).toFixed(0)} MB`,
    );
  }
  console.log(
    `one greedy reading: ${factors.map((factor) => factor.toFixed(4)).join(', ')} of a core`,
  );
}

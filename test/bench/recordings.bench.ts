import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../support/process/app.ts';
import { telephonePrompts } from '../support/recognition/prompts.ts';
import { pulledSecondReader, realModel } from '../support/recognition/real-model.ts';
import { normalisedWords, wordErrors } from '../support/recognition/word-errors.ts';
import { jobsApi, wavFile } from '../support/speech/jobs.ts';
import { speechApi } from '../support/speech/speech-service.ts';
import { inPinkNoise, inQuiet, throughGsm } from './recognition/audio.ts';
import { inParallel, printTable, residentMb } from './recognition/figures.ts';
import { recognisersOf } from '../support/process/recognisers.ts';
import { session } from './recognition/client.ts';

/** The number of prompts; all of them take about 20 minutes on the live path. */
const count = Number(process.env['PROMPTS'] ?? 60);
/** `clean`, `gsm` or `noise` (pink, 15 dB). */
const condition = process.env['CONDITION'] ?? 'clean';
/** `moonshine-tiny-en` leaves the second reader out, also where it is installed. */
const reader = process.env['JOBS_MODEL'] ?? 'whisper-tiny-en';
/** `0` leaves the live calls out. */
const beside = process.env['LIVE'] !== '0';
const long = Number(process.env['LONG_S'] ?? 600);

/**
 * Recordings beside live calls, on the same telephone prompts and the same machine:
 *
 * - word errors of each prompt as a job of its own, and as a live session in the time of a call, four at once;
 * - one long recording (the prompts one after the other, a second between them) as one job alone: seconds of audio
 *   for each second from the POST to the end, word errors, and the most memory that any process took meanwhile.
 *
 * Where the second reader is installed, jobs are read with it:
 *
 *   PROMPTS=242 CONDITION=gsm LIVE=0 npm run bench -- recordings
 *
 * The prompts are a studio voice that the model may have been tuned to; nothing here was tuned on them.
 */
export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had');
  const second = reader === 'whisper-tiny-en' ? await pulledSecondReader() : undefined;
  await using models = await modelsWith(join(model.models, model.model), second);
  const all = telephonePrompts().slice(0, count);
  const audios = inCondition(all.map(({ samples }) => inQuiet(samples)));
  const prompts = all.map(({ text }, index) => ({
    text,
    samples: audios[index] ?? new Int16Array(0),
  }));
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: model.model,
      TRUNKLINE_MODELS: models.folder,
      TRUNKLINE_RECOGNISERS: '2',
      TRUNKLINE_ROLES: 'speech',
    },
  });
  const pid = app.process.pid ?? 0;
  while (recognisersOf(pid).length === 0) await sleep(100);
  const jobs = jobsApi(speechApi(app.url));
  const begin = async (samples: Int16Array): Promise<string> => {
    const { audio_url } = await jobs.upload(wavFile([samples]));
    return jobs.begin({ audio_url, language_config: { languages: ['en'] } });
  };
  const heardOf = async (id: string): Promise<string> => {
    const job = await jobs.ended(id, 3_600_000);
    return job.result?.transcription?.full_transcript ?? '';
  };

  const parts: Int16Array[] = [];
  const said: string[] = [];
  for (let at = 0, samples = 0; samples < long * 8000; at++) {
    const prompt = prompts[at % prompts.length];
    if (!prompt) break;
    parts.push(prompt.samples, new Int16Array(8000));
    said.push(prompt.text);
    samples += prompt.samples.length + 8000;
  }
  const whole = Int16Array.from(parts.flatMap((part) => [...part]));
  const startedMs = performance.now();
  let mostMb = 0;
  const longJob = begin(whole).then(heardOf);
  let over = false;
  const watched = (async () => {
    while (!over) {
      mostMb = Math.max(mostMb, residentMb(pid), ...recognisersOf(pid).map(residentMb));
      await sleep(200);
    }
  })();
  const longHeard = await longJob;
  const tookS = (performance.now() - startedMs) / 1e3;
  over = true;
  await watched;
  const longTruth = normalisedWords(said.join(' '));
  const longErrors = wordErrors(longTruth, normalisedWords(longHeard));

  const asJobs = await inParallel(prompts, 4, async ({ samples }) => heardOf(await begin(samples)));
  const asCalls = await inParallel(beside ? prompts : [], 4, async ({ samples }) => {
    const silence = new Int16Array(8000);
    const call = await session(app.url, Int16Array.from([...samples, ...silence]), {
      pace: 'call',
    });
    return (call?.finals ?? []).map(({ text }) => text).join(' ');
  });
  const share = (heard: readonly string[]): string => {
    let errors = 0;
    let words = 0;
    for (const [i, { text }] of prompts.entries()) {
      const truth = normalisedWords(text);
      errors += wordErrors(truth, normalisedWords(heard[i] ?? ''));
      words += truth.length;
    }
    return `${((100 * errors) / words).toFixed(2)} % of ${words} words`;
  };
  printTable([
    {
      what: 'jobs are read by',
      measured: second === undefined ? model.model : `${model.model} and whisper-tiny-en`,
      target: condition,
    },
    {
      what: 'word errors, prompts as jobs',
      measured: share(asJobs),
      target: 'at most the live path',
    },
    {
      what: 'word errors, prompts as live calls',
      measured: beside ? share(asCalls) : 'not measured',
      target: '',
    },
    {
      what: `word errors, one recording of ${Math.round(whole.length / 8000)} s`,
      measured: `${((100 * longErrors) / longTruth.length).toFixed(2)} % of ${longTruth.length} words`,
      target: '',
    },
    {
      what: 'seconds of audio in a second, that recording alone',
      measured: (whole.length / 8000 / tookS).toFixed(1),
      target: 'at least 20',
    },
    { what: 'most memory of a process', measured: `${Math.round(mostMb)} MB`, target: '' },
  ]);
}

function inCondition(audios: Int16Array[]): Int16Array[] {
  if (condition === 'gsm') return throughGsm(audios);
  return condition === 'noise'
    ? audios.map((audio, index) => inPinkNoise(audio, 15, index + 1))
    : audios;
}

/** A folder in which the program finds just these models. */
async function modelsWith(...paths: readonly (string | undefined)[]) {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-bench-models-'));
  for (const path of paths)
    if (path !== undefined) await symlink(path, join(folder, basename(path)));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

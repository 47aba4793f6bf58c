/**
 * Measures how calls and recordings in other languages than English are heard.
 *
 * Method: the whole program (src/main.ts) with the default model and whisper-base, both in the folder of TRUNKLINE_MODELS.
 * Live figures go through POST /v2/live and the socket as 8 kHz mu-law, 0.4 s of quiet before each line and 1 s
 * behind it; jobs read each half of a set as one recording. BENCH_SOUNDS is a folder with the unpacked Debian packages
 * asterisk-core-sounds-{es,fr,it,ru} and -wav (unpacked, not installed: they would remove others): 64 lines of four or
 * more words, one voice a language. Its folder `pico` may hold pico2wave, which speaks 60 German sentences of ours.
 * Every second line is unseen: no rule was ever tuned on it. Words are compared without case, accents and figures.
 * Speeds depend on what else runs.
 *
 *   apt-get download asterisk-core-sounds-es asterisk-core-sounds-es-wav; dpkg -x FILE sounds
 *   TRUNKLINE_MODELS=~/models BENCH_SOUNDS=sounds npm run bench -- languages
 *   BENCH_ONLY=words,found BENCH_LANGUAGES=es,fr BENCH_LINES=mu-law BENCH_LINES_EACH=24 npm run bench -- languages
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../support/process/app.ts';
import {
  beside,
  changing,
  found,
  jobs,
  latency,
  memory,
  noise,
  singles,
  words,
} from './languages/measures.ts';
import { languageSets } from './languages/sets.ts';
import { type FigureRow, printTable } from './recognition/figures.ts';

const only = process.env['BENCH_ONLY']?.split(',');
const seconds = Number(process.env['BENCH_SECONDS'] ?? 40);
const minutes = Number(process.env['BENCH_MINUTES'] ?? 30);

export async function run(): Promise<void> {
  const models = process.env['TRUNKLINE_MODELS'];
  if (models === undefined) throw new Error('TRUNKLINE_MODELS names no folder of models');
  const sets = languageSets(
    process.env['BENCH_SOUNDS'] ?? 'sounds',
    process.env['BENCH_LANGUAGES']?.split(','),
  );
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: 'moonshine-tiny-en',
      TRUNKLINE_MODELS: models,
      TRUNKLINE_PULL_MODELS: 'false',
      TRUNKLINE_RECOGNISERS: process.env['BENCH_RECOGNISERS'] ?? '2',
      TRUNKLINE_ROLES: 'speech',
    },
  });
  await sleep(5_000); // the models are loaded after `ready`
  const measures: Record<string, () => Promise<FigureRow[]>> = {
    words: () => words(app, sets),
    singles: () => singles(app, sets),
    found: () => found(app, sets),
    changing: () => changing(app, sets),
    jobs: () => jobs(app, sets),
    noise: () => noise(app, minutes),
    memory: () => memory(app, sets),
    latency: () => latency(app, sets, seconds),
    beside: () => beside(app, sets, seconds),
  };
  for (const [name, measure] of Object.entries(measures))
    if (only?.includes(name) ?? true) printTable(await measure());
}

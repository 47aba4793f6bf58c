/**
 * Measures how well, how soon and for how many calls the default model recognises.
 *
 * Method: the whole program (src/main.ts) with one recogniser process and the default model; everything goes
 * through POST /v2/live and the socket as 8 kHz mu-law, one session for each prompt with 0.4 s of quiet before
 * it and 1 s after. Prompts: all of four or more words of Debian's asterisk-core-sounds-en-wav, texts from the
 * documentation of asterisk-core-sounds-en; numbers, signs, contractions and compounds are made equal before words
 * are compared (test/support/word-errors.ts). Accuracy is sent as fast as it is acknowledged, latency and legs at
 * call speed, 20 ms at a time. End of speech: the last 20 ms within 35 dB of the loudest. Word times: those of
 * festival (cmu_us_slt_arctic_hts, and its diphone voices where they are installed) and flite (rms, awb) themselves, and
 * those of another program for the prompts where BENCH_ALIGNED names its file (spoken.ts). Noises are made here (test/support/noises.ts), reproducibly.
 * What else runs on the machine shows in latency and legs: nothing should.
 *
 *   npm run bench -- recognition
 *   BENCH_EVERY=8 BENCH_ONLY=accuracy,latency npm run bench -- recognition     every eighth prompt
 */
import { startApp } from '../support/process/app.ts';
import { telephonePrompts } from '../support/recognition/prompts.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { printTable, type FigureRow } from './recognition/figures.ts';
import {
  accuracy,
  invented,
  latency,
  legsPerCore,
  memory,
  wordTimes,
} from './recognition/measures.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const every = Number(process.env['BENCH_EVERY'] ?? 1);
const only = process.env['BENCH_ONLY']?.split(',');
const steps = (process.env['BENCH_LEGS'] ?? '5,10,15,20,25,30,35,40,45').split(',').map(Number);

export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had; see the line above');
  const prompts = telephonePrompts().filter((_, index) => index % every === 0);
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: model.model,
      TRUNKLINE_MODELS: model.models,
      TRUNKLINE_RECOGNISERS: '1',
      TRUNKLINE_ROLES: 'speech',
    },
  });
  await sleep(3_000); // the model is loaded after `ready`
  const short = prompts.filter(({ samples }) => samples.length < 8000 * 8);
  const calls = short.filter(
    (_, index) => index % Math.max(1, Math.floor(short.length / 60)) === 0,
  );
  const measures: Record<string, () => Promise<FigureRow[]>> = {
    memory: () => memory(app, short),
    latency: () => latency(app, calls),
    words: () => wordTimes(app),
    accuracy: () => accuracy(app, prompts),
    invented: () => invented(app, Math.max(2, Math.round(30 / every)), Math.round(60 / every)),
    legs: () => legsPerCore(app, short, steps, 25),
  };
  for (const [name, measure] of Object.entries(measures))
    if (!only || only.includes(name)) printTable(await measure());
}

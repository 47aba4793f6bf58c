import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import { telephonePrompts, type Prompt } from '../support/recognition/prompts.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { jobsApi, wavFile } from '../support/speech/jobs.ts';
import { speechApi } from '../support/speech/speech-service.ts';
import { spokenPrompt } from './recognition/audio.ts';
import { latenessOf, session, type Lateness } from './recognition/client.ts';
import { printTable, quantile } from './recognition/figures.ts';
import { recognisersOf } from '../support/process/recognisers.ts';

const callers = Number(process.env['CALLERS'] ?? 4);
const promptsOfTurn = Number(process.env['PROMPTS'] ?? 12);
const turns = ['alone', 'beside', 'beside', 'alone', 'alone', 'beside'] as const;
const hourS = 3_600;

/**
 * Measures how late the finals of live calls are beside recordings of an hour each, which keep every process for jobs busy, and
 * without them, in turns on one machine. CALLERS callers (4) say PROMPTS telephone prompts each (12) in a turn, in the
 * time of a call, a pause of two seconds after each. A final is late by the time from the last of its words to the
 * message, the pause that ends an utterance included.
 */
export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had');
  const prompts = telephonePrompts().filter(({ samples }) => samples.length > 8_000 && samples.length < 40_000); // prettier-ignore
  await using app = await startApp({
    env: {
      TRUNKLINE_MODEL: model.model,
      TRUNKLINE_MODELS: model.models,
      TRUNKLINE_ROLES: 'speech',
    },
  });
  await until(() => recognisersOf(app.process.pid ?? 0).length > 0, 60_000);
  const api = speechApi(app.url);
  const jobs = jobsApi(api);
  const { audio_url } = await jobs.upload(wavFile([recording(prompts)]));
  const late: Record<'alone' | 'beside', Lateness> = {
    alone: { ms: [], missing: 0 },
    beside: { ms: [], missing: 0 },
  };
  await turn(app.url, prompts, 0, { ms: [], missing: 0 }); // whatever a first call loads is loaded now
  let readS = 0;
  for (const [at, which] of turns.entries()) {
    const ids: string[] = [];
    if (which === 'beside') {
      for (let job = 0; job < 2; job++)
        ids.push(await jobs.begin({ audio_url, language_config: { languages: ['en'] } }));
      for (const id of ids) await until(async () => (await secondsRead(jobs, id)) > 0, 300_000);
    }
    await turn(app.url, prompts, at, late[which]);
    for (const id of ids) {
      readS += await secondsRead(jobs, id);
      await api.http(`/v2/pre-recorded/${id}/cancel`, { method: 'POST' });
    }
    for (const id of ids) await jobs.ended(id);
  }
  const p95 = { alone: quantile(late.alone.ms, 0.95), beside: quantile(late.beside.ms, 0.95) };
  const row = (which: 'alone' | 'beside', what: string) => ({
    what,
    measured: `p50 ${quantile(late[which].ms, 0.5).toFixed(0)} ms, p95 ${p95[which].toFixed(0)} ms, ${late[which].ms.length} finals, ${late[which].missing} missing`,
    target: '',
  });
  printTable([
    row('alone', 'finals without jobs'),
    row('beside', `finals beside two jobs of an hour (${Math.round(readS)} s of them read)`),
    {
      what: 'p95 beside jobs, of that without',
      measured: `${(p95.beside / p95.alone).toFixed(2)}x`,
      target: 'at most 1.2x',
    },
  ]);
}

async function secondsRead(jobs: ReturnType<typeof jobsApi>, id: string): Promise<number> {
  const { progress } = await jobs.record(id);
  return progress?.seconds_done ?? 0;
}

/** The callers of one turn begin a little apart, as callers do: their words do not end together. */
async function turn(
  url: string,
  prompts: readonly Prompt[],
  number: number,
  figures: Lateness,
): Promise<void> {
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      await sleep(caller * 700);
      const said = Array.from({ length: promptsOfTurn }, (_, at) =>
        spokenPrompt(prompts, (number * promptsOfTurn + at) * callers + caller),
      );
      const { audio, ends } = spacedOut(said);
      const heard = await session(url, audio, { pace: 'call', partials: true });
      if (heard === undefined) throw new Error('a session was refused: the machine is too full');
      const { ms, missing } = latenessOf(heard, ends);
      figures.ms.push(...ms);
      figures.missing += missing;
    }),
  );
}

function spacedOut(said: readonly Int16Array[]): { audio: Int16Array; ends: number[] } {
  const pause = 16_000;
  const audio = new Int16Array(said.reduce((sum, { length }) => sum + length + pause, pause));
  const ends: number[] = [];
  let at = pause;
  for (const words of said) {
    audio.set(words, at);
    at += words.length;
    ends.push(at / 8_000);
    at += pause;
  }
  return { audio, ends };
}

/** An hour of prompts, a second between them. */
function recording(prompts: readonly Prompt[]): Int16Array {
  const samples = new Int16Array(hourS * 8_000);
  for (let at = 0, index = 0; at < samples.length; index++) {
    const words = prompts[index % prompts.length]?.samples ?? new Int16Array(8_000);
    samples.set(words.subarray(0, samples.length - at), at);
    at += words.length + 8_000;
  }
  return samples;
}

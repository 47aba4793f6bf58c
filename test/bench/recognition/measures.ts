import { setTimeout as sleep } from 'node:timers/promises';
import { bare } from '../../../src/hearing/offline/readings.ts';
import type { App } from '../../support/process/app.ts';
import { lineNoises, musicOnHold } from '../../support/recognition/noises.ts';
import type { Prompt } from '../../support/recognition/prompts.ts';
import {
  alignedPrompts,
  furtherVoices,
  sentences,
  speak,
  speakWithFlite,
  type Spoken,
} from './spoken.ts';
import { normalisedWords, wordErrors } from '../../support/recognition/word-errors.ts';
import { inPinkNoise, inQuiet, quietBeforeS, speechSpan, throughGsm } from './audio.ts';
import { session, type SessionOptions, type SessionResult } from './client.ts';
import { inParallel, quantile, residentMb, type FigureRow } from './figures.ts';
import { recognisersOf } from '../../support/process/recognisers.ts';

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const ms = (value: number) => `${value.toFixed(0)} ms`;

async function must(app: App, audio: Int16Array, options: SessionOptions): Promise<SessionResult> {
  for (;;) {
    const result = await session(app.url, audio, options);
    if (result) return result;
    await sleep(1_000); // at its limit: later, as the answer asks
  }
}

/** Word error rate over all prompts, mu-law, under one condition. */
async function wordErrorRate(
  app: App,
  prompts: readonly Prompt[],
  condition: 'clean' | 'GSM' | 'noise 15 dB',
  enhancer = false,
): Promise<number> {
  const quiet = prompts.map(({ samples }) => inQuiet(samples));
  const audios =
    condition === 'GSM'
      ? throughGsm(quiet)
      : condition === 'clean'
        ? quiet
        : quiet.map((audio, index) => inPinkNoise(audio, 15, index + 1));
  let errors = 0;
  let words = 0;
  await inParallel(prompts, 2, async ({ text }, index) => {
    const { finals } = await must(app, audios[index]!, { pace: 'fast', enhancer });
    const truth = normalisedWords(text);
    errors += wordErrors(truth, normalisedWords(finals.map((final) => final.text).join(' ')));
    words += truth.length;
  });
  return errors / words;
}

export async function accuracy(app: App, prompts: readonly Prompt[]): Promise<FigureRow[]> {
  const count = `${String(prompts.length)} prompts`;
  const clean = await wordErrorRate(app, prompts, 'clean');
  const gsm = await wordErrorRate(app, prompts, 'GSM');
  const noise = await wordErrorRate(app, prompts, 'noise 15 dB');
  return [
    { what: `word error rate, mu-law, ${count}`, measured: percent(clean), target: '5 % or less' },
    { what: 'word error rate, GSM full rate', measured: percent(gsm), target: '6.5 % or less' },
    { what: 'word error rate, pink noise 15 dB', measured: percent(noise), target: '10 % or less' },
  ];
}

/** Calls at call speed, two at a time: how late finals and first partials are, and what partials promise. */
export async function latency(app: App, prompts: readonly Prompt[]): Promise<FigureRow[]> {
  const total: number[] = [];
  const endpoint: number[] = [];
  const decided: number[] = [];
  const first: number[] = [];
  let promised = 0;
  let broken = 0;
  await inParallel(prompts, 2, async ({ samples }) => {
    const audio = inQuiet(samples, 0.4, 1.5);
    const span = speechSpan(samples);
    const heard = await must(app, audio, { pace: 'call', partials: true });
    const last = heard.finals.at(-1);
    const end = heard.speechEnds.at(-1);
    if (!last || !end) return;
    total.push(last.atMs - heard.sentAtMs(0.4 + span.endS));
    endpoint.push(end.atMs - heard.sentAtMs(0.4 + span.endS));
    decided.push(last.atMs - end.atMs);
    const partial = heard.partials[0];
    if (!partial) return;
    first.push(partial.atMs - heard.sentAtMs(0.4 + span.startS));
    promised++;
    const final = heard.finals.find(({ id }) => id === partial.id);
    const held = new Set(normalisedWords(final?.text ?? ''));
    if (!normalisedWords(partial.text).every((word) => held.has(word))) broken++;
  });
  return [
    {
      what: `end of speech to final, ${String(total.length)} calls`,
      measured: `p50 ${ms(quantile(total, 0.5))}, p95 ${ms(quantile(total, 0.95))}`,
      target: 'p95 700 ms',
    },
    {
      what: 'of it, end of speech to speech_end',
      measured: `p50 ${ms(quantile(endpoint, 0.5))}, p95 ${ms(quantile(endpoint, 0.95))}`,
      target: '',
    },
    {
      what: 'speech_end to final',
      measured: `p50 ${ms(quantile(decided, 0.5))}, p95 ${ms(quantile(decided, 0.95))}`,
      target: 'p95 400 ms',
    },
    {
      what: `first voiced frame to first partial (${String(first.length)})`,
      measured: `p50 ${ms(quantile(first, 0.5))}, p95 ${ms(quantile(first, 0.95))}`,
      target: '1,200 ms',
    },
    {
      what: 'first partials with a word that the final lacks',
      measured: percent(broken / Math.max(1, promised)),
      target: '10 % or less',
    },
  ];
}

/** Distance between when a word began and ended, by the synthesiser's own word times, and when we say it did. */
export async function wordTimes(app: App): Promise<FigureRow[]> {
  const rows: FigureRow[] = [];
  const aligned = process.env['BENCH_ALIGNED'];
  const voices: Record<string, Spoken[]> = {
    festival: speak(sentences),
    'flite rms': speakWithFlite(sentences),
    'flite awb': speakWithFlite(sentences, 'awb'),
    ...Object.fromEntries(furtherVoices().map((voice) => [voice, speak(sentences, voice)])),
    ...(aligned === undefined ? {} : { 'prompts as aligned': alignedPrompts(aligned) }),
  };
  for (const [voice, spoken] of Object.entries(voices)) {
    for (const partials of [false, true])
      rows.push(...(await timeErrors(app, voice, spoken, partials)));
  }
  return rows;
}

async function timeErrors(
  app: App,
  voice: string,
  spoken: readonly Spoken[],
  partials: boolean,
): Promise<FigureRow[]> {
  const errors = { start: [] as number[], end: [] as number[] };
  await inParallel(spoken, 2, async ({ samples, words }) => {
    const { finals } = await must(app, inQuiet(samples), {
      pace: partials ? 'call' : 'fast',
      partials,
    });
    const heard = finals.flatMap((final) => final.words);
    let next = 0;
    for (const { word, start, end } of words) {
      const at = heard.findIndex(
        (one, index) => index >= next && index < next + 3 && bare(one.word.trim()) === bare(word),
      );
      if (at < 0) continue;
      next = at + 1;
      errors.start.push(1000 * Math.abs(heard[at]!.start - start - quietBeforeS));
      errors.end.push(1000 * Math.abs(heard[at]!.end - end - quietBeforeS));
    }
  });
  const how = `${voice}, ${partials ? 'with' : 'without'} partials`;
  return Object.entries(errors).map(([which, found]) => ({
    what: `word ${which} error, ${how}, ${String(found.length)} words`,
    measured: `median ${ms(quantile(found, 0.5))}, p95 ${ms(quantile(found, 0.95))}`,
    target: '30 ms, 100 ms',
  }));
}

/** Words that are told where nobody speaks: every final and every partial counts. */
export async function invented(app: App, minutes: number, callS: number): Promise<FigureRow[]> {
  const kinds = lineNoises(1).size;
  const run = async (noises: ReadonlyMap<string, Int16Array>, pace: 'fast' | 'call') => {
    const said: string[] = [];
    await inParallel([...noises], pace === 'fast' ? 2 : kinds, async ([name, audio]) => {
      const { finals, partials } = await must(app, audio, {
        pace,
        partials: true,
        endpointing: 0.05,
        maximumDuration: 5,
      });
      for (const { text } of [...finals, ...partials]) said.push(`${name}: ${text}`);
    });
    return said;
  };
  const fast = await run(lineNoises(Math.round((minutes * 60) / kinds)), 'fast');
  const call = await run(lineNoises(callS), 'call');
  const music = musicOnHold(10 * callS);
  const held = await run(music, 'fast');
  const show = (said: string[]) =>
    said.length === 0
      ? 'none'
      : `${String(said.length)} (${[...new Set(said)].slice(0, 4).join('; ')})`;
  return [
    {
      what: `text invented in ${String(minutes)} min of ${String(kinds)} noises, fast`,
      measured: show(fast),
      target: 'none',
    },
    {
      what: `the same at call speed, ${String(callS)} s of each`,
      measured: show(call),
      target: 'none',
    },
    {
      what: `in ${String(music.size)} tracks of music on hold, fast`,
      measured: music.size > 0 ? show(held) : 'asterisk-moh-opsound-wav is not installed',
      target: 'none',
    },
  ];
}

/** Everybody speaks all the time: the most legs at which the 95th percentile of finals stays under a second. */
export async function legsPerCore(
  app: App,
  prompts: readonly Prompt[],
  steps: readonly number[],
  seconds: number,
): Promise<FigureRow[]> {
  const rows: FigureRow[] = [];
  for (const partials of [true, false]) {
    let best = 0;
    const seen: string[] = [];
    for (const legs of steps) {
      const late: number[] = [];
      let refused = 0;
      await Promise.all(
        Array.from({ length: legs }, async (_, leg) => {
          await sleep(leg * 53); // calls do not all begin at once
          const { audio, ends } = monologue(prompts, leg, seconds);
          const heard = await session(app.url, audio, { pace: 'call', partials });
          if (!heard) {
            refused++;
            return;
          }
          for (const final of heard.finals) {
            const end = ends.find((at) => Math.abs(at - final.end) < 0.35);
            if (end !== undefined) late.push(final.atMs - heard.sentAtMs(end));
          }
        }),
      );
      const p95 = quantile(late, 0.95);
      seen.push(`${String(legs)}: ${ms(p95)}${refused > 0 ? `, ${String(refused)} refused` : ''}`);
      if (!(p95 < 1_000) || refused > 0) break;
      best = legs;
    }
    rows.push({
      what: `legs per core speaking all the time, ${partials ? 'with' : 'without'} partials`,
      measured: `${String(best)} (p95 at ${seen.join('; ')})`,
      target: partials ? '20' : '40',
    });
  }
  return rows;
}

/** One prompt after the other with 0.6 s between them, and the seconds where each begins and ends. */
export function monologue(prompts: readonly Prompt[], from: number, seconds: number) {
  const audio = new Int16Array(seconds * 8000);
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0.4;
  for (let index = from * 7; at < seconds - 2; index++) {
    const { samples } = prompts[index % prompts.length]!;
    const { startS, endS } = speechSpan(samples);
    if (at + endS - startS > seconds - 1) break;
    audio.set(samples.subarray(startS * 8000, endS * 8000), Math.round(at * 8000));
    starts.push(at);
    at += endS - startS;
    ends.push(at);
    at += 0.6;
  }
  return { audio, starts, ends };
}

/** Memory of one recogniser process, alone and with sessions that speak. */
export async function memory(app: App, prompts: readonly Prompt[]): Promise<FigureRow[]> {
  const [pid] = recognisersOf(app.process.pid!);
  if (pid === undefined) throw new Error('no recogniser process is running');
  const sessions = 10;
  const before = { recogniser: residentMb(pid), main: residentMb(app.process.pid!) };
  let peak = before.recogniser;
  const watch = setInterval(() => (peak = Math.max(peak, residentMb(pid))), 200);
  await Promise.all(
    Array.from({ length: sessions }, (_, leg) =>
      session(app.url, monologue(prompts, leg, 15).audio, { pace: 'call', partials: true }),
    ),
  );
  clearInterval(watch);
  return [
    {
      what: 'resident memory of a recogniser process',
      measured: `${before.recogniser.toFixed(0)} MB, ${peak.toFixed(0)} MB with ${String(sessions)} sessions`,
      target: '',
    },
    {
      what: 'resident memory for each session',
      measured: `${((peak - before.recogniser) / sessions).toFixed(1)} MB`,
      target: '',
    },
    {
      what: 'resident memory of the main process',
      measured: `${before.main.toFixed(0)} MB`,
      target: '',
    },
  ];
}

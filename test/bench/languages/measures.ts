import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import type { App } from '../../support/process/app.ts';
import { recognisersOf } from '../../support/process/recognisers.ts';
import { buildWavHeader } from '../../support/speech/wav-file.ts';
import { lineNoises, musicOnHold } from '../../support/recognition/noises.ts';
import { type Prompt, telephonePrompts } from '../../support/recognition/prompts.ts';
import { inQuiet, throughGsm } from '../recognition/audio.ts';
import { session, type SessionOptions, type SessionResult } from '../recognition/client.ts';
import { type FigureRow, inParallel, quantile, residentMb } from '../recognition/figures.ts';
import { monologue } from '../recognition/measures.ts';
import type { LanguageSet, SpokenLine } from './sets.ts';
import { errorsBetween, wordsOf } from './words.ts';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const textOf = ({ finals }: SessionResult): string => finals.map(({ text }) => text).join(' ');
const lineKinds = process.env['BENCH_LINES']?.split(',') ?? ['mu-law', 'GSM'];
const mostPairs = Number(process.env['BENCH_PAIRS'] ?? 20);
const six = ['en', 'es', 'fr', 'de', 'it', 'ru'];
const liveTargets: Readonly<Record<string, number>> = {
  es: 13,
  fr: 16,
  it: 11,
  ru: 10.5,
  de: 10.5,
};
const jobTargets: Readonly<Record<string, number>> = { es: 12, fr: 16, it: 9.5, ru: 8.5, de: 7 };

async function must(app: App, audio: Int16Array, options: SessionOptions): Promise<SessionResult> {
  for (let tries = 0; tries < 300; tries++) {
    const result = await session(app.url, audio, options);
    if (result) return result;
    await sleep(1_000); // at its limit: later, as the answer asks
  }
  throw new Error('a session was refused for five minutes');
}

type Errors = { wrong: number; words: number };

/** Wrong words of both halves, and of all. */
function halves(lines: readonly SpokenLine[], errors: readonly Errors[]): string {
  const share = (fits: (line: SpokenLine) => boolean): string => {
    const own = errors.filter((_, index) => fits(lines[index]!));
    const sum = (of: (one: Errors) => number): number => own.reduce((all, one) => all + of(one), 0);
    return percent(sum(({ wrong }) => wrong) / sum(({ words }) => words));
  };
  return `${share(() => true)} (seen ${share(({ isSeen }) => isSeen)}, unseen ${share(({ isSeen }) => !isSeen)})`;
}

/** Wrong words through the live socket, the language given. */
export async function words(app: App, sets: readonly LanguageSet[]): Promise<FigureRow[]> {
  const rows: FigureRow[] = [];
  for (const { language, lines } of sets)
    for (const line of lineKinds) {
      const quiet = lines.map(({ samples }) => inQuiet(samples));
      const audios = line === 'GSM' ? throughGsm(quiet) : quiet;
      const errors = await inParallel(lines, 2, async ({ text }, index) => {
        const heard = textOf(
          await must(app, audios[index]!, { pace: 'fast', languages: [language] }),
        );
        const truth = wordsOf(text, language);
        const wrong = errorsBetween(truth, wordsOf(heard, language));
        if (process.env['BENCH_SHOW'] && wrong > truth.length * 0.3)
          console.log(`  ${language} ${line} ${wrong}/${truth.length}\n    ${text}\n    ${heard}`);
        return { wrong, words: truth.length };
      });
      const target = line === 'mu-law' ? `${liveTargets[language]} %` : '';
      const row = {
        what: `wrong words live, ${language}, ${line}`,
        measured: halves(lines, errors),
        target,
      };
      console.log(row.what, row.measured, row.target);
      rows.push(row);
    }
  return rows;
}

/** Words that are said alone. */
export async function singles(app: App, sets: readonly LanguageSet[]): Promise<FigureRow[]> {
  let right = 0;
  let all = 0;
  const each: string[] = [];
  for (const { language, singles: alone } of sets) {
    const heard = await inParallel(alone, 2, async ({ samples, text }) => {
      const result = await must(app, inQuiet(samples), { pace: 'fast', languages: [language] });
      return wordsOf(textOf(result), language).join(' ') === wordsOf(text, language).join(' ');
    });
    const own = heard.filter(Boolean).length;
    right += own;
    all += alone.length;
    each.push(`${language} ${own}/${alone.length}`);
  }
  return [
    {
      what: 'single words right',
      measured: `${percent(right / all)} (${each.join(', ')})`,
      target: '65 %',
    },
  ];
}

/** Words that are told where nobody speaks. */
export async function noise(app: App, minutes: number): Promise<FigureRow[]> {
  const rows: FigureRow[] = [];
  for (const languages of [['es'], []]) {
    const noises = lineNoises(Math.round((minutes * 60) / lineNoises(1).size));
    const said: string[] = [];
    for (const audios of [noises, musicOnHold(60)])
      await inParallel([...audios], 2, async ([name, audio]) => {
        const { finals, partials } = await must(app, audio, {
          pace: 'fast',
          partials: true,
          languages,
        });
        for (const { text, language } of [...finals, ...partials])
          said.push(`${name}: ${language} ${text}`);
      });
    rows.push({
      what: `text in ${minutes} min of noise, ringing and music, ${languages.join() || 'language to be found'}`,
      measured: said.length === 0 ? 'none' : `${said.length} (${said.slice(0, 5).join('; ')})`,
      target: 'none',
    });
  }
  return rows;
}

/** Legs of two utterances: is the second told in its language, by the socket? */
export async function found(app: App, sets: readonly LanguageSet[]): Promise<FigureRow[]> {
  const rows: FigureRow[] = [];
  const pairs = sets.flatMap(({ language, lines }) => {
    const long = lines.filter(
      ({ samples }) => samples.length > 2 * 8_000 && samples.length < 7 * 8_000,
    );
    return long
      .slice(0, mostPairs)
      .map((line, at) => ({ language, both: [line, long[(at + 1) % long.length]!] }));
  });
  for (const list of ['its own and English', 'six', 'none']) {
    const wrong: string[] = [];
    const asked = (language: string): string[] =>
      list === 'none' ? [] : list === 'six' ? six : ['en', language];
    const isRight = await inParallel(pairs, 2, async ({ language, both }) => {
      const audio = joined(
        both.map(({ samples }) => samples),
        1,
      );
      const { finals } = await must(app, audio, {
        pace: 'fast',
        languages: asked(language),
        maximumDuration: 15,
      });
      const last = finals.at(-1)?.language ?? 'nothing';
      if (last !== language) wrong.push(`${language} as ${last}`);
      return last === language;
    });
    rows.push({
      what: `language right after two utterances, list: ${list}`,
      measured: `${percent(isRight.filter(Boolean).length / isRight.length)} of ${isRight.length} (${[...new Set(wrong)].slice(0, 6).join(', ')})`,
      target: '98 %',
    });
  }
  return rows;
}

function joined(parts: readonly Int16Array[], gapS: number): Int16Array {
  const quiet = parts.map((samples) => inQuiet(samples, 0.4, gapS));
  const all = new Int16Array(quiet.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of quiet) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A caller says "hello" in English, or a sentence of it, and speaks another language from then on. */
export async function changing(app: App, sets: readonly LanguageSet[]): Promise<FigureRow[]> {
  const english = telephonePrompts();
  const hello =
    english.find(({ text }) => /^hello/i.test(text)) ??
    telephonePrompts(1).find(({ text }) => /hello/i.test(text));
  const rows: FigureRow[] = [];
  for (const [what, before] of [
    ['a short English greeting', hello ? [hello] : []],
    [
      'three English sentences',
      english
        .filter(({ samples }) => samples.length > 3 * 8_000 && samples.length < 6 * 8_000)
        .slice(0, 3),
    ],
  ] as const)
    for (const { language, lines } of sets) {
      const own = lines
        .filter(({ samples }) => samples.length > 3 * 8_000 && samples.length < 8 * 8_000)
        .slice(0, 6);
      const calls = [0, 1, 2].map((at) => own.slice(at * 2, at * 2 + 2));
      const errors = await inParallel(calls, 2, async (said) => {
        const audio = joined(
          [...before, ...said].map(({ samples }) => samples),
          1,
        );
        const { finals } = await must(app, audio, {
          pace: 'fast',
          languages: [],
          maximumDuration: 15,
        });
        const startS = before.reduce((sum, { samples }) => sum + samples.length / 8_000 + 1.4, 0);
        const own = finals.filter(({ end }) => end > startS);
        const truth = wordsOf(said.map(({ text }) => text).join(' '), language);
        const heard = wordsOf(own.map(({ text }) => text).join(' '), language);
        const after = own.map((final) => final.language);
        return {
          wrong: errorsBetween(truth, heard),
          words: truth.length,
          isFound: after.at(-1) === language,
        };
      });
      const sum = (of: (one: (typeof errors)[number]) => number): number =>
        errors.reduce((all, one) => all + of(one), 0);
      rows.push({
        what: `${language} after ${what}`,
        measured: `${percent(sum((one) => one.wrong) / sum((one) => one.words))} wrong words, language right ${sum((one) => Number(one.isFound))} of ${errors.length}`,
        target: '',
      });
    }
  return rows;
}

type SpokenLeg = { language: string; prompts: readonly Prompt[] };

/** The wait for finals after the end of speech, each leg speaking all the time at call speed. */
async function lateness(app: App, legs: readonly SpokenLeg[], seconds: number) {
  const late = new Map<string, number[]>();
  let refused = 0;
  await Promise.all(
    legs.map(async ({ language, prompts }, leg) => {
      await sleep(leg * 53); // calls do not all begin at once
      const { audio, ends } = monologue(prompts, leg, seconds);
      const heard = await session(app.url, audio, {
        pace: 'call',
        partials: true,
        languages: [language],
        maximumDuration: 15,
      });
      if (!heard) {
        refused++;
        return;
      }
      const own = late.get(language) ?? [];
      late.set(language, own);
      for (const final of heard.finals) {
        const end = ends.find((at) => Math.abs(at - final.end) < 0.5);
        if (end !== undefined) own.push(final.atMs - heard.sentAtMs(end));
      }
    }),
  );
  const of = (...languages: string[]): string => {
    const ms = languages.flatMap((language) => late.get(language) ?? []);
    return `p50 ${quantile(ms, 0.5).toFixed(0)}, p95 ${quantile(ms, 0.95).toFixed(0)} ms of ${ms.length}`;
  };
  return { of, refused, others: [...late.keys()].filter((language) => language !== 'en') };
}

const promptsOf = ({ lines }: LanguageSet): Prompt[] =>
  lines
    .filter(({ samples }) => samples.length < 8 * 8_000)
    .map(({ text, samples }) => ({ name: '', text, samples }));

export async function latency(
  app: App,
  sets: readonly LanguageSet[],
  seconds: number,
): Promise<FigureRow[]> {
  const leg = (at: number): SpokenLeg => {
    const set = sets[at % sets.length]!;
    return { language: set.language, prompts: promptsOf(set) };
  };
  const rows: FigureRow[] = [];
  for (const [count, target] of [
    [8, '1.2 s'],
    [16, '2 s'],
  ] as const) {
    const { of, refused, others } = await lateness(
      app,
      Array.from({ length: count }, (_, at) => leg(at)),
      seconds,
    );
    rows.push({
      what: `end of speech to final, ${count} legs`,
      measured: `${of(...others)}, ${refused} refused`,
      target: `p95 ${target}`,
    });
  }
  return rows;
}

/** Ten legs of five languages, with two English ones beside them, which are measured alone first. */
export async function beside(
  app: App,
  sets: readonly LanguageSet[],
  seconds: number,
): Promise<FigureRow[]> {
  const english: SpokenLeg[] = [0, 1].map(() => ({
    language: 'en',
    prompts: telephonePrompts().filter(({ samples }) => samples.length < 8 * 8_000),
  }));
  const alone = await lateness(app, english, seconds);
  const ten = Array.from({ length: 10 }, (_, at) => sets[at % sets.length]!).map((set) => ({
    language: set.language,
    prompts: promptsOf(set),
  }));
  const both = await lateness(app, [...ten, ...english], seconds);
  return [
    { what: 'two English legs alone', measured: alone.of('en'), target: '' },
    {
      what: 'two English legs beside ten of five languages',
      measured: both.of('en'),
      target: 'as alone',
    },
    {
      what: 'the ten',
      measured: `${both.of(...both.others)}, ${both.refused} refused`,
      target: '',
    },
  ];
}

/** Each set as one recording with pauses of a second: a job reads it. */
export async function jobs(app: App, sets: readonly LanguageSet[]): Promise<FigureRow[]> {
  const rows: FigureRow[] = [];
  for (const { language, lines } of sets)
    for (const line of lineKinds)
      for (const isSeen of [true, false]) {
        const own = lines.filter((one) => one.isSeen === isSeen);
        const quiet = own.map(({ samples }) => inQuiet(samples, 0.3, 0.7));
        const audio = joined(line === 'GSM' ? throughGsm(quiet) : quiet, 0.1);
        const cpuBefore = cpuOfChildren(app.process.pid!);
        const startedMs = performance.now();
        const { text, languages } = await jobOf(app, audio, language);
        const wallS = (performance.now() - startedMs) / 1e3;
        const cpuS = cpuOfChildren(app.process.pid!) - cpuBefore;
        const truth = wordsOf(own.map((one) => one.text).join(' '), language);
        const wrong = errorsBetween(truth, wordsOf(text, language));
        const row = {
          what: `wrong words of a job, ${language}, ${line}, ${isSeen ? 'seen' : 'unseen'}`,
          measured: `${percent(wrong / truth.length)}, ${(audio.length / 8_000 / wallS).toFixed(1)} times as fast as said, ${(audio.length / 8_000 / cpuS).toFixed(1)} a core (${languages.join()})`,
          target: line === 'mu-law' ? `${jobTargets[language]} %, 7 times a core` : '',
        };
        console.log(row.what, row.measured, row.target);
        rows.push(row);
      }
  return rows;
}

type ReadJob = {
  status: string;
  result?: { transcription: { full_transcript: string; languages: string[] } };
};

async function jobOf(app: App, audio: Int16Array, language: string) {
  const form = new FormData();
  form.append('audio', new Blob([wavOf(audio)]), 'set.wav');
  const uploaded = await app.get('/v2/upload', { method: 'POST', body: form });
  const { audio_url } = (await uploaded.json()) as { audio_url: string };
  const made = await app.get('/v2/pre-recorded', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ audio_url, language_config: { languages: [language] } }),
  });
  const { id } = (await made.json()) as { id: string };
  for (let tries = 0; tries < 6_000; tries++) {
    const job = (await (await app.get(`/v2/pre-recorded/${id}`)).json()) as ReadJob;
    if (job.status === 'error') throw new Error(JSON.stringify(job));
    if (job.result) {
      const { full_transcript: text, languages } = job.result.transcription;
      return { text, languages };
    }
    await sleep(100);
  }
  throw new Error('the job did not end');
}

function wavOf(samples: Int16Array): Buffer<ArrayBuffer> {
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  return Buffer.concat([buildWavHeader(data.length), data]);
}

/** Processor seconds of the recogniser processes that run now. */
function cpuOfChildren(pid: number): number {
  const ticks = recognisersOf(pid).map((child) => {
    const fields = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / 100;
}

export async function memory(app: App, sets: readonly LanguageSet[]): Promise<FigureRow[]> {
  const before = recognisersOf(app.process.pid!).map((pid) => `${residentMb(pid).toFixed(0)} MB`);
  const set = sets[0]!;
  const cpuBefore = cpuOfChildren(app.process.pid!);
  const seconds = 30;
  await Promise.all(
    [0, 1, 2, 3].map((leg) =>
      session(app.url, monologue(promptsOf(set), leg, seconds).audio, {
        pace: 'call',
        languages: [set.language],
        maximumDuration: 15,
      }),
    ),
  );
  const cores = (cpuOfChildren(app.process.pid!) - cpuBefore) / seconds / 4;
  const after = recognisersOf(app.process.pid!).map((pid) => `${residentMb(pid).toFixed(0)} MB`);
  return [
    {
      what: 'memory of the recogniser processes',
      measured: `${before.join(', ')}; with four legs ${after.join(', ')}`,
      target: '',
    },
    {
      what: 'cost of a leg that speaks all the time, finals alone',
      measured: `${cores.toFixed(2)} of a core`,
      target: '0.09',
    },
  ];
}

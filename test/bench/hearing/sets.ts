import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecogniserStreamOptions } from '../../../src/hearing/recogniser.ts';
import { sayWithFestival, sayWithFlite } from '../../support/recognition/dialogue.ts';
import { humanPrompts, picoPrompts } from './held-out-set.ts';
import { telephonePrompts, wavSamples, type Prompt } from '../../support/recognition/prompts.ts';
import { kindsOfSecondSet } from './second-set.ts';
import { inPinkNoise, speechSpan, throughGsm } from '../recognition/audio.ts';

export type Condition = {
  name: string;
  of: (audios: readonly Int16Array[]) => Int16Array[];
  stream?: Partial<RecogniserStreamOptions>;
};
export type SpeechSet = { name: string; prompts: Prompt[]; conditions: Condition[] };

const every = Number(process.env['HEARING_EVERY'] ?? 1);
const sets = process.env['HEARING_SETS']?.split(',');
const folder = process.env['HEARING_FOLDER'];
export const namesAreAsked = sets?.includes('names') ?? false;
const conditionsAsked = process.env['HEARING_CONDITIONS']?.split(',');

const each =
  (change: (audio: Int16Array, index: number) => Int16Array) => (audios: readonly Int16Array[]) =>
    audios.map(change);
const clean: Condition = { name: 'clean', of: (audios) => [...audios] };
const gsm: Condition = { name: 'GSM', of: throughGsm };
const noise: Condition = {
  name: 'pink noise 15 dB',
  of: each((audio, index) => inPinkNoise(audio, 15, index + 1)),
};
const babble = (decibels: number): Condition => ({
  name: `babble ${String(decibels)} dB`,
  of: (audios) => audios.map((audio, index) => inBabble(audio, index, audios, decibels)),
});
const loss = (percent: number): Condition => ({
  name: `${String(percent)} % of packets lost`,
  of: each((audio, index) => withLoss(audio, percent / 100, index + 1)),
});

/** A number between 0 and 1 that is the same in every run. */
function randomOf(seed: number): () => number {
  let state = seed * 2654435761 || 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function withLoss(audio: Int16Array, share: number, seed: number): Int16Array {
  const random = randomOf(seed);
  const out = audio.slice();
  let lost = false;
  for (let at = 0; at < out.length; at += 160) {
    lost = random() < (lost ? 0.5 : share / 2);
    if (lost) out.fill(0, at, at + 160);
  }
  return out;
}

function power(audio: Int16Array): number {
  const loud = audio.filter((sample) => Math.abs(sample) > 300);
  return loud.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, loud.length);
}

function inBabble(
  audio: Int16Array,
  index: number,
  all: readonly Int16Array[],
  decibels: number,
): Int16Array {
  const others = [7, 13, 19, 29].map((step) => all[(index + step) % all.length] ?? audio);
  const sum = audio.map((_, i) =>
    others.reduce((total, other) => total + (other[(i + 4000) % other.length] ?? 0) / 4, 0),
  );
  const gain = Math.sqrt(power(audio) / Math.max(1, power(sum)) / 10 ** (decibels / 10));
  return audio.map((sample, i) => Math.max(-32768, Math.min(32767, sample + gain * (sum[i] ?? 0))));
}

function spokenSet(): Prompt[] {
  return Object.entries(kindsOfSecondSet).flatMap(([kind, texts]) =>
    texts.flatMap((text, index) => [
      { name: `${kind}: awb ${String(index)}`, text, samples: sayWithFlite('awb', text) },
      { name: `${kind}: slt ${String(index)}`, text, samples: sayWithFlite('slt', text) },
      { name: `${kind}: festival ${String(index)}`, text, samples: sayWithFestival(text) },
    ]),
  );
}

function folderSet(path: string): Prompt[] {
  return readdirSync(path)
    .filter((file) => file.endsWith('.wav') && existsSync(join(path, file.replace('.wav', '.txt'))))
    .map((file) => ({
      name: file,
      text: readFileSync(join(path, file.replace('.wav', '.txt')), 'utf8'),
      samples: wavSamples(readFileSync(join(path, file))),
    }));
}

/**
 * Speech that has to be cut for its length: prompts and sentences one after the other, without the quiet around them, in
 * recordings of more than half a minute, of the second set one voice after the other: who speaks on says no sentence
 * three times. No pause of theirs ends an utterance. Joined otherwise, other words are at the cuts: of one way of joining
 * them the errors of two conditions differ by chance by a third of a point.
 */
function fluentSet(leastS: number): Prompt[] {
  const long: Prompt[] = [];
  const spoken = spokenSet();
  const voiceByVoice = [0, 1, 2].flatMap((voice) => spoken.filter((_, at) => at % 3 === voice));
  for (const { text, samples } of [...telephonePrompts(), ...voiceByVoice].filter(
    (_, index) => index % every === 0,
  )) {
    const { startS, endS } = speechSpan(samples);
    const voiced = samples.subarray(startS * 8_000, endS * 8_000);
    const last = long.at(-1);
    if (!last || last.samples.length > leastS * 8_000)
      long.push({ name: `fluent ${String(long.length)}`, text, samples: voiced });
    else {
      last.text += ` ${text}`;
      last.samples = Int16Array.from([...last.samples, ...voiced]);
    }
  }
  return long;
}

const cutEvery = (seconds: number): Condition => ({
  name: `cut every ${String(seconds)} s`,
  of: (audios) => [...audios],
  stream: { maximumDurationS: seconds, endpointingS: 5 },
});

export const isFluent = ({ name }: SpeechSet) => name.startsWith('fluent');

/** The sets that the environment asks for, each with its conditions. */
export function setsAsked(): SpeechSet[] {
  const harder = [clean, gsm, noise, babble(20), babble(14), babble(8), loss(1), loss(3)];
  const all: (() => SpeechSet)[] = [];
  if (!sets || sets.includes('prompts'))
    all.push(() => ({
      name: 'prompts',
      prompts: telephonePrompts(),
      conditions: [clean, gsm, noise],
    }));
  if (!sets || sets.includes('second'))
    all.push(() => ({ name: 'second set', prompts: spokenSet(), conditions: harder }));
  if (sets?.includes('held-out'))
    all.push(() => ({ name: 'held-out set', prompts: picoPrompts(), conditions: harder }));
  if (sets?.includes('human'))
    all.push(() => ({ name: 'people', prompts: humanPrompts(), conditions: harder }));
  if (sets?.includes('fluent'))
    for (const leastS of [34, 37, 40, 43])
      all.push(() => ({
        name: `fluent speech joined to ${String(leastS)} s`,
        prompts: fluentSet(leastS),
        conditions: [5, 10, 30, 60].map(cutEvery),
      }));
  if (folder && (!sets || sets.includes('folder')))
    all.push(() => ({ name: folder, prompts: folderSet(folder), conditions: harder }));
  return all
    .map((make) => make())
    .map((set) => ({
      ...set,
      // The parts of fluent speech were chosen before they were joined.
      prompts: set.prompts.filter((_, i) => i % every === 0 || isFluent(set)),
      conditions: set.conditions.filter(({ name }) => conditionsAsked?.includes(name) ?? true),
    }));
}

/**
 * How well each reader hears, on the prompts that the recogniser was tuned on and on a set that it was not.
 *
 * Method: the recogniser's processes without the service around them, every prompt a stream of its own with 0.4 s of
 * quiet before it and 1 s after, sent at once. Prompts: Debian's asterisk-core-sounds-en-wav (tuned on). The second set
 * (test/support/recognition/second-set.ts): invented sentences said by flite and festival; babble is four other voices
 * of the set at once, and a lost packet is 20 ms of silence, five times out of ten followed by another. Errors by the
 * normaliser of test/support/recognition/word-errors.ts; `strict` leaves all spellings apart but case and punctuation.
 *
 *   npm run bench -- hearing                             all
 *   HEARING_SETS=second HEARING_EVERY=3 npm run bench -- hearing
 *   HEARING_FOLDER=recordings npm run bench -- hearing   each x.wav (8 kHz, mono, 16 bit) with its words in x.txt, too
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inPinkNoise, inQuiet, throughGsm } from '../bench/recognition/audio.ts';
import { sayWithFestival, sayWithFlite } from '../support/recognition/dialogue.ts';
import { telephonePrompts, wavSamples, type Prompt } from '../support/recognition/prompts.ts';
import type { Recogniser } from '../../src/speech-service/recognition/recogniser.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { hear, pushAll, recogniserOf } from '../support/recognition/recogniser.ts';
import { secondSet } from '../support/recognition/second-set.ts';
import { normalisedWords, wordErrors } from '../support/recognition/word-errors.ts';
import { alignedWords } from '../../src/speech-service/recognition/offline/readings.ts';

type Condition = { name: string; of: (audios: readonly Int16Array[]) => Int16Array[] };
type SpeechSet = { name: string; prompts: Prompt[]; conditions: Condition[] };

const every = Number(process.env['HEARING_EVERY'] ?? 1);
const sets = process.env['HEARING_SETS']?.split(',');
const folder = process.env['HEARING_FOLDER'];

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
  return secondSet.flatMap((text, index) => [
    { name: `awb ${String(index)}`, text, samples: sayWithFlite('awb', text) },
    { name: `slt ${String(index)}`, text, samples: sayWithFlite('slt', text) },
    { name: `festival ${String(index)}`, text, samples: sayWithFestival(text) },
  ]);
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

function setsAsked(): SpeechSet[] {
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
  if (folder && (!sets || sets.includes('folder')))
    all.push(() => ({ name: folder, prompts: folderSet(folder), conditions: harder }));
  return all
    .map((make) => make())
    .map((set) => ({ ...set, prompts: set.prompts.filter((_, i) => i % every === 0) }));
}

const strictWords = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}'#*&%]+/gu, ' ')
    .trim()
    .split(' ')
    .filter(Boolean);

type JudgedWord = { confidence: number; right: boolean };

/** The share of pairs of a right and a wrong word in which the right one is the surer. */
function areaUnder(words: readonly JudgedWord[]): number {
  const ordered = [...words].sort((a, b) => a.confidence - b.confidence);
  let ranks = 0;
  for (let i = 0; i < ordered.length;) {
    let j = i;
    while (j < ordered.length && ordered[j]!.confidence === ordered[i]!.confidence) j++;
    for (let k = i; k < j; k++) if (ordered[k]!.right) ranks += (i + 1 + j) / 2;
    i = j;
  }
  const right = words.filter((word) => word.right).length;
  return (ranks - (right * (right + 1)) / 2) / Math.max(1, right * (words.length - right));
}

/** What was heard of one prompt, against what was said. */
type HeardPrompt = {
  wrong: number;
  words: number;
  strict: number;
  strictOf: number;
  unread: number;
  judged: JudgedWord[];
};

async function heardOf(
  recogniser: Recogniser,
  { text }: Prompt,
  audio: Int16Array,
): Promise<HeardPrompt> {
  const heard = hear(recogniser, { recorded: true, partials: false });
  pushAll(heard.stream, audio);
  await heard.end();
  const said = heard.text();
  const truth = normalisedWords(text);
  const words = heard.finals.flatMap((final) =>
    final.words.flatMap(({ word, confidence }) =>
      normalisedWords(word).map((one) => ({ one, confidence })),
    ),
  );
  const right = new Set(
    alignedWords(
      words.map(({ one }) => one),
      truth,
    ),
  );
  return {
    wrong: wordErrors(truth, normalisedWords(said)),
    words: truth.length,
    strict: wordErrors(strictWords(text), strictWords(said)),
    strictOf: strictWords(text).length,
    unread: heard.events.filter(({ type }) => type === 'unread').length,
    judged: words.map(({ confidence }, at) => ({ confidence, right: right.has(at) })),
  };
}

const sumOf = (
  heard: readonly HeardPrompt[],
  what: 'wrong' | 'words' | 'strict' | 'strictOf' | 'unread',
) => heard.reduce((sum, one) => sum + one[what], 0);
const share = (part: number, whole: number) =>
  `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`;
const wrongOf = (heard: readonly HeardPrompt[]) =>
  share(sumOf(heard, 'wrong'), sumOf(heard, 'words'));

async function measure(
  recogniser: Recogniser,
  set: SpeechSet,
  condition: Condition,
): Promise<JudgedWord[]> {
  const audios = condition.of(set.prompts.map(({ samples }) => inQuiet(samples)));
  const heard: HeardPrompt[] = [];
  const waiting = set.prompts.map((prompt, index) => ({ prompt, index, audio: audios[index]! }));
  const readOn = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      heard[next.index] = await heardOf(recogniser, next.prompt, next.audio);
  };
  await Promise.all([readOn(), readOn(), readOn(), readOn()]);
  const judged = heard.flatMap((one) => one.judged);
  const halves = [0, 1].map((half) => wrongOf(heard.filter((_, index) => index % 2 === half)));
  console.log(
    `${set.name}, ${condition.name}: ${wrongOf(heard)} of ${String(sumOf(heard, 'words'))} words wrong ` +
      `(even ${halves[0]!}, odd ${halves[1]!}; strict ${share(sumOf(heard, 'strict'), sumOf(heard, 'strictOf'))}), ` +
      `stretches unread ${String(sumOf(heard, 'unread'))}, area ${areaUnder(judged).toFixed(3)}`,
  );
  return judged;
}

const steps = [0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.01];

/** Of words that are so sure, how many are right. */
function reliability(name: string, judged: readonly JudgedWord[]): void {
  console.log(`${name}: area under the curve ${areaUnder(judged).toFixed(3)}`);
  for (const [index, least] of steps.slice(0, -1).entries()) {
    const inside = judged.filter(
      ({ confidence }) => confidence >= least && confidence < steps[index + 1]!,
    );
    const right = inside.filter((word) => word.right).length;
    const mean =
      inside.reduce((sum, { confidence }) => sum + confidence, 0) / Math.max(1, inside.length);
    console.log(
      `  confidence from ${least.toFixed(2)} (mean ${mean.toFixed(3)}): ${share(right, inside.length)} right of ${String(inside.length)}`,
    );
  }
}

export async function run(): Promise<void> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had');
  await using recogniser = await recogniserOf(
    model.model,
    { models: model.models, processes: 2 },
    true,
  );
  for (const set of setsAsked()) {
    const judged: JudgedWord[] = [];
    for (const condition of set.conditions)
      judged.push(...(await measure(recogniser, set, condition)));
    reliability(set.name, judged);
  }
}

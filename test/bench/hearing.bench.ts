/**
 * Measures how well each reader hears, on the prompts that the recogniser was tuned on and on sets that it was not.
 *
 * Method: the recogniser's processes without the service around them, every prompt a stream of its own with 0.4 s of
 * quiet before it and 1 s after, two at a time, sent at once: as a session that is fed faster than it is spoken.
 * Prompts: Debian's asterisk-core-sounds-en-wav (tuned on). The second set (test/support/recognition/second-set.ts):
 * invented sentences said by flite and festival. The held-out set (test/support/recognition/held-out-set.ts): other
 * sentences said by two voices of SVOX Pico, and people of Debian's pocketsphinx-testdata; no word of its errors was
 * looked at. Babble is four other voices of the set at once, and a lost packet is 20 ms of silence, five times out of
 * ten followed by another. Errors by the normaliser of test/support/recognition/word-errors.ts; `strict` leaves all
 * spellings apart but case and punctuation. A set has two halves by the MD5 of the clip's name: what is tuned is tuned
 * on the even half of the prompts, and measured on the odd.
 *
 *   npm run bench -- hearing                             all but the held-out set
 *   HEARING_SETS=held-out HEARING_PYTHON=venv/bin/python npm run bench -- hearing     after `pip install py-nanotts`
 *   HEARING_SETS=human npm run bench -- hearing          after `apt-get install pocketsphinx-testdata`
 *   HEARING_SHOW=1 npm run bench -- hearing              prints each wrong clip: [said>heard], [-passed over], [+added]
 *   HEARING_SETS=fluent npm run bench -- hearing         half an hour without a pause, four times joined otherwise, cut
 *                                                        every 5, 10, 30 and 60 s
 *   HEARING_SETS=names npm run bench -- hearing          80 names said by two voices, heard with a vocabulary and without
 *   HEARING_READERS=both npm run bench -- hearing        as a job reads, with Whisper tiny.en where it is pulled
 *   HEARING_READERS=both HEARING_PACKED=70 npm run bench -- hearing     prompts one after the other, 70 s a recording
 *   HEARING_CONDITIONS=clean,GSM npm run bench -- hearing
 *   HEARING_CALLS=10 npm run bench -- hearing            as live calls: so many at once, at the pace of speech, with partials
 *   HEARING_SETS=second HEARING_EVERY=3 npm run bench -- hearing
 *   HEARING_FOLDER=recordings npm run bench -- hearing   each x.wav (8 kHz, mono, 16 bit) with its words in x.txt, too
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Recogniser,
  RecogniserStream,
  RecogniserStreamOptions,
} from '../../src/hearing/recogniser.ts';
import { alignedWords } from '../../src/hearing/offline/readings.ts';
import type { Prompt } from '../support/recognition/prompts.ts';
import { pulledSecondReader, realModel } from '../support/recognition/real-model.ts';
import { hear, pushAll, silentLog } from '../support/recognition/recogniser.ts';
import { RecogniserConfig } from '../../src/hearing/config.ts';
import { startRecogniser } from '../../src/hearing/pool/pool.ts';
import {
  differences,
  normalisedEach,
  normalisedWords,
  wordErrors,
} from '../support/recognition/word-errors.ts';
import { inQuiet } from './recognition/audio.ts';
import { measureNames } from './hearing/names.ts';
import {
  type Condition,
  isFluent,
  namesAreAsked,
  setsAsked,
  type SpeechSet,
} from './hearing/sets.ts';

/** The wishes of a job for a stream, for recordings that are read twice. */
const asJob: Partial<RecogniserStreamOptions> = {
  recorded: true,
  endpointingS: 0.5,
  maximumDurationS: 30,
};
const readsTwice = process.env['HEARING_READERS'] === 'both';
/** The seconds of prompts in one recording; 0 where each is one of its own. */
const packedS = Number(process.env['HEARING_PACKED'] ?? 0);
/** The number of calls at once, at the pace of speech; 0: as fast as it is read. */
const calls = Number(process.env['HEARING_CALLS'] ?? 0);
const shows = process.env['HEARING_SHOW'] !== undefined;

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

/** The heard words of one prompt, against the said ones. */
type HeardPrompt = {
  name: string;
  wrong: number;
  words: number;
  strict: number;
  strictOf: number;
  unread: number;
  judged: JudgedWord[];
};

/** A prompt in a recording, from its first second to the one behind its last. */
type Part = { prompt: Prompt; index: number; fromS: number; toS: number };
type Recording = { audio: Int16Array; parts: Part[] };

function recordingsOf(prompts: readonly Prompt[], audios: readonly Int16Array[]): Recording[] {
  const recordings: { audios: Int16Array[]; seconds: number; parts: Part[] }[] = [];
  // In no order: the voices of a set say the same sentences, and nobody hears one three times in a row.
  const order = [...prompts.entries()].toSorted(([, a], [, b]) =>
    digestOf(a.name).compare(digestOf(b.name)),
  );
  for (const [index, prompt] of packedS > 0 ? order : prompts.entries()) {
    const audio = audios[index]!;
    const seconds = audio.length / 8000;
    let last = recordings.at(-1);
    if (!last || last.seconds + seconds > packedS)
      recordings.push((last = { audios: [], seconds: 0, parts: [] }));
    last.parts.push({ prompt, index, fromS: last.seconds, toS: last.seconds + seconds });
    last.seconds += seconds;
    last.audios.push(audio);
  }
  return recordings.map(({ audios, parts }) => {
    const audio = new Int16Array(audios.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const one of audios) {
      audio.set(one, at);
      at += one.length;
    }
    return { audio, parts };
  });
}

async function heardOf(
  recogniser: Recogniser,
  { audio, parts }: Recording,
  stream: Partial<RecogniserStreamOptions> = {},
): Promise<HeardPrompt[]> {
  const options = { partials: calls > 0, ...(readsTwice ? asJob : {}), ...stream };
  while (recogniser.admits({ languages: ['en'] }, 1).outcome !== 'admitted') await sleep(500);
  const heard = hear(recogniser, options);
  if (calls > 0) await pushAsSpoken(heard.stream, audio);
  else pushAll(heard.stream, audio);
  await heard.end();
  const spoken = heard.finals.flatMap((final) => final.words);
  const unread = heard.events.flatMap((event) => (event.type === 'wordless' ? event.from : []));
  return parts.map(({ prompt, fromS, toS }) => {
    const inside = (second: number) =>
      parts.length === 1 || (second >= fromS - 0.05 && second < toS - 0.05);
    const words = spoken.filter(({ start }) => inside(start));
    const said = parts.length === 1 ? heard.text() : words.map(({ word }) => word).join(' ');
    return judged(prompt, said, words, unread.filter(inside).length);
  });
}

/** 20 ms at a time, as a carrier sends it. */
async function pushAsSpoken(stream: RecogniserStream, audio: Int16Array): Promise<void> {
  const beganMs = performance.now();
  for (let at = 0; at < audio.length; at += 160) {
    stream.push(audio.subarray(at, at + 160));
    const aheadMs = (at + 160) / 8 - (performance.now() - beganMs);
    if (aheadMs > 0) await sleep(aheadMs);
  }
}

function judged(
  { name, text }: Prompt,
  said: string,
  spoken: readonly { word: string; confidence: number }[],
  unread: number,
): HeardPrompt {
  const truth = normalisedWords(text);
  const each = normalisedEach(spoken.map(({ word }) => word), truth); // prettier-ignore
  const words = spoken.flatMap(({ confidence }, at) =>
    (each[at] ?? []).map((one) => ({ one, confidence })),
  );
  const right = new Set(
    alignedWords(
      words.map(({ one }) => one),
      truth,
    ),
  );
  const own = normalisedWords(said, truth);
  const wrong = wordErrors(truth, own);
  if (shows && wrong > 0) console.log(`${name}: ${differences(truth, own)}`);
  return {
    name,
    wrong,
    words: truth.length,
    strict: wordErrors(strictWords(text), strictWords(said)),
    strictOf: strictWords(text).length,
    unread,
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
): Promise<{ judged: JudgedWord[]; heard: HeardPrompt[] }> {
  const audios = condition.of(set.prompts.map(({ samples }) => inQuiet(samples)));
  const heard: HeardPrompt[] = [];
  const waiting = recordingsOf(set.prompts, audios);
  const readOn = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const found = await heardOf(recogniser, next, condition.stream);
      for (const [at, { index }] of next.parts.entries()) heard[index] = found[at]!;
    }
  };
  await Promise.all(Array.from({ length: calls || 2 }, readOn));
  const words = heard.flatMap((one) => one.judged);
  const halves = [0, 1].map((half) => wrongOf(heard.filter(({ name }) => halfOf(name) === half)));
  const kinds = [...new Set(heard.map(({ name }) => name.split(': ')[0]!))];
  if (kinds.length < heard.length)
    for (const kind of kinds) {
      const of = heard.filter(({ name }) => name.startsWith(`${kind}: `));
      if (of.length > 0) console.log(`  ${kind}: ${wrongOf(of)} of ${String(sumOf(of, 'words'))}`);
    }
  console.log(
    `${set.name}, ${condition.name}: ${wrongOf(heard)} of ${String(sumOf(heard, 'words'))} words wrong ` +
      `(even ${halves[0]!}, odd ${halves[1]!}; strict ${share(sumOf(heard, 'strict'), sumOf(heard, 'strictOf'))}), ` +
      `stretches unread ${String(sumOf(heard, 'unread'))}, area ${areaUnder(words).toFixed(3)}`,
  );
  return { judged: words, heard };
}

/** The half that a clip belongs to, whatever is left out or added. */
function halfOf(name: string): number {
  return (digestOf(name)[0] ?? 0) % 2;
}

function digestOf(name: string): Buffer {
  return createHash('md5').update(name).digest();
}

const steps = [0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.01];

/** The share of right words among those that are this sure. */
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
  const secondReader = readsTwice ? await pulledSecondReader() : undefined;
  if (readsTwice && secondReader === undefined) throw new Error('the second reader is not there');
  await using recogniser = await startRecogniser({
    config: RecogniserConfig.parse({ ...model, processes: 2 }),
    log: silentLog,
    inBackground: calls === 0,
    secondReader,
  });
  /** The heard words of fluent speech by condition, however it was joined. */
  const fluent = new Map<string, HeardPrompt[]>();
  for (const set of setsAsked()) {
    const judged: JudgedWord[] = [];
    for (const condition of set.conditions) {
      const measured = await measure(recogniser, set, condition);
      judged.push(...measured.judged);
      if (isFluent(set))
        fluent.set(condition.name, [...(fluent.get(condition.name) ?? []), ...measured.heard]);
    }
    reliability(set.name, judged);
  }
  for (const [name, heard] of fluent)
    console.log(
      `fluent speech, ${name}, however joined: ${wrongOf(heard)} of ${String(sumOf(heard, 'words'))} words wrong, ` +
        `stretches unread ${String(sumOf(heard, 'unread'))}`,
    );
  if (namesAreAsked) await measureNames(recogniser);
}

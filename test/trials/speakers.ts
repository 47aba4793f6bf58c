import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linearToMulaw, mulawToLinear } from '../../src/audio/g711.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { PartTurns } from '../../src/speech-service/jobs/part-turns.ts';
import { readChannels } from '../../src/speech-service/jobs/reading.ts';
import { openMedia } from '../../src/speech-service/media/media.ts';
import type { Recogniser } from '../../src/speech-service/recognition/recogniser.ts';
import { openSpeakers, type Speakers } from '../../src/speech-service/speakers/speakers.ts';
import { withSpeakersOf } from '../../src/speech-service/speakers/turns.ts';
import type { SpeakerHints } from '../../src/speech-service/speakers/voices.ts';
import {
  canSpeak,
  dialogueOf,
  rightWords,
  sayWithFestival,
  sayWithFlite,
  wrongSeconds,
  type SpokenDialogue,
} from '../support/recognition/dialogue.ts';
import { missingVoices, sayingsOf, type Person } from '../support/recognition/human-voices.ts';
import { throughGsm } from '../bench/recognition/audio.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { recogniserOf, silentLog } from '../support/recognition/recogniser.ts';
import { wavFile } from '../support/speech/jobs.ts';
import { noise } from '../support/speech/made-up-voice.ts';

/**
 * Forty dialogues on a telephone line, mu-law and GSM in turn: twenty of voices that were made for this trial by turning
 * the pitch of others, twenty of people who spoke the prompts of Debian's packages in five languages. How much of the
 * speech, and how many words, have the right speaker, and what that costs. The words of synthetic voices are those that
 * the recogniser hears; of the people, whose languages it does not know, each third of a second of a turn is a word.
 * No number here was tuned on any of them.
 *
 *   npm run trials -- speakers
 *   DIALOGUES=8 npm run trials -- speakers     every fifth of them
 */
const say = {
  rmsLow: (text: string) => sayWithFlite('rms', text, ['pitch', '-180']),
  rmsHigh: (text: string) => sayWithFlite('rms', text, ['pitch', '260']),
  awbLow: (text: string) => sayWithFlite('awb', text, ['pitch', '-220', 'tempo', '0.93']),
  awbHigh: (text: string) => sayWithFlite('awb', text, ['pitch', '220', 'tempo', '1.06']),
  sltLow: (text: string) => sayWithFlite('slt', text, ['pitch', '-240']),
  sltHigh: (text: string) => sayWithFlite('slt', text, ['pitch', '200', 'tempo', '1.08']),
  kalHigh: (text: string) => sayWithFlite('kal16', text, ['pitch', '180']),
  kalLow: (text: string) => sayWithFlite('kal16', text, ['pitch', '-150', 'tempo', '0.95']),
  htsLow: (text: string) => sayWithFestival(text, ['pitch', '-160']),
  htsHigh: (text: string) => sayWithFestival(text, ['pitch', '160', 'tempo', '1.05']),
};
type Voice = keyof typeof say;

const synthetic: Voice[][] = [
  ['rmsLow', 'sltHigh'],
  ['awbHigh', 'htsLow'],
  ['kalHigh', 'sltLow'],
  ['htsHigh', 'rmsHigh'],
  ['rmsHigh', 'awbLow'],
  ['kalLow', 'awbHigh'],
  ['sltHigh', 'htsLow'],
  ['sltLow', 'htsHigh'],
  ['rmsLow', 'sltHigh', 'awbHigh'],
  ['htsLow', 'kalHigh', 'sltLow'],
  ['rmsHigh', 'sltLow'],
  ['awbLow', 'htsHigh'],
  ['kalLow', 'sltHigh'],
  ['htsLow', 'rmsLow'],
  ['awbHigh', 'kalHigh'],
  ['rmsHigh', 'htsLow'],
  ['kalLow', 'htsHigh'],
  ['awbLow', 'sltHigh', 'kalHigh'],
  ['rmsLow', 'htsHigh', 'awbHigh', 'kalLow'],
  ['sltLow', 'rmsHigh', 'kalLow', 'awbLow'],
];
const human: Person[][] = [
  ['allison', 'carlo'],
  ['june', 'carlo'],
  ['menardi', 'colombian'],
  ['russian', 'carlo'],
  ['armelle', 'carlo'],
  ['allison', 'june'],
  ['allison', 'russian'],
  ['allison', 'menardi'],
  ['june', 'menardi'],
  ['june', 'russian'],
  ['armelle', 'allison'],
  ['armelle', 'russian'],
  ['colombian', 'allison'],
  ['colombian', 'june'],
  ['menardi', 'russian'],
  ['allison', 'carlo', 'june'],
  ['russian', 'menardi', 'carlo'],
  ['armelle', 'colombian', 'carlo'],
  ['allison', 'carlo', 'june', 'russian'],
  ['menardi', 'armelle', 'carlo', 'allison'],
];
type Planned = {
  who: 'synthetic' | 'human';
  voices: readonly (Voice | Person)[];
  line: 'mu-law' | 'GSM';
};
const planned: Planned[] = [
  ...synthetic.map((voices, index) => ({ who: 'synthetic', voices, line: lineOf(index) }) as const),
  ...human.map((voices, index) => ({ who: 'human', voices, line: lineOf(index) }) as const),
];
const wanted = Number(process.env['DIALOGUES'] ?? planned.length);
const dialogues = planned.filter((_, index) => (index * wanted) % planned.length < wanted);

function lineOf(index: number): 'mu-law' | 'GSM' {
  return index % 2 === 0 ? 'mu-law' : 'GSM';
}

const lines = [
  'Good morning, this is the service desk, what can I do for you?',
  'Hello. I ordered a pair of shoes two weeks ago, and they have not arrived.',
  'I am sorry to hear that. Do you have the number of the order?',
  'Yes, one moment.',
  'It is seven four nine, two two, one eight.',
  'Thank you. I can see it here. It left our house on Monday and it was given to the carrier on the same day.',
  'But nobody rang the bell, and there was no card in the letter box either.',
  'Was anybody at home on Wednesday afternoon?',
  'No, we were at work.',
  'Then it may be with a neighbour, or in the shop at the corner of your street.',
  'I have asked both of them already, and neither of them has it.',
  'All right.',
  'I will write to the carrier today, and they have three days to find it.',
  'And what happens when they do not find it at all?',
  'In that case you can choose between a new pair and your money.',
  'I would rather have the shoes, because the wedding is at the end of the month.',
  'I understand. Shall I put a new pair aside for you, in the same colour and the same size?',
  'Yes, please, that would be very kind.',
  'Done. May I have your address once more, so that nothing goes wrong this time?',
  'Garden street fifteen, on the second floor, the name is on the door.',
  'Very good.',
  'Is there a telephone number under which the driver can reach me?',
  'He will send you a message an hour before he comes.',
  'Wonderful, thank you for your help, and have a nice day.',
  'You too, goodbye.',
];

/** Speech at its level, as a telephone line brings it: with a hiss 30 dB below, through the line's codec. */
function onTheLine(
  { samples, turns }: SpokenDialogue,
  line: 'mu-law' | 'GSM',
  next: () => number,
): SpokenDialogue {
  const power = samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length;
  const hiss = Math.sqrt(3 * power) * 10 ** (-30 / 20);
  const heard = samples.map((sample) => {
    const loud = Math.max(-32_000, Math.min(32_000, Math.round(sample + hiss * next())));
    return mulawToLinear[linearToMulaw(loud)] ?? 0;
  });
  return { samples: line === 'GSM' ? (throughGsm([heard])[0] ?? heard) : heard, turns };
}

/** Turns of one to three sentences; between them up to a second, or the next one speaks a little too soon. */
function dialogue({ who, voices, line }: Planned, seed: number): SpokenDialogue {
  const next = noise(seed);
  const random = (): number => (next() + 1) / 2;
  const sayings: Parameters<typeof dialogueOf>[0][number][] = [];
  let at = Math.floor(random() * lines.length);
  let speaker = 0;
  for (let said = 0; said < lines.length;) {
    const voice = voices[speaker % voices.length] ?? 'rmsLow';
    const count = 1 + Math.floor(random() * 2.4);
    const samples =
      who === 'human' ? prompted(voice as Person, at, count) : madeUp(voice as Voice, at, count);
    at += count;
    sayings.push({ voice, samples, pauseS: 1.1 * random() - 0.2 });
    said += count;
    speaker += 1 + Math.floor(random() * (voices.length - 1));
  }
  return onTheLine(dialogueOf(sayings), line, next);
}

function madeUp(voice: Voice, at: number, count: number): Int16Array {
  const text = Array.from({ length: count }, (_, index) => lines[(at + index) % lines.length]);
  return say[voice](text.join(' '));
}

/** Prompts one after the other, with a breath between them. */
function prompted(person: Person, at: number, count: number): Int16Array {
  const all = sayingsOf(person);
  const chosen = Array.from({ length: count }, (_, index) => all[((at + index) * 7) % all.length]);
  return Int16Array.from(chosen.flatMap((one) => [...(one ?? []), ...new Int16Array(2_000)]));
}

/** Where the recogniser does not know the language: as many words as people say, in the turns where they were said. */
function wordsOfTurns(turns: SpokenDialogue['turns']): Utterances {
  return turns.map(({ start, end }) => {
    const count = Math.max(1, Math.floor(3 * (end - start)));
    const each = (end - start) / count;
    const words = Array.from({ length: count }, (_, index) => {
      const from = start + index * each;
      return { word: 'a', start: from, end: from + each, confidence: 1 };
    });
    return { text: '', language: '', start, end, confidence: 1, channel: 0, words };
  });
}

/** Hundredths of a second of the children that have ended. */
async function childTicks(): Promise<number> {
  const [, fields = ''] = (await readFile('/proc/self/stat', 'utf8')).split(') ');
  return fields
    .split(' ')
    .slice(13, 15)
    .map(Number)
    .reduce((sum, ticks) => sum + ticks, 0);
}

type Utterances = Parameters<typeof withSpeakersOf>[2];
type Score = { words: number; right: number; wrongS: number; collaredS: number; voices: number };
const nothing = {
  wrongS: 0,
  speechS: 0,
  collaredS: 0,
  collaredSpeechS: 0,
  words: 0,
  right: 0,
  counted: 0,
  dialogues: 0,
};
type Totals = typeof nothing;
type Measured = { score: Score; cpuS: number };

async function measure(
  path: string,
  { turns }: SpokenDialogue,
  hints: SpeakerHints,
  utterances: Utterances,
  samples: number,
  speakers: Speakers,
): Promise<Measured> {
  const before = await childTicks();
  const channels = [{ channel: 0, path, samples }];
  const { results, error } = await speakers.find(channels, hints, new AbortController().signal);
  if (!results) throw new Error(error?.message);
  const cpuS = ((await childTicks()) - before) / 100;
  const found = (results[0] ?? []).map(({ start, end, voice }) => ({ start, end, speaker: voice }));
  const words = withSpeakersOf([0], results, utterances).flatMap(({ words: own, speaker = 0 }) =>
    own.map(({ start, end }) => ({ start, end, speaker })),
  );
  return {
    score: {
      words: words.length,
      right: rightWords(words, turns),
      wrongS: wrongSeconds(found, turns, 0).wrongS,
      collaredS: wrongSeconds(found, turns, 0.25).wrongS,
      voices: new Set(found.map(({ speaker }) => speaker)).size,
    },
    cpuS,
  };
}

async function run(recogniser: Recogniser, models: string, folder: string): Promise<void> {
  const media = openMedia({ maxSeconds: 3_600 });
  const speakers = openSpeakers({ models, log: silentLog });
  const totals = new Map<string, Totals>();
  let [audioS, cpuS] = [0, 0];
  for (const [index, plan] of dialogues.entries()) {
    const { who, voices, line } = plan;
    const spoken = dialogue(plan, index + 1);
    const wav = join(folder, `${index}.wav`);
    await writeFile(wav, wavFile([spoken.samples]));
    const { distinct, durationS } = await media.decode(wav, folder);
    const [channel] = distinct;
    if (!channel) throw new Error('the dialogue has no channel');
    const { path, samples } = channel;
    const utterances =
      who === 'human'
        ? wordsOfTurns(spoken.turns)
        : await readChannels({
            recogniser,
            clock: systemClock,
            channels: [{ channel: 0, path, samples }],
            languages: ['en'],
            codeSwitching: false,
            expected: [],
            turns: new PartTurns(1),
            signal: new AbortController().signal,
            onProgress: () => undefined,
          });
    audioS += durationS;
    const said: string[] = [];
    for (const [name, hints] of [
      ['number given', { number: voices.length }],
      ['number found', {}],
    ] as const) {
      const { score, cpuS: took } = await measure(path, spoken, hints, utterances, samples, speakers); // prettier-ignore
      if (name === 'number found') cpuS += took;
      const speech = wrongSeconds([], spoken.turns, 0).speechS;
      const collared = wrongSeconds([], spoken.turns, 0.25).speechS;
      const count = voices.length === 2 ? 'two speakers' : 'three or four';
      for (const group of [
        name,
        `${name}, ${count}`,
        `${name}, ${count}, ${who}`,
        `${name}, ${line}`,
      ]) {
        const total = totals.get(group) ?? { ...nothing };
        total.wrongS += score.wrongS;
        total.collaredS += score.collaredS;
        total.speechS += speech;
        total.collaredSpeechS += collared;
        total.words += score.words;
        total.right += score.right;
        total.counted += score.voices === voices.length ? 1 : 0;
        total.dialogues++;
        totals.set(group, total);
      }
      said.push(`${name}: ${score.right} of ${score.words} words, ${score.wrongS.toFixed(1)} s wrong, ${score.voices} voices`); // prettier-ignore
    }
    console.log(`${voices.join(' + ')}, ${line}, ${durationS.toFixed(0)} s: ${said.join('; ')}`);
  }
  const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;
  for (const [name, total] of [...totals].sort(([one], [other]) => one.localeCompare(other)))
    console.log(
      `${name}: diarization error ${percent(total.wrongS, total.speechS)} (collar of 0.25 s: ${percent(total.collaredS, total.collaredSpeechS)}), ` +
        `words right ${percent(total.right, total.words)}, number of voices right in ${total.counted} of ${total.dialogues}`,
    );
  console.log(
    `${(audioS / 60).toFixed(1)} min of audio; ${((cpuS * 3_600) / audioS).toFixed(0)} s of CPU for an hour of it (${(cpuS / audioS).toFixed(3)} of real time)`,
  );
  const found = totals.get('number found');
  // Far below what was measured: a broken recipe is at chance.
  if (!found || found.right / found.words < 0.8) process.exitCode = 1;
}

const words = await realModel();
const encoder = await realModel('voice-encoder');
if (!words || !encoder) throw new Error('the models are not to be had');
if (!canSpeak()) throw new Error('flite and sox are not installed');
const missing = missingVoices();
if (missing.length > 0) throw new Error(`apt-get install ${missing.join(' ')}`);
const folder = await mkdtemp(join(tmpdir(), 'trunkline-speakers-'));
try {
  await using recogniser = await recogniserOf(words.model, { models: words.models });
  await run(recogniser, encoder.models, folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}

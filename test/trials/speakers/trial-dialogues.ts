import { linearToMulaw, mulawToLinear } from '../../../src/audio/g711.ts';
import type { withSpeakersOf } from '../../../src/hearing/speakers/speaker-turns.ts';
import { throughGsm } from '../../bench/recognition/audio.ts';
import { noise } from '../../support/speech/made-up-voice.ts';
import {
  dialogueOf,
  sayWithFestival,
  sayWithFlite,
  type SpokenDialogue,
} from '../../support/recognition/dialogue.ts';
import { sayingsOf, type Person } from './human-voices.ts';
import { sayingsOfUnseen, unseenVoices, type UnseenVoice } from './unseen-voices.ts';

/**
 * Dialogues on a telephone line, mu-law and GSM in turn: twenty of voices that were made for the trials by turning the
 * pitch of others, twenty of people who spoke the prompts of Debian's packages in five languages, and sixteen of
 * synthetic voices of seven languages. On the first forty, and on their voices alone, it was chosen how much alike one
 * voice is to itself; the sixteen are only measured. New ones come last: the number of a dialogue is its seed.
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
const unseen: UnseenVoice[][] = [
  ['dita', 'machac'],
  ['lj', 'mv'],
  ['lp', 'pc'],
  ['ona', 'nsh'],
  ['machac', 'ph'],
  ['lj', 'lp'],
  ['ked', 'mv'],
  ['dita', 'ona'],
  ['nsk', 'pc'],
  ['krb', 'dita'],
  ['ked', 'lj', 'nsk'],
  ['ph', 'dita', 'krb'],
  ['nsh', 'mv', 'lp'],
  ['ona', 'pc', 'machac'],
  ['ked', 'ona', 'nsh', 'lj'],
  ['nsk', 'ph', 'lp', 'mv'],
];
export type Planned = {
  who: 'synthetic' | 'human' | 'unseen';
  voices: readonly (Voice | Person | UnseenVoice)[];
  line: 'mu-law' | 'GSM';
};
export const planned: Planned[] = [
  ...synthetic.map((voices, index) => ({ who: 'synthetic', voices, line: lineOf(index) }) as const),
  ...human.map((voices, index) => ({ who: 'human', voices, line: lineOf(index) }) as const),
  ...unseen.map((voices, index) => ({ who: 'unseen', voices, line: lineOf(index) }) as const),
];
/** All of them; with DIALOGUES=8 so many, evenly chosen; with DIALOGUES=38-40 those, counted from 1. */
const [wanted = planned.length, last] = (process.env['DIALOGUES'] ?? '').split('-', 2).filter(Boolean).map(Number); // prettier-ignore
export const dialogues =
  last === undefined
    ? planned.filter((_, index) => (index * wanted) % planned.length < wanted)
    : planned.slice(wanted - 1, last);

/** Each voice alone: nobody may become two. */
export const alone: Planned[] = [
  ...(Object.keys(say) as Voice[]).map(
    (voice, index) => ({ who: 'synthetic', voices: [voice], line: lineOf(index) }) as const,
  ),
  ...[...new Set(human.flat())].map(
    (voice, index) => ({ who: 'human', voices: [voice], line: lineOf(index) }) as const,
  ),
  ...unseenVoices.map(
    (voice, index) => ({ who: 'unseen', voices: [voice], line: lineOf(index) }) as const,
  ),
];

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
export function dialogue({ who, voices, line }: Planned, seed: number): SpokenDialogue {
  const next = noise(seed);
  const random = (): number => (next() + 1) / 2;
  const sayings: Parameters<typeof dialogueOf>[0][number][] = [];
  let at = Math.floor(random() * lines.length);
  let speaker = 0;
  for (let said = 0; said < lines.length;) {
    const voice = voices[speaker % voices.length] ?? 'rmsLow';
    const count = 1 + Math.floor(random() * 2.4);
    const samples =
      who === 'synthetic'
        ? madeUp(voice as Voice, at, count)
        : prompted(
            who === 'human' ? sayingsOf(voice as Person) : sayingsOfUnseen(voice as UnseenVoice),
            at,
            count,
          );
    at += count;
    sayings.push({ voice, samples, pauseS: 1.1 * random() - 0.2 });
    said += count;
    if (voices.length > 1) speaker += 1 + Math.floor(random() * (voices.length - 1));
  }
  return onTheLine(dialogueOf(sayings), line, next);
}

function madeUp(voice: Voice, at: number, count: number): Int16Array {
  const text = Array.from({ length: count }, (_, index) => lines[(at + index) % lines.length]);
  return say[voice](text.join(' '));
}

/** Prompts one after the other, with a breath between them. */
function prompted(all: readonly Int16Array[], at: number, count: number): Int16Array {
  const chosen = Array.from({ length: count }, (_, index) => all[((at + index) * 7) % all.length]);
  return Int16Array.from(chosen.flatMap((one) => [...(one ?? []), ...new Int16Array(2_000)]));
}

/** Words for a language that the recogniser does not know: as many as people say, in the turns in which they were said. */
export function wordsOfTurns(turns: SpokenDialogue['turns']): Parameters<typeof withSpeakersOf>[2] {
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

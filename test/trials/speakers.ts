import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { SectionLanes } from '../../src/speech-service/jobs/section-lanes.ts';
import { readChannels } from '../../src/speech-service/jobs/reading.ts';
import { openMedia } from '../../src/hearing/media/media.ts';
import type { Recogniser } from '../../src/hearing/recogniser.ts';
import { openSpeakers, type Speakers } from '../../src/hearing/speakers/speakers.ts';
import { withSpeakersOf } from '../../src/hearing/speakers/speaker-turns.ts';
import type { SpeakerHints } from '../../src/hearing/speakers/voice-groups.ts';
import {
  canSpeak,
  rightWords,
  wrongSeconds,
  type SpokenDialogue,
} from '../support/recognition/dialogue.ts';
import { missingVoices } from './speakers/human-voices.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { recogniserOf, silentLog } from '../support/recognition/recogniser.ts';
import { dialogue, dialogues, planned, wordsOfTurns } from './speakers/trial-dialogues.ts';
import { missingUnseenVoices } from './speakers/unseen-voices.ts';
import { wavFile } from '../support/speech/jobs.ts';

/**
 * Dialogues on a telephone line, mu-law and GSM in turn: twenty of voices that were made for this trial by turning the
 * pitch of others, twenty of people who spoke the prompts of Debian's packages in five languages, and sixteen of unseen
 * synthetic voices of seven languages. How much of the speech, and how many words, have the right speaker, and what that
 * costs. The words of the first twenty are those that the recogniser hears; of the others, whose languages it does not
 * know, each third of a second of a turn is a word.
 *
 *   npm run trials -- speakers
 *   DIALOGUES=8 npm run trials -- speakers         every seventh of them
 *   DIALOGUES=41-56 npm run trials -- speakers     those of the unseen voices
 */
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
    const spoken = dialogue(plan, planned.indexOf(plan) + 1);
    const wav = join(folder, `${index}.wav`);
    await writeFile(wav, wavFile([spoken.samples]));
    const { distinct, durationS } = await media.decode(wav, folder);
    const [channel] = distinct;
    if (!channel) throw new Error('the dialogue has no channel');
    const { path, samples } = channel;
    const utterances =
      who === 'synthetic'
        ? await readChannels({
            recogniser,
            clock: systemClock,
            channels: [{ channel: 0, path, samples }],
            languages: ['en'],
            codeSwitching: false,
            vocabulary: undefined,
            lanes: new SectionLanes(1),
            signal: new AbortController().signal,
            onProgress: () => undefined,
          })
        : wordsOfTurns(spoken.turns);
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
        `${name}, ${who}`,
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
const missing = [...missingVoices(), ...missingUnseenVoices()];
if (missing.length > 0) throw new Error(`apt-get install ${missing.join(' ')}`);
const folder = await mkdtemp(join(tmpdir(), 'trunkline-speakers-'));
try {
  await using recogniser = await recogniserOf(words.model, { models: words.models });
  await run(recogniser, encoder.models, folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commonIndexes } from '../../../src/speech-service/recognition/common-indexes.ts';
import type { Recogniser } from '../../../src/speech-service/recognition/recogniser.ts';
import { telephonePrompts, wavSamples } from '../../support/recognition/prompts.ts';
import { hear, pushAll } from '../../support/recognition/recogniser.ts';
import { kindsOfSecondSet } from '../../support/recognition/second-set.ts';
import { inQuiet, quietBeforeS } from '../recognition/audio.ts';

type WordSaid = { word: string; start: number; end: number };
type ClipWithTimes = { samples: Int16Array; words: WordSaid[] };

/** Festival's voices that say their words' times: the rules of a diphone voice, and the states of a trained one. */
const voices = {
  kal_diphone: '/usr/share/festival/voices/english/kal_diphone',
  ked_diphone: '/usr/share/festival/voices/english/ked_diphone',
  cmu_us_slt_arctic_hts: '/usr/share/festival/voices/us/cmu_us_slt_arctic_hts',
};
const sayWithTimes = `(define (say-with-times text file)
  (let ((utt (utt.synth (eval (list 'Utterance 'Text text)))))
    (utt.save.wave utt file 'riff)
    (mapcar
      (lambda (word)
        (format t "word %s %f %f\\n"
          (item.name word) (item.feat word "word_start") (item.feat word "word_end")))
      (utt.relation.items utt 'Word))
    t))`;
/** Half of what is said is of the prompts, half of the second set. */
const sentencesOfEach = 40;
/** The prompts that were looked at while the ends were tuned, and the ones that were not. */
const halves = { seen: 0, unseen: 2 };

const bare = (word: string) => word.toLowerCase().replace(/[^a-z']/g, '');

function sentencesOf(half: number): string[] {
  const prompts = telephonePrompts().map(({ text }) => text);
  const invented = Object.values(kindsOfSecondSet).flat();
  return [prompts, invented].flatMap((texts) => {
    const step = Math.max(4, Math.floor(texts.length / sentencesOfEach));
    return texts.filter((text, index) => index % step === half && !/\d/.test(text));
  });
}

function saidBy(voice: string, texts: readonly string[]): ClipWithTimes[] {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-times-'));
  const file = (index: number, kind = '') => join(folder, `${String(index)}${kind}.wav`);
  try {
    const script = join(folder, 'say.scm');
    const says = texts.flatMap((text, index) => [
      `(format t "clip\\n")`,
      `(say-with-times "${text.replace(/[^\w ,.'?!-]/g, ' ')}" "${file(index)}")`,
    ]);
    writeFileSync(script, [sayWithTimes, `(voice_${voice})`, ...says].join('\n'));
    const clips: WordSaid[][] = [];
    for (const line of execFileSync('festival', ['-b', script], { encoding: 'utf8' }).split('\n')) {
      const [kind, word = '', start, end] = line.split(' ');
      if (kind === 'clip') clips.push([]);
      if (kind === 'word') clips.at(-1)?.push({ word, start: Number(start), end: Number(end) });
    }
    return clips.map((words, index) => {
      const telephone = file(index, '-8k');
      execFileSync('sox', ['-v', '0.8', file(index), '-r', '8000', '-b', '16', '-c', '1', telephone]); // prettier-ignore
      return { words, samples: wavSamples(readFileSync(telephone)) };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Prompts with the times that another program found, a line of JSON each: `{"name", "words": [[word, start, end]]}`. */
function alignedPrompts(file: string): ClipWithTimes[] {
  const prompts = new Map(telephonePrompts().map(({ name, samples }) => [name, samples]));
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.flatMap((line) => {
    const about = JSON.parse(line) as { name: string; words: [string, number, number][] };
    const samples = prompts.get(about.name);
    if (!samples) return [];
    return [{ samples, words: about.words.map(([word, start, end]) => ({ word, start, end })) }];
  });
}

/** How far from the true ones the times are of those words that were heard right, in seconds. */
async function errorsOf(recogniser: Recogniser, clips: readonly ClipWithTimes[]) {
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { samples, words } of clips) {
    const heard = hear(recogniser, { partials: false });
    pushAll(heard.stream, inQuiet(samples));
    await heard.end();
    const found = heard.finals.flatMap((final) => final.words);
    const said = words.map(({ word }) => bare(word));
    const written = found.map(({ word }) => bare(word));
    const places = commonIndexes(written, said);
    for (const [at, index] of commonIndexes(said, written).entries()) {
      const word = found[places[at] ?? -1];
      const truth = words[index];
      if (!word || !truth || bare(word.word) !== bare(truth.word)) continue;
      starts.push(Math.abs(word.start - quietBeforeS - truth.start));
      ends.push(Math.abs(word.end - quietBeforeS - truth.end));
    }
  }
  return { starts, ends };
}

function told(errors: readonly number[]): string {
  const sorted = errors.toSorted((a, b) => a - b);
  const ms = (share: number) =>
    (1e3 * (sorted[Math.floor(share * sorted.length)] ?? NaN)).toFixed(0);
  return `median ${ms(0.5)} ms, p95 ${ms(0.95)} ms`;
}

/** How well the times of words hold, against a voice that says its own and against an alignment of the prompts. */
export async function measureWordTimes(recogniser: Recogniser): Promise<void> {
  const aligned = process.env['HEARING_ALIGNED'];
  const sets: { name: string; clips: () => ClipWithTimes[] }[] = [];
  for (const [name, half] of Object.entries(halves))
    for (const [voice, folder] of Object.entries(voices))
      if (existsSync(folder))
        sets.push({ name: `${voice}, ${name}`, clips: () => saidBy(voice, sentencesOf(half)) });
  if (aligned !== undefined)
    sets.push({ name: 'prompts as aligned', clips: () => alignedPrompts(aligned) });
  for (const { name, clips } of sets) {
    const { starts, ends } = await errorsOf(recogniser, clips());
    console.log(
      `times of ${String(starts.length)} words, ${name}: starts ${told(starts)}; ends ${told(ends)}`,
    );
  }
}

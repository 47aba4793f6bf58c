import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wavSamples } from './prompts.ts';

/** The speaker of a turn in a dialogue, and its times in seconds. */
export type TrueTurn = { start: number; end: number; voice: string };
export type SpokenDialogue = { samples: Int16Array; turns: TrueTurn[] };

/** One utterance at 8 kHz, and the pause before it. A negative pause overlaps the previous one. */
export type Saying = { voice: string; samples: Int16Array; pauseS: number };

const rateHz = 8_000;
/** Removes the silence at both ends, so that a turn begins and ends with its voice. */
const trimmed = [
  'silence',
  '1',
  '0.02',
  '0.3%',
  'reverse',
  'silence',
  '1',
  '0.02',
  '0.3%',
  'reverse',
];

export function canSpeak(): boolean {
  return ['flite', 'sox'].every((program) => spawnSync(program, ['--version']).error === undefined);
}

/** Speaks a text with one of flite's voices at 8 kHz. `effects` are arguments of sox that change the voice. */
export function sayWithFlite(voice: string, text: string, effects: string[] = []): Int16Array {
  return said(effects, (file) => {
    execFileSync('flite', ['-voice', voice, '-t', text, '-o', file]);
  });
}

/** Speaks a text with one of festival's voices. The text is bytes if the voice needs another encoding than UTF-8. */
export function sayWithFestival(
  text: string | Uint8Array,
  effects: string[] = [],
  voice = 'cmu_us_slt_arctic_hts',
): Int16Array {
  return said(effects, (file) => {
    const how = { input: text, stdio: 'pipe' } as const; // festival reports each pair of sounds that a voice lacks
    execFileSync('text2wave', ['-eval', `(voice_${voice})`, '-o', file], how);
  });
}

function said(effects: string[], speak: (file: string) => void): Int16Array {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-dialogue-'));
  try {
    const file = join(folder, 'said.wav');
    const telephone = join(folder, 'telephone.wav');
    speak(file);
    const format = ['-r', String(rateHz), '-b', '16', '-c', '1'];
    // -R makes the dither the same each time, so that two runs hear the same.
    execFileSync('sox', ['-R', '-v', '0.8', file, ...format, telephone, ...effects, ...trimmed], {
      stdio: 'pipe',
    });
    return wavSamples(readFileSync(telephone));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A dialogue of all speakers on one line. */
export function dialogueOf(sayings: readonly Saying[]): SpokenDialogue {
  const turns: TrueTurn[] = [];
  const placed: { at: number; samples: Int16Array }[] = [];
  let end = 0;
  for (const { voice, samples, pauseS } of sayings) {
    const at = Math.max(0, end + Math.round(pauseS * rateHz));
    placed.push({ at, samples });
    turns.push({ voice, start: at / rateHz, end: (at + samples.length) / rateHz });
    end = Math.max(end, at + samples.length);
  }
  const line = new Float32Array(end + rateHz);
  for (const { at, samples } of placed)
    for (const [index, sample] of samples.entries()) line[at + index]! += sample;
  const samples = Int16Array.from(line, (sample) => Math.max(-32_768, Math.min(32_767, sample)));
  return { samples, turns };
}

/** A word or a turn, and its supposed speaker. */
export type GuessedWord = { start: number; end: number; speaker: number };

/**
 * Counts the words with the right speaker. Each number stands for the voice that fits it best, and no voice is used
 * twice. A word belongs to the turn that contains its middle or is nearest to it; if two speak at once, either counts.
 */
export function rightWords(heard: readonly GuessedWord[], turns: readonly TrueTurn[]): number {
  const voices = [...new Set(turns.map(({ voice }) => voice))];
  const numbers = [...new Set(heard.map(({ speaker }) => speaker))];
  const score = numbers.map((number) =>
    voices.map(
      (voice) =>
        heard.filter((word) => word.speaker === number && voicesAt(word, turns).has(voice)).length,
    ),
  );
  return bestAssignment(score, 0, new Set());
}

function voicesAt({ start, end }: GuessedWord, turns: readonly TrueTurn[]): Set<string> {
  const middle = (start + end) / 2;
  const far = (turn: TrueTurn): number => Math.max(0, turn.start - middle, middle - turn.end);
  const nearest = Math.min(...turns.map(far));
  return new Set(turns.filter((turn) => far(turn) === nearest).map(({ voice }) => voice));
}

/**
 * The diarization error: seconds that were missed, reported without speech, or given to another voice, and the seconds
 * of speech. Times closer than the collar to the start or end of a turn are not counted.
 */
export function wrongSeconds(
  heard: readonly GuessedWord[],
  turns: readonly TrueTurn[],
  collarS: number,
): { wrongS: number; speechS: number } {
  const stepS = 0.01;
  const voices = [...new Set(turns.map(({ voice }) => voice))];
  const numbers = [...new Set(heard.map(({ speaker }) => speaker))];
  const score = numbers.map(() => voices.map(() => 0));
  let needed = 0;
  let speech = 0;
  const end = Math.max(...turns.map((turn) => turn.end), ...heard.map((turn) => turn.end));
  for (let time = stepS / 2; time < end; time += stepS) {
    const isIn = (turn: { start: number; end: number }): boolean =>
      turn.start <= time && time < turn.end;
    const isNear = ({ start, end: last }: TrueTurn): boolean =>
      Math.abs(time - start) < collarS || Math.abs(time - last) < collarS;
    if (turns.some(isNear)) continue;
    const said = new Set(turns.filter(isIn).map(({ voice }) => voice));
    const found = new Set(heard.filter(isIn).map(({ speaker }) => speaker));
    speech += said.size;
    needed += Math.max(said.size, found.size);
    for (const number of found)
      for (const voice of said) score[numbers.indexOf(number)]![voices.indexOf(voice)]! += 1;
  }
  const right = bestAssignment(score, 0, new Set());
  return { wrongS: (needed - right) * stepS, speechS: speech * stepS };
}

/** There are few speakers and voices, so every assignment is tried. */
function bestAssignment(
  score: readonly number[][],
  row: number,
  used: ReadonlySet<number>,
): number {
  const own = score[row];
  if (!own) return 0;
  let best = bestAssignment(score, row + 1, used); // this number stands for no voice
  for (const [voice, count] of own.entries())
    if (!used.has(voice))
      best = Math.max(best, count + bestAssignment(score, row + 1, new Set([...used, voice])));
  return best;
}

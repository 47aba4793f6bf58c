import { bare } from '../offline/readings.ts';
import type { PieceResult } from '../offline/offline-model.ts';
import { longestWindowS } from './whisper-mel.ts';
import type { WindowText } from './whisper-reader.ts';

/** Single words are read right in half of the windows of 5 s, and in two thirds of those of 10 s. */
const shortestWindowS = 10;
const windowStepS = 5;
/** A window that ends with its audio makes the model repeat sentences. */
const quietBehindS = 1;
/** A text that compresses by more than this factor repeats itself. Real menus reach 2.3. */
const mostRepetition = 2.4;
/** The same words so often in a row are a loop. */
const loop = { words: 3, times: 3 };
/** Noise and music have less likely texts than this in all tried windows, and speech of 2 s or more in none. */
const leastMean = -0.9;
const leastJudgedS = 2;
/** If the known words are less likely than this, in nats per token, the audio does not begin with them. */
const leastGivenMean = -6;
/** A text that begins with so many of the last known tokens was not heard a second time, but copied. */
const copiedTokens = 4;
/** Only in a short window does the sign for no speech tell noise from speech. */
const mostNoSpeech = 0.5;

/** The window for audio of this length, in seconds. */
export function windowOf(seconds: number): number {
  const least = Math.ceil((seconds + quietBehindS) / windowStepS) * windowStepS;
  return Math.min(longestWindowS, Math.max(shortestWindowS, least));
}

type LoopSigns = Pick<WindowText, 'text' | 'repetition' | 'ended'>;

/** True if the text repeats itself, or had to be cut at its limit. */
export function isLoop({ text, repetition, ended }: LoopSigns): boolean {
  return !ended || repetition > mostRepetition || saysThrice(text.split(/\s+/).map(bare));
}

/** True if there was probably no speech: noise, music or a tone. `seconds` were heard. */
export function isNothing(
  { text, mean, noSpeech }: Pick<WindowText, 'text' | 'mean' | 'noSpeech'>,
  seconds: number,
): boolean {
  if (!/[\p{L}\p{N}]/u.test(text)) return true;
  if (seconds >= leastJudgedS && mean < leastMean) return true;
  return windowOf(seconds) === shortestWindowS && noSpeech > mostNoSpeech;
}

type GivenSigns = LoopSigns & Pick<WindowText, 'mean' | 'givenMean' | 'tokens'>;

/**
 * True if the words before a pause may have misled the model: into nothing, an unlikely text, a loop or a copy of them.
 * The piece is then read alone, where the rules for noise hold.
 */
export function isMisled(text: GivenSigns, given: readonly number[]): boolean {
  if (text.givenMean < leastGivenMean || text.mean < leastMean || isLoop(text)) return true;
  const own = text.tokens.flatMap(({ ids }) => ids);
  return own.length === 0 || isCopy(own, given);
}

function isCopy(own: readonly number[], given: readonly number[]): boolean {
  for (let from = 0; from + copiedTokens <= given.length; from++) {
    const tail = given.slice(from);
    if (tail.every((token, index) => token === own[index])) return true;
  }
  return false;
}

export function wordlessResult(lang: string): PieceResult {
  return { text: '', lang, tokens: [], timestamps: [], durations: [], ys_log_probs: [] };
}

function saysThrice(words: readonly string[]): boolean {
  for (let from = 0; from + loop.words * loop.times <= words.length; from++)
    for (
      let length = loop.words;
      from + length * loop.times <= words.length && length <= words.length / loop.times;
      length++
    ) {
      const group = words.slice(from, from + length);
      const isSame = (time: number) =>
        group.every((word, index) => words[from + time * length + index] === word);
      if (isSame(1) && isSame(2)) return true;
    }
  return false;
}

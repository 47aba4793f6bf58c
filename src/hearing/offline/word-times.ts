import { confidenceOfWord } from './confidence.ts';
import type { WordBounds } from './readings.ts';
import type { SpelledWord } from './seam.ts';

/** Estimates word times from the energy of the audio, for models that give none. The result is marked as estimated. */

const frameS = 0.02;
/** A word may last at most this many times its expected length. */
const reach = 3;
/** The price of a boundary in loud audio, relative to the price of an unexpected length. */
const loudness = 1.2;
/** The price of each second by which a boundary contradicts a reading of the growing audio. */
const disbelief = 10;

type WordSpan = { start: number; end: number };

/**
 * Places the words in the audio. A good placing gives each word the length that its spelling suggests and puts the
 * boundaries where the audio is quiet. The cheapest of all placings is found from the left, over every word and every
 * frame in which the word may end.
 *
 * `bounds` limits the end of each word, from readings of the growing audio, counted from the first sample.
 */
export function estimateWordTimes(
  words: readonly string[],
  samples: Float32Array,
  rateHz: number,
  bounds: readonly WordBounds[] = [],
): WordSpan[] {
  const energy = loudnessOf(samples, Math.round(frameS * rateHz));
  const frames = energy.length;
  if (words.length === 0) return [];
  if (frames < words.length) return evenly(words.length, samples.length / rateHz);
  const loud = energy.filter((value) => value > 0.25).length;
  const weights = words.map(weightOf);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const expected = weights.map((weight) =>
    Math.max(1, (weight / total) * Math.max(loud, words.length)),
  );
  const ends = cheapestCuts(expected, energy, bounds);
  return ends.map((end, index) => trimmed(energy, index === 0 ? 0 : (ends[index - 1] ?? 0), end));
}

/** The loudness of each frame from 0 to 1, in decibels between the floor and the peak of this audio. */
function loudnessOf(samples: Float32Array, frame: number): number[] {
  const levels: number[] = [];
  for (let at = 0; at + frame <= samples.length; at += frame) {
    let sum = 0;
    for (let i = at; i < at + frame; i++) sum += (samples[i] ?? 0) ** 2;
    levels.push(10 * Math.log10(sum / frame + 1e-9));
  }
  const sorted = levels.toSorted((a, b) => a - b);
  const peak = sorted[Math.floor(sorted.length * 0.95)] ?? 0;
  const floor = Math.max(sorted[Math.floor(sorted.length * 0.05)] ?? 0, peak - 40);
  const range = Math.max(6, peak - floor);
  return levels.map((level) => Math.min(1, Math.max(0, (level - floor) / range)));
}

/** The relative length of a word. Most of it lies in its vowels. */
function weightOf(word: string): number {
  const spoken = word
    .toLowerCase()
    .replace(/\d/g, 'three')
    .replace(/[^\p{L}]/gu, '');
  const vowels = spoken.match(/[aeiouy]+/g)?.length ?? 0;
  const silentE = vowels > 1 && /[^aeiouy]e$/.test(spoken) ? 1 : 0;
  // The word before a punctuation mark is drawn out.
  const mark = /[.,;:?!]$/.test(word) ? 0.6 : 0;
  return 0.7 + 1.1 * (vowels - silentE) + 0.3 * Math.max(0, spoken.length - vowels) + mark;
}

function cheapestCuts(
  expected: readonly number[],
  energy: readonly number[],
  bounds: readonly WordBounds[],
): number[] {
  const frames = energy.length;
  const loudBefore = [0];
  for (const value of energy) loudBefore.push((loudBefore.at(-1) ?? 0) + (value > 0.25 ? 1 : 0.15));
  const voiced = (from: number, to: number) => (loudBefore[to] ?? 0) - (loudBefore[from] ?? 0);
  let costs = new Float64Array(frames + 1).fill(Infinity);
  costs[0] = 0;
  const cameFrom: Int32Array[] = [];
  for (const [index, length] of expected.entries()) {
    const next = new Float64Array(frames + 1).fill(Infinity);
    const from = new Int32Array(frames + 1).fill(-1);
    const last = index === expected.length - 1;
    const { saidBy = Infinity, notBefore = 0 } = bounds[index] ?? {};
    for (let start = 0; start < frames; start++) {
      const before = costs[start] ?? Infinity;
      if (before === Infinity) continue;
      for (let end = last ? frames : start + 1; end <= frames; end++) {
        const stretch = voiced(start, end) / length;
        if (stretch > reach && !last) break;
        const edge = end < frames ? ((energy[end - 1] ?? 0) + (energy[end] ?? 0)) / 2 : 0;
        const endS = end * frameS;
        const against = disbelief * (Math.max(0, endS - saidBy) + Math.max(0, notBefore - endS));
        const cost = before + Math.log(Math.max(0.05, stretch)) ** 2 + loudness * edge + against;
        if (cost >= (next[end] ?? Infinity)) continue;
        next[end] = cost;
        from[end] = start;
      }
    }
    costs = next;
    cameFrom.push(from);
  }
  const ends: number[] = [];
  let end = frames;
  for (const from of cameFrom.toReversed()) {
    ends.unshift(end);
    end = Math.max(0, from[end] ?? 0);
  }
  return ends;
}

/** The span of a word without quiet at its ends. */
function trimmed(energy: readonly number[], from: number, to: number): WordSpan {
  let start = from;
  let end = to;
  while (start < end - 2 && (energy[start] ?? 0) < 0.2) start++;
  while (end > start + 2 && (energy[end - 1] ?? 0) < 0.15) end--;
  return { start: start * frameS, end: end * frameS };
}

function evenly(count: number, lengthS: number): WordSpan[] {
  return Array.from({ length: count }, (_, index) => ({
    start: (index * lengthS) / count,
    end: ((index + 1) * lengthS) / count,
  }));
}

/** Two tokens may be read from the same frame. A word must not end before it begins. */
export const shortestTokenS = 0.02;

type ModelToken = {
  text: string;
  ids?: readonly number[];
  start: number;
  end?: number | undefined;
  logProbability?: number | undefined;
  shared?: number | undefined;
};

/**
 * Makes words from a model's tokens. A token that begins with a space (or ▁ for it) begins a word. Languages without
 * spaces have one token per sign, and each is a word.
 */
export function wordsFromTokens(
  tokens: readonly ModelToken[],
  options: { endOfAudioS: number; longestTokenS: number; agreedConfidence: number },
): SpelledWord[] {
  const words: (SpelledWord & { ids: number[]; logs: number[]; shares: number[] })[] = [];
  for (const [index, token] of tokens.entries()) {
    const text = token.text.replaceAll('▁', ' ');
    const bare = text.trim();
    const next = tokens[index + 1]?.start ?? options.endOfAudioS;
    const latest = Math.min(next, token.start + options.longestTokenS);
    const end = token.end ?? Math.max(token.start + shortestTokenS, latest);
    const previous = words.at(-1);
    const glued = previous !== undefined && /^\d/.test(bare) && beforeNumber.test(previous.word);
    const begins =
      text.startsWith(' ') || !previous || glued || unspaced(bare) || unspaced(previous.word);
    if (begins && bare !== '' && !/^[\p{P}]+$/u.test(bare)) {
      words.push({
        word: bare,
        start: token.start,
        end,
        confidence: 0,
        ids: [],
        logs: [],
        shares: [],
      });
    } else if (previous) {
      previous.word += bare;
      previous.end = Math.max(previous.end, end);
    }
    const word = words.at(-1);
    if (word && /[\p{L}\p{N}]/u.test(bare)) word.lastSignS = token.start;
    word?.ids.push(...(token.ids ?? []));
    if (token.logProbability !== undefined) word?.logs.push(token.logProbability);
    if (token.shared !== undefined) word?.shares.push(token.shared);
  }
  return words.map(({ logs, shares, ...word }) => ({
    ...word,
    confidence: logs.length === 0 ? options.agreedConfidence : confidenceOfWord(logs, shares),
  }));
}

/** A model may write a number without the space before it: "press4", "yourself.4". "MP3" and "28.8" stay one word. */
const beforeNumber = /\p{Ll}{3}$|\p{L}[.,;:?!]$|^(?:at|by|do|in|is|no|of|on|or|to)$/iu;

function unspaced(text: string): boolean {
  return /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(text);
}

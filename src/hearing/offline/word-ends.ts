import type { SpelledWord } from './seam.ts';

const rateHz = 16000;
const frameSamples = 160;
/** A word is over when a frame has this many times less power than its loudest frame. */
const quieter = 10 ** 3;
/**
 * A frame of a word has at least this many times the power of the quietest frame around it, because a line is never
 * silent.
 */
const aboveFloor = 4;
/** A shorter quiet gap lies between the sounds of two consecutive words. */
const leastQuietS = 0.05;
const shortestS = 0.04;
/**
 * This share of each sample is subtracted from the next. A hiss, with which many words end, is then not so far below a
 * vowel.
 */
const lowered = 0.7;

/**
 * Finds where words end. A model that writes words gives their beginnings only. A word is over where the next one
 * begins, or earlier, where the audio becomes quiet and stays quiet until then.
 *
 *     audio    ▆▇▅▆▂▁▁▁▁▁▇▆▇
 *     begins   ^         ^
 *     ends          ^
 *
 * `audio` begins at the second `fromS`; the last word ends with the audio at the latest.
 */
export function withEnds(
  words: readonly SpelledWord[],
  audio: Float32Array,
  fromS: number,
): SpelledWord[] {
  const powers = powersOf(audio);
  const frameOf = (second: number) =>
    Math.max(0, Math.min(powers.length, Math.round(((second - fromS) * rateHz) / frameSamples)));
  const floor = powers.reduce((least, power) => Math.min(least, power), Infinity);
  return words.map((word, index) => {
    const next = words[index + 1]?.start ?? fromS + audio.length / rateHz;
    const first = frameOf(word.start);
    let last = Math.max(first, frameOf(next));
    const spoken = powers.subarray(first, last);
    const loudest = spoken.reduce((most, power) => Math.max(most, power), 0);
    const least = Math.max(loudest / quieter, floor * aboveFloor);
    while (last > first && (powers[last - 1] ?? 0) < least) last--;
    const overS = fromS + (last * frameSamples) / rateHz;
    const end = last === first || next - overS < leastQuietS ? next : overS;
    return { ...word, end: Math.max(word.start + shortestS, end) };
  });
}

function powersOf(audio: Float32Array): Float32Array {
  const powers = new Float32Array(Math.floor(audio.length / frameSamples));
  for (let frame = 0; frame < powers.length; frame++) {
    let sum = 0;
    for (let i = frame * frameSamples + 1; i < (frame + 1) * frameSamples; i++)
      sum += ((audio[i] ?? 0) - lowered * (audio[i - 1] ?? 0)) ** 2;
    powers[frame] = sum / frameSamples;
  }
  return powers;
}

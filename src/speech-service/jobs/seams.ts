import { windowSamples } from '../../hearing/recogniser.ts';

/** Reads samples of a decoded channel from its file. */
export type ReadSamples = (from: number, count: number) => Promise<Int16Array>;

type SeamSearch = {
  read: ReadSamples;
  rateHz: number;
  /** The end of the audio, in samples. */
  end: number;
  /**
   * The least length of a section. The pause is searched for in the same length of audio behind it, then further on.
   */
  sectionS: number;
};

/** Seams lie on this grid, so that the windows of voice detection are the same as in one undivided stream. */
export const gridSamples = 10 * windowSamples;
/** Loudness is measured in frames of 20 ms. */
const frameS = 0.02;
/** A shorter pause may lie inside an utterance. */
const leastPauseS = 0.8;
/** Voice detection notices the end of a voice at the latest this long after the last sound. */
const afterS = 0.3;
/** The next section hears this much of the pause before anybody speaks. */
const leadS = 0.44;

/**
 * The place where the section that starts at `from` may end: in the longest pause of the first stretch of audio that
 * has one. A pause is quiet beside the audio around it. Quietness is only a guess, so the section before the seam hears
 * a little beyond it, and the recogniser decides. Undefined if there is no pause before the end.
 */
export async function nextSeam(search: SeamSearch, from: number): Promise<number | undefined> {
  const { rateHz, end, sectionS } = search;
  const stretch = sectionS * rateHz;
  for (let at = from + stretch; at + stretch / 3 < end; at += stretch) {
    const until = Math.min(at + stretch, end - stretch / 3);
    let seam: number | undefined;
    let longestS = 0;
    for (const { from: first, to } of pauses(await energies(search, at, until))) {
      const lengthS = (to - first) * frameS;
      const latest = at + (to * frameS - leadS) * rateHz;
      const place = Math.floor(latest / gridSamples) * gridSamples;
      if (lengthS <= longestS || place < at + (first * frameS + afterS) * rateHz) continue;
      longestS = lengthS;
      seam = place;
    }
    if (seam !== undefined) return seam;
  }
  return undefined;
}

/** The mean energy of each frame. One second is in memory at a time, and other work may run between two seconds. */
async function energies({ read, rateHz }: SeamSearch, from: number, to: number): Promise<number[]> {
  const frame = frameS * rateHz;
  const found: number[] = [];
  for (let at = from; at < to; at += rateHz) {
    const samples = await read(at, Math.min(rateHz, to - at));
    for (let first = 0; first + frame <= samples.length; first += frame) {
      let energy = 0;
      for (let i = first; i < first + frame; i++) energy += (samples[i] ?? 0) ** 2;
      found.push(energy / frame);
    }
  }
  return found;
}

/** Runs of quiet frames that are long enough, by frame number. */
function pauses(frames: readonly number[]): { from: number; to: number }[] {
  const limit = quietBelow(frames);
  const found: { from: number; to: number }[] = [];
  let from = 0;
  for (const [index, energy] of [...frames, Infinity].entries()) {
    if (energy <= limit) continue;
    if ((index - from) * frameS >= leastPauseS) found.push({ from, to: index });
    from = index + 1;
  }
  return found;
}

/**
 * The limit of quietness: a little above the floor, which is the noise of the line, or far below the voices where the
 * floor is digital silence. The limit always lies below the voices.
 */
function quietBelow(frames: readonly number[]): number {
  const sorted = frames.toSorted((a, b) => a - b);
  const floor = sorted[Math.floor(sorted.length * 0.1)] ?? 0;
  const loud = sorted[Math.floor(sorted.length * 0.95)] ?? 0;
  return Math.min(loud / 10, Math.max(4 * floor, loud * 10 ** -3.5));
}

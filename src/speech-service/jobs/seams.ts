import { windowSamples } from '../../hearing/pause.ts';

/** Samples of a decoded channel, as they lie in its file. */
export type ReadSamples = (from: number, count: number) => Promise<Int16Array>;

type SeamSearch = {
  read: ReadSamples;
  rateHz: number;
  /** The end of the audio, in samples. */
  end: number;
  /** The least length of a part. The pause is looked for in as much audio again, and then further on. */
  partS: number;
};

/** Voice detection of a part then has the windows that it has in one stream. */
export const gridSamples = 10 * windowSamples;
/** Loudness is told of stretches of 20 ms. */
const frameS = 0.02;
/** In a shorter pause an utterance may go on. */
const leastPauseS = 0.8;
/** Voice detection is sure to have heard the end of the voice this long after the last sound. */
const afterS = 0.3;
/** The next part hears this much of the pause before anybody speaks in it. */
const leadS = 0.44;

/**
 * Where the part that begins at `from` may end and the next begin: in the longest pause of the first stretch that has
 * one. A pause is quiet beside the audio around it. That is a guess, which is why the recogniser has the last word: the
 * part before the seam hears a little beyond it. Undefined where there is none up to the end.
 */
export async function nextSeam(search: SeamSearch, from: number): Promise<number | undefined> {
  const { rateHz, end, partS } = search;
  const stretch = partS * rateHz;
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

/** The mean energy of each frame. A second is in memory at a time, and other work has its turn between two. */
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

/** The runs of quiet frames that are long enough, by the numbers of their frames. */
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
 * Quiet is what lies near the floor, which is the noise of a line, or far below the voices, where the floor is digital
 * silence. It always lies below the voices.
 */
function quietBelow(frames: readonly number[]): number {
  const sorted = frames.toSorted((a, b) => a - b);
  const floor = sorted[Math.floor(sorted.length * 0.1)] ?? 0;
  const loud = sorted[Math.floor(sorted.length * 0.95)] ?? 0;
  return Math.min(loud / 10, Math.max(4 * floor, loud * 10 ** -3.5));
}

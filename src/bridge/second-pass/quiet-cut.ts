/**
 * Finds a place to cut a long recording: a silence, so that no word lies on both sides. Pure.
 *
 * Only the loudness of blocks is examined. A long silence is better than a short one. Of equally long silences the
 * last is best, so that pieces are long. If nobody ever pauses, the cut is in the quietest fifth of a second.
 */
export const blockS = 0.02;
/** The lengths of silence to look for, the best first. */
const silencesS = [2, 1, 0.5, 0.2] as const;
/**
 * A silence may be at most this many times louder than the quietest tenth of the blocks; it must also be quieter than
 * a loud block by a fixed factor.
 */
const aboveFloor = 2;
const belowSpeech = 4;
/** Blocks below this level always count as quiet: line noise, and companded silence. */
const alwaysQuiet = 60;

/** Returns the index of the block before which the recording is cut. `levels`: the loudness of each block. */
export function quietCut(levels: ArrayLike<number>): number {
  const sorted = Float64Array.from(levels).sort();
  const floor = sorted[Math.floor(sorted.length / 10)] ?? 0;
  const loud = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  const limit = Math.max(alwaysQuiet, Math.min(floor * aboveFloor, loud / belowSpeech));
  let cut = levels.length;
  for (const lengthS of silencesS) {
    const blocks = Math.round(lengthS / blockS);
    const { at, level } = lastQuietest(levels, blocks);
    if (at === undefined) continue;
    cut = at + Math.floor(blocks / 2);
    if (level <= limit) break;
  }
  return cut;
}

/** Finds the stretch of `length` blocks whose loudest block is quietest. Of equal stretches, the last one counts. */
function lastQuietest(
  levels: ArrayLike<number>,
  blocks: number,
): { at: number | undefined; level: number } {
  let best: { at: number | undefined; level: number } = { at: undefined, level: Infinity };
  /** Blocks that may still be the loudest of a stretch, each quieter than the one before it. */
  const loudest: { at: number; level: number }[] = [];
  let first = 0;
  for (let at = 0; at < levels.length; at++) {
    const level = levels[at] ?? 0;
    while (loudest.length > first && (loudest.at(-1)?.level ?? 0) <= level) loudest.pop();
    loudest.push({ at, level });
    if ((loudest[first]?.at ?? at) <= at - blocks) first++;
    const highest = loudest[first]?.level ?? 0;
    if (at >= blocks - 1 && highest <= best.level) best = { at: at - blocks + 1, level: highest };
  }
  return best;
}

/**
 * A model that writes words can run ahead of the audio: it makes words up from its own earlier text, and places all of
 * them at the same moment of the audio.
 *
 *     heard     my number is 555   0142
 *     begins    ^  ^      ^  ^     ^and it is flat to 100,000. It is flat to
 */

type WordBeginning = { start: number };

/** If two words begin nearer to each other than this, the model did not hear them there. */
const crowdedS = 0.05;
/** This many words within this time are a crowd anywhere: nobody speaks so fast. */
const many = 4;
const manyWithinS = 0.12;

/** The number of words before the first crowd; the number of all words where there is no crowd. */
export function beforeCrowd(words: readonly WordBeginning[]): number {
  const crowd = words.findIndex(
    ({ start }, index) => (words[index + many - 1]?.start ?? Infinity) - start < manyWithinS,
  );
  return crowd < 0 ? words.length : crowd;
}

/**
 * Counts those of the first `own` words that come before the crowd of two or more in which they end. All of them count
 * where the crowd begins before `sinceS`, or with the first word.
 */
export function withoutCrowd(words: readonly WordBeginning[], own: number, sinceS: number): number {
  const startOf = (index: number): number => words[index]?.start ?? Infinity;
  const isCrowded = (index: number): boolean => startOf(index + 1) - startOf(index) < crowdedS;
  let before = own;
  while (before > 0 && (isCrowded(before - 1) || (before > 1 && isCrowded(before - 2)))) before--;
  return before === 0 || startOf(before) < sinceS ? own : before;
}

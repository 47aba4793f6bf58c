/**
 * A model that writes words can run ahead of the audio: it makes up words from its own earlier text and places all of
 * them at the same moment of the audio.
 *
 *     said      my number is 555 0142
 *     written   my number is 555 0142 and it is flat to 100,000. It is flat to
 *     placed    ^  ^      ^  ^   ^    the made-up words are all placed here, at the end
 */

type WordBeginning = { start: number };

/** If two words begin closer together than this, the model did not hear them there. */
const crowdedS = 0.05;
/** This many words within this time are a crowd anywhere, since nobody speaks so fast. */
const many = 4;
const manyWithinS = 0.12;

/** The number of words before the first crowd, or of all words if there is no crowd. */
export function beforeCrowd(words: readonly WordBeginning[]): number {
  const crowd = words.findIndex(
    ({ start }, index) => (words[index + many - 1]?.start ?? Infinity) - start < manyWithinS,
  );
  return crowd < 0 ? words.length : crowd;
}

/**
 * Counts the first `own` words up to the crowd of two or more in which they end. All of them count if the crowd begins
 * before `sinceS` or with the first word.
 */
export function withoutCrowd(words: readonly WordBeginning[], own: number, sinceS: number): number {
  const startOf = (index: number): number => words[index]?.start ?? Infinity;
  const isCrowded = (index: number): boolean => startOf(index + 1) - startOf(index) < crowdedS;
  let before = own;
  while (before > 0 && (isCrowded(before - 1) || (before > 1 && isCrowded(before - 2)))) before--;
  return before === 0 || startOf(before) < sinceS ? own : before;
}

/**
 * A model that writes words can run ahead of the audio: it makes words up, out of what it wrote before, and all of them
 * at the same moment of the audio.
 *
 *     heard     my number is 555   0142
 *     begins    ^  ^      ^  ^     ^and it is flat to 100,000. It is flat to
 */

type WordBeginning = { start: number };

/** Words that begin nearer to one another than they can be said were not heard there. */
const crowdedS = 0.05;
/** So many words in so little time are a crowd wherever they are: nobody says them. */
const many = 4;
const manyWithinS = 0.12;

/** How many words come before the first crowd of many; all of them where there is none. */
export function beforeCrowd(words: readonly WordBeginning[]): number {
  const crowd = words.findIndex(
    ({ start }, index) => (words[index + many - 1]?.start ?? Infinity) - start < manyWithinS,
  );
  return crowd < 0 ? words.length : crowd;
}

/**
 * How many of these first words there are before the crowd, of two or more, that they end in; all of them where the
 * crowd begins before that second, or with the first word.
 */
export function withoutCrowd(words: readonly WordBeginning[], own: number, sinceS: number): number {
  const startOf = (index: number): number => words[index]?.start ?? Infinity;
  const isCrowded = (index: number): boolean => startOf(index + 1) - startOf(index) < crowdedS;
  let before = own;
  while (before > 0 && (isCrowded(before - 1) || (before > 1 && isCrowded(before - 2)))) before--;
  return before === 0 || startOf(before) < sinceS ? own : before;
}

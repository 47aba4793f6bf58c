import { distance } from 'fastest-levenshtein';

export type Reading = { text: string; words: string[] };

/** How a word is compared: without case and punctuation. */
export function bare(word: string): string {
  return word.toLowerCase().replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, '');
}

/** Letters that would have to change to make one reading the other. */
function difference(a: Reading, b: Reading): number {
  return distance(a.words.map(bare).join(' '), b.words.map(bare).join(' '));
}

/** The reading that is closest to all the others; of equals the first. */
export function closest(readings: readonly Reading[]): Reading | undefined {
  let best: Reading | undefined;
  let least = Infinity;
  for (const one of readings) {
    const sum = readings.reduce((total, other) => total + difference(one, other), 0);
    if (sum >= least) continue;
    least = sum;
    best = one;
  }
  return best;
}

export function agree(readings: readonly Reading[]): boolean {
  const [first, ...rest] = readings;
  return first !== undefined && rest.every((other) => difference(first, other) === 0);
}

/** For each word of the chosen reading, the share of the readings that have it in its place. */
export function agreement(chosen: Reading, readings: readonly Reading[]): number[] {
  const votes = chosen.words.map(() => 0);
  for (const reading of readings)
    for (const index of alignedWords(chosen.words, reading.words)) votes[index]! += 1; // eslint-disable-line @typescript-eslint/no-non-null-assertion
  return votes.map((count) => count / Math.max(1, readings.length));
}

/** Indexes of the words of `a` that `b` holds in the same order: the longest common subsequence. */
export function alignedWords(a: readonly string[], b: readonly string[]): number[] {
  const left = a.map(bare);
  const right = b.map(bare);
  const width = right.length + 1;
  const best = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number) => best[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      best[i * width + j] =
        left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const aligned: number[] = [];
  for (let i = 0, j = 0; i < left.length && j < right.length;)
    if (left[i] === right[j]) {
      aligned.push(i);
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  return aligned;
}

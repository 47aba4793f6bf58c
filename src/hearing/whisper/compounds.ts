import { bare } from '../offline/readings.ts';
import { digitsOf, isOfNumber } from './spoken-figures.ts';
import { asHeard, placesOf, type Reconciled } from './word-places.ts';

/** The same word is searched for within this many seconds, since the readers may have it twice. */
const mostApartS = 2;

type Words = readonly Reconciled[];
/** A reading with some of its words removed. */
type Left = readonly (Reconciled | undefined)[];
type WordRun = { from: number; to: number };
/** One word of one reader and several words of the other with the same letters, or with the same number. */
type Alike = { first: WordRun; second: WordRun };

/**
 * Divides both readings into words in the same way. If one reader has the same letters or numbers in fewer words than
 * the
 * other, they would look like words that one of the readers did not hear, and spelled text would appear twice. The
 * division
 * of the second reader is used, except where the first has an expected word.
 *
 *     second          A-B-C-1    voice mail    $342.16
 *     first           a b c 1    voicemail     three hundred and forty two dollars and sixteen cents
 *     first, alike    A-B-C-1    voice mail    $342.16
 */
export function dividedAlike(
  first: Words,
  second: Words,
  isExpected: (word: string) => boolean,
): { first: Words; second: Words } {
  const left = unequal(first, second);
  const alike = [
    ...alikeIn(left.second, left.first).map(({ whole, run }) => ({ second: whole, first: run })),
    ...alikeIn(left.first, left.second).map(({ whole, run }) => ({ first: whole, second: run })),
    ...numbersAlike(left.first, left.second),
  ].filter((one, index, all) => !all.slice(0, index).some((other) => overlap(one, other)));
  const [kept, followed] = [true, false].map((expected) =>
    alike.filter(
      (one) => wordsIn(first, one.first).some(({ word }) => isExpected(word)) === expected,
    ),
  ) as [Alike[], Alike[]];
  return {
    first: withRuns(
      first,
      followed.map((one) => ({ run: one.first, like: wordsIn(second, one.second) })),
    ),
    second: withRuns(
      second,
      kept.map((one) => ({ run: one.second, like: wordsIn(first, one.first) })),
    ),
  };
}

/** Both readings without the words that both contain, whose place is known. */
function unequal(first: Words, second: Words): { first: Left; second: Left } {
  const left: Record<'first' | 'second', (Reconciled | undefined)[]> = {
    first: [...first],
    second: [...second],
  };
  for (const { first: i, second: j } of placesOf(first, second)) {
    if (i === undefined || j === undefined) continue;
    if (asHeard(first[i]?.word ?? '') !== asHeard(second[j]?.word ?? '')) continue;
    left.first[i] = undefined;
    left.second[j] = undefined;
  }
  return left;
}

/** The words of one reader that the other has as several words of one unit. The place nearest in time is taken. */
function alikeIn(wholes: Left, words: Left): { whole: WordRun; run: WordRun }[] {
  return wholes.flatMap((whole, at) => {
    if (!whole) return [];
    const letters = lettersOf(whole.word);
    let nearest: WordRun | undefined;
    let least = mostApartS;
    for (const [from, one] of words.entries()) {
      const apart = one ? Math.abs(one.start - whole.start) : Infinity;
      const to = apart < least ? endOfRun(letters, words, from) : undefined;
      if (to === undefined) continue;
      nearest = { from, to };
      least = apart;
    }
    return nearest ? [{ whole: { from: at, to: at + 1 }, run: nearest }] : [];
  });
}

/** Numbers that one reader writes in figures and the other in words. */
function numbersAlike(first: Left, second: Left): Alike[] {
  const spoken = numbersIn(first);
  return numbersIn(second).flatMap((written) => {
    if (!/\d/.test(written.text)) return [];
    const same = spoken.filter(({ digits, start }) => {
      return digits === written.digits && Math.abs(start - written.start) < mostApartS;
    });
    const [one] = same.toSorted(
      (a, b) => Math.abs(a.start - written.start) - Math.abs(b.start - written.start),
    );
    return one ? [{ first: one.run, second: written.run }] : [];
  });
}

type SpokenNumber = { run: WordRun; text: string; digits: string; start: number };

/** The longest sequences of words in one unit that can be numbers. */
function numbersIn(words: Left): SpokenNumber[] {
  const found: SpokenNumber[] = [];
  for (let from = 0; from < words.length; from++) {
    const begin = words[from];
    if (!begin || digitsOf([bare(begin.word)]) === '') continue;
    let to = from + 1;
    for (let next = words[to]; next; next = words[++to])
      if (next.unit !== begin.unit || !isOfNumber(bare(next.word))) break;
    while (words[to - 1] && bare(words[to - 1]?.word ?? '') === 'and') to--;
    const names = words.slice(from, to).map((word) => bare(word?.word ?? ''));
    found.push({
      run: { from, to },
      text: names.join(' '),
      digits: digitsOf(names),
      start: begin.start,
    });
    from = to - 1;
  }
  return found;
}

/**
 * The end of the words that together have these letters. Undefined if no such words follow, or if a single word has
 * them.
 */
function endOfRun(letters: string, words: Left, from: number): number | undefined {
  let rest = letters;
  for (let at = from; at < words.length; at++) {
    const word = words[at];
    const part = lettersOf(word?.word ?? '');
    if (!word || part === '' || !rest.startsWith(part)) return undefined;
    if (word.unit !== words[from]?.unit) return undefined;
    rest = rest.slice(part.length);
    if (rest === '') return at > from ? at + 1 : undefined;
  }
  return undefined;
}

/** Rewrites each of these sequences in the other reader's words. Each new word lasts in proportion to its letters. */
function withRuns(words: Words, runs: readonly { run: WordRun; like: Words }[]): Words {
  const result: Reconciled[] = [];
  for (let at = 0; at < words.length;) {
    const found = runs.find(({ run }) => run.from === at);
    result.push(
      ...(found ? written(wordsIn(words, found.run), found.like) : words.slice(at, at + 1)),
    );
    at = found?.run.to ?? at + 1;
  }
  return result;
}

function written(run: Words, like: Words): Reconciled[] {
  const [begin] = run;
  const end = run.at(-1);
  if (!begin || !end) return [];
  const confidence = Math.min(...run.map((word) => word.confidence));
  const all = like.reduce((sum, { word }) => sum + lettersOf(word).length, 0);
  const secondsALetter = (end.end - begin.start) / all;
  let start = begin.start;
  return like.map(({ word }) => {
    const one = { ...begin, word, start, end: start + secondsALetter * lettersOf(word).length };
    start = one.end;
    return { ...one, confidence };
  });
}

function wordsIn(words: Words, { from, to }: WordRun): Words {
  return words.slice(from, to);
}

function overlap(one: Alike, other: Alike): boolean {
  return [
    [one.first, other.first],
    [one.second, other.second],
  ].some(([a, b]) => a !== undefined && b !== undefined && a.from < b.to && b.from < a.to);
}

function lettersOf(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

import { distance } from 'fastest-levenshtein';
import { bare } from '../offline/readings.ts';
import type { RecognisedWord } from '../recogniser.ts';

/**
 * Two readings of the same audio, word by word in the order of time: what both have at one place, what only the second
 * has, what only the first has. The times of the second are those of its heads, which are sometimes far off.
 */
export type WordPlace = { first?: number; second?: number };

/** The price of a word that has no partner, of a pair that differs, and of a pair that lies apart in time. */
const alonePrice = 0.7;
const differentPrice = { least: 0.5, ofLetters: 0.8 };
const apartPrice = { each: 0.3, free: 0.3, most: 1.5 };

export function placesOf(
  first: readonly RecognisedWord[],
  second: readonly RecognisedWord[],
): WordPlace[] {
  const names = {
    first: first.map(({ word }) => bare(word)),
    second: second.map(({ word }) => bare(word)),
  };
  const width = second.length + 1;
  const price = new Float64Array((first.length + 1) * width);
  const at = (i: number, j: number) => price[i * width + j] ?? Infinity;
  const pair = (i: number, j: number): number => {
    const apart = Math.abs((first[i]?.start ?? 0) - (second[j]?.start ?? 0));
    const far = apartPrice.each * Math.max(0, apart - apartPrice.free);
    return Math.min(far, apartPrice.most) + difference(names.first[i] ?? '', names.second[j] ?? '');
  };
  for (let i = first.length; i >= 0; i--)
    for (let j = second.length; j >= 0; j--) {
      if (i === first.length && j === second.length) continue;
      const both = i < first.length && j < second.length ? pair(i, j) + at(i + 1, j + 1) : Infinity;
      const firstAlone = i < first.length ? alonePrice + at(i + 1, j) : Infinity;
      const secondAlone = j < second.length ? alonePrice + at(i, j + 1) : Infinity;
      price[i * width + j] = Math.min(both, firstAlone, secondAlone);
    }
  const places: WordPlace[] = [];
  for (let i = 0, j = 0; i < first.length || j < second.length;) {
    const here = at(i, j);
    if (i < first.length && j < second.length && here === pair(i, j) + at(i + 1, j + 1))
      places.push({ first: i++, second: j++ });
    else if (i < first.length && here === alonePrice + at(i + 1, j)) places.push({ first: i++ });
    else places.push({ second: j++ });
  }
  return places;
}

function difference(a: string, b: string): number {
  if (a === b) return 0;
  const share = distance(a, b) / Math.max(1, a.length, b.length);
  return differentPrice.least + differentPrice.ofLetters * share;
}

/** Words of the first reader that the second passed over are heard words if there are so many, for so long. */
const passedOver = { words: 3, seconds: 0.8 };
/** A word that only the heads place lasts so long for each of its letters. */
const letterS = 0.07;
const shortestS = 0.02;

export type Reconciled = RecognisedWord & {
  /** The unit of speech that the word belongs to. */
  unit: number;
};

/**
 * The words of the second reader, with the times of the first wherever both have a word at one place, and with the
 * agreement of both as confidence. Nothing that was heard may vanish: where the second reader passed over several
 * words, or over a whole unit of speech, those of the first stay.
 */
export function reconciled(
  first: readonly Reconciled[],
  second: readonly Reconciled[],
  expected: ReadonlySet<string> = new Set(),
): Reconciled[] {
  const places = kept(placesOf(first, second), first, second);
  const words = places.flatMap(({ first: i, second: j }): DraftWord[] => {
    const theirs = i === undefined ? undefined : first[i];
    const own = j === undefined ? undefined : second[j];
    if (own && theirs) {
      const agreed = bare(own.word) === bare(theirs.word);
      // Only the first reader knows which names are expected.
      if (!agreed && expected.has(bare(theirs.word))) return [{ ...theirs, placed: true }];
      const confidence = agreed
        ? agreedConfidence(own.confidence, theirs.confidence)
        : aloneConfidence(own.confidence);
      return [{ ...theirs, word: own.word, confidence, placed: true }];
    }
    if (own) return [{ ...own, confidence: aloneConfidence(own.confidence), placed: false }];
    return theirs
      ? [{ ...theirs, confidence: aloneConfidence(theirs.confidence), placed: true }]
      : [];
  });
  return withTimes(words);
}

type DraftWord = Reconciled & { placed: boolean };

const agreedConfidence = (own: number, theirs: number): number =>
  Math.min(0.99, 0.9 + 0.05 * own + 0.05 * theirs);
const aloneConfidence = (own: number): number => 0.15 + 0.65 * own;

/** The places without the words of the first reader that the second did not read, except where they must stay. */
function kept(
  places: readonly WordPlace[],
  first: readonly Reconciled[],
  second: readonly Reconciled[],
): WordPlace[] {
  const readUnits = new Set(second.map(({ unit }) => unit));
  const found: WordPlace[] = [];
  for (let from = 0; from < places.length;) {
    let to = from;
    while (to < places.length && isFirstAlone(places[to])) to++;
    const run = places.slice(from, to);
    const words = run.flatMap(({ first: i }) => (i === undefined ? [] : (first[i] ?? [])));
    const seconds = (words.at(-1)?.end ?? 0) - (words[0]?.start ?? 0);
    const beside = [places[from - 1], places[to]].some((place) => place && isSecondAlone(place));
    const vanished = words.length >= passedOver.words && seconds >= passedOver.seconds && !beside;
    found.push(
      ...run.filter(
        ({ first: i }) => vanished || (i !== undefined && !readUnits.has(first[i]?.unit ?? 0)),
      ),
    );
    const next = places[to];
    if (next) found.push(next);
    from = to + 1;
  }
  return found;
}

const isFirstAlone = (place: WordPlace | undefined): boolean =>
  place !== undefined && place.second === undefined;
const isSecondAlone = (place: WordPlace): boolean => place.first === undefined;

/** Words that the heads alone place are moved between their neighbours, whose times are better. */
function withTimes(words: readonly DraftWord[]): Reconciled[] {
  const result: Reconciled[] = [];
  for (const [index, { placed, ...word }] of words.entries()) {
    if (placed) {
      result.push(word);
      continue;
    }
    const before = result.at(-1);
    const after = words.slice(index + 1).find((one) => one.placed);
    const earliest = before?.end ?? 0;
    const latest = Math.max(earliest, after?.start ?? Infinity);
    const start = Math.min(Math.max(word.start, earliest), Math.max(earliest, latest - shortestS));
    const long = Math.max(shortestS, letterS * word.word.length);
    const end = Math.max(start + shortestS, Math.min(start + long, latest));
    const unit = Math.min(Math.max(word.unit, before?.unit ?? 0), after?.unit ?? Infinity);
    result.push({ ...word, start, end, unit });
  }
  return result;
}

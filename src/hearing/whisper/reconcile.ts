import { logistic, surenessOf } from '../offline/confidence.ts';
import { bare } from '../offline/readings.ts';
import { dividedAlike } from './compounds.ts';
import { isOfNumber } from './spoken-figures.ts';
import { asHeard, placesOf, type Reconciled, type WordPlace } from './word-places.ts';
import { type Readers, weighed } from './weighing.ts';

/**
 * Words of the first reader that the second skipped count as heard if there are at least this many, over at least this
 * long.
 */
const passedOver = { words: 3, seconds: 0.8 };
/** A word whose times come only from the attention heads lasts this long for each letter. */
const letterS = 0.07;
const shortestS = 0.02;

/**
 * Joins both readings. The words come from the second reader, the times from the first where both have a word at one
 * place, and the confidence from their agreement. If they disagree and can be asked, the surer reader is right. No
 * heard speech may vanish: if the second reader skipped several words, or a whole unit of speech, the words of the
 * first stay.
 */
export function reconciled(
  heardFirst: readonly Reconciled[],
  heardSecond: readonly Reconciled[],
  { expected = new Set(), readers }: { expected?: ReadonlySet<string>; readers?: Readers } = {},
): Reconciled[] {
  // Only the first reader knows which names are expected.
  const isExpected = (word: string) => expected.has(bare(word));
  const { first, second } = dividedAlike(heardFirst, heardSecond, isExpected);
  const found = placesOf(first, second);
  const verdicts = readers ? weighed(found, first, second, readers) : [];
  const judged = found.map((place, index) => ({ ...place, right: verdicts[index] }));
  const places = kept(judged, first, second);
  const words = places.flatMap(({ first: i, second: j, right }): DraftWord[] => {
    const theirs = i === undefined ? undefined : first[i];
    const own = j === undefined ? undefined : second[j];
    if (right === 'first')
      return theirs
        ? [{ ...theirs, confidence: disputedConfidence(theirs.confidence), placed: true }]
        : [];
    if (own && theirs) {
      const agreed = asHeard(own.word) === asHeard(theirs.word);
      if (!agreed && isExpected(theirs.word)) return [{ ...theirs, placed: true }];
      const confidence = agreed
        ? agreedConfidence(own.confidence)
        : disputedConfidence(theirs.confidence);
      return [{ ...theirs, word: own.word, confidence, placed: true }];
    }
    if (own) return [{ ...own, confidence: disputedConfidence(undefined), placed: false }];
    return theirs
      ? [{ ...theirs, confidence: disputedConfidence(theirs.confidence), placed: true }]
      : [];
  });
  return withTimes(words);
}

type DraftWord = Reconciled & { placed: boolean };

/**
 * The confidence of a word. If both readers have it, the second reader decides. If they disagree, the first one
 * decides, because it knows how well its whole piece is understood. Fitted to the even half of the telephone prompts,
 * plain, through GSM and in noise.
 */
const agreedConfidence = (own: number): number =>
  logistic(1.05 - 1.15 * Math.log(leastDoubt - Math.log(Math.max(leastOwn, own))));
const disputedConfidence = (theirs: number | undefined): number =>
  logistic(0.6 + (theirs === undefined ? 0 : 0.6 * surenessOf(theirs)));
const leastDoubt = 0.003;
const leastOwn = 1e-6;

/** Removes the first reader's words that the second did not read, except those that must stay. */
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
    const inFigures = isNumberOf(words, [
      second[places[from - 1]?.second ?? -1],
      second[places[to]?.second ?? -1],
    ]);
    const vanished =
      words.length >= passedOver.words && seconds >= passedOver.seconds && !beside && !inFigures;
    found.push(
      ...run.filter(
        ({ first: i, right }) =>
          right === 'first' ||
          (vanished && right !== 'second') ||
          (i !== undefined && !readUnits.has(first[i]?.unit ?? 0)),
      ),
    );
    const next = places[to];
    if (next) found.push(next);
    from = to + 1;
  }
  return found;
}

/** True if a neighbouring word has these words in figures, even if the readers heard different digits. */
function isNumberOf(
  words: readonly Reconciled[],
  beside: readonly (Reconciled | undefined)[],
): boolean {
  return (
    beside.some((word) => /\d/.test(word?.word ?? '')) &&
    words.every(({ word }) => isOfNumber(bare(word)))
  );
}

const isFirstAlone = (place: WordPlace | undefined): boolean =>
  place !== undefined && place.second === undefined;
const isSecondAlone = (place: WordPlace): boolean => place.first === undefined;

/** Moves words whose times come only from the attention heads between their neighbours, whose times are better. */
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

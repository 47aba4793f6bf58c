import { asHeard, type Reconciled, type WordPlace } from './word-places.ts';

/** Both readers' log-probabilities of some texts, in nats. Undefined if one of the texts cannot be written. */
export type Readers = {
  /** The beginning and end of each unit of speech, in seconds of the stream. */
  units: readonly { from: number; to: number }[];
  /** The first reader reads this stretch only. */
  first: (stretch: { from: number; to: number }, texts: readonly string[]) => number[] | undefined;
  /** The second reader reads its whole window. */
  second: (texts: readonly string[]) => number[] | undefined;
};

/** A nat of the first reader counts this much of a nat of the second, which has half as many wrong words. */
const weightOfFirst = 0.4;
/**
 * The first reader's preference counts at most this much. A name that it cannot write is impossible to it, not merely
 * unlikely.
 */
const mostOfFirst = 3;
/** In noise the first reader guesses. If it is less sure than this, its words count as none against the second's. */
const leastSure = 0.94;
/** If the second reader has nothing for this many words, it is believed less easily. */
const runOfWords = 3;
/**
 * At most this many disagreements of a window are weighed. More of them mean that one of the readers hears the window
 * as noise. These texts and the second reader's own are read in parallel, which takes about as long as writing that
 * text did.
 */
const mostDisputes = 7;
/** The first reader reads a whole unit, or this many seconds around the weighed words of a longer one. */
const longestS = 9;
const aroundS = { before: 4, behind: 3 };

type Dispute = { from: number; to: number; first: Reconciled[]; second: Reconciled[] };

/**
 * Decides for each disagreement which reader is right; undefined if it cannot be decided. Each reader gives the
 * likelihood
 * of the other's words inside its own text. A reader that would never have written the other's words is right, unless
 * the
 * other is as sure. The numbers were chosen on the even half of the telephone
 * prompts, plain, through GSM and in noise.
 *
 *     first    press one to reach the  color          second   Press one to reach the  caller.
 *              press one to reach the  caller.  -1 nat         Press one to reach the  color   -9 nats
 */
export function weighed(
  places: readonly WordPlace[],
  first: readonly Reconciled[],
  second: readonly Reconciled[],
  readers: Readers,
): ('first' | 'second' | undefined)[] {
  const verdicts = places.map((): 'first' | 'second' | undefined => undefined);
  const disputes = disputesIn(places, first, second)
    .filter((dispute) => isWorthWeighing(dispute))
    .slice(0, mostDisputes);
  if (disputes.length === 0) return verdicts;
  const likelihoods = readers.second([
    textOf(second),
    ...disputes.map(({ from, to, first }) => {
      const before = places.slice(0, from).flatMap((place) => wordAt(second, place.second));
      const behind = places.slice(to).flatMap((place) => wordAt(second, place.second));
      return textOf([...before, ...first, ...behind]);
    }),
  ]);
  for (const [index, dispute] of disputes.entries()) {
    const own = likelihoods?.[0] ?? NaN;
    const secondMind = own - (likelihoods?.[index + 1] ?? NaN);
    const firstMind = mindOfFirst(dispute, places, first, readers);
    if (!Number.isFinite(secondMind) || !Number.isFinite(firstMind)) continue;
    const weight = Math.min(weightOfFirst * firstMind, mostOfFirst);
    if (isSure(dispute.first) && weight > secondMind)
      verdicts.fill('first', dispute.from, dispute.to);
    // If both readers prefer a text without the words, the words are dropped.
    else if (firstMind < 0) verdicts.fill('second', dispute.from, dispute.to);
  }
  return verdicts;
}

/** The first reader's preference for its own words over those of the second, in nats. */
function mindOfFirst(
  dispute: Dispute,
  places: readonly WordPlace[],
  first: readonly Reconciled[],
  readers: Readers,
): number {
  const spoken = [...dispute.first, ...dispute.second];
  // The first reader reads one unit at once, and knows best which unit its words belong to.
  const numbers = new Set(dispute.first.map(({ unit }) => unit));
  if (numbers.size > 1) return NaN;
  const number = [...numbers, ...dispute.second.map(({ unit }) => unit)][0] ?? -1;
  const unit = readers.units[number];
  if (!unit) return NaN;
  const begins = Math.min(...spoken.map(({ start }) => start));
  const ends = Math.max(...spoken.map(({ end }) => end));
  const short = unit.to - unit.from <= longestS;
  const beside = (from: number, to: number) =>
    places
      .slice(from, to)
      .flatMap((place) => wordAt(first, place.first))
      .filter((word) => word.unit === number);
  const before = beside(0, dispute.from);
  const behind = beside(dispute.to, places.length);
  const near = before.filter(({ start }) => short || start > begins - aroundS.before);
  const next = behind.filter(({ start }) => short || start < ends + aroundS.behind);
  const from = near.length < before.length ? (near[0] ?? dispute.first[0])?.start : unit.from;
  const to = next.length < behind.length ? behind[next.length]?.start : unit.to;
  const [own = NaN, other = NaN] =
    readers.first({ from: from ?? unit.from, to: to ?? unit.to }, [
      textOf([...near, ...dispute.first, ...next]),
      textOf([...near, ...dispute.second, ...next]),
    ]) ?? [];
  return own - other;
}

/** The sequences of places where the readers have different words, or where one of them has none. */
function disputesIn(
  places: readonly WordPlace[],
  first: readonly Reconciled[],
  second: readonly Reconciled[],
): Dispute[] {
  const disputes: Dispute[] = [];
  let last: Dispute | undefined;
  for (const [index, place] of places.entries()) {
    const theirs = wordAt(first, place.first);
    const own = wordAt(second, place.second);
    if (asHeard(theirs[0]?.word ?? '') === asHeard(own[0]?.word ?? '')) {
      last = undefined;
      continue;
    }
    if (!last) disputes.push((last = { from: index, to: index, first: [], second: [] }));
    last.to = index + 1;
    last.first.push(...theirs);
    last.second.push(...own);
  }
  return disputes;
}

function isWorthWeighing({ first, second }: Dispute): boolean {
  if (inFigures([...first, ...second])) return false;
  return isSure(first) || (second.length === 0 && first.length >= runOfWords);
}

function isSure(words: readonly Reconciled[]): boolean {
  return words.length > 0 && words.every(({ confidence }) => confidence >= leastSure);
}

/** One reader writes numbers in figures and the other in words. The likelihood would only judge the way of writing. */
function inFigures(words: readonly { word: string }[]): boolean {
  return words.some(({ word }) => /\d/.test(word));
}

function wordAt(words: readonly Reconciled[], index: number | undefined): Reconciled[] {
  const word = index === undefined ? undefined : words[index];
  return word ? [word] : [];
}

function textOf(words: readonly { word: string }[]): string {
  return words.map(({ word }) => word).join(' ');
}

import { directionSize, numbersOf, type SentenceDirection } from './directions.ts';

/** An example may be missed this far when the others speak for another kind. Lower: examples are learnt by heart. */
const slack = 0.01;
/** The time to learn goes with the third power of the examples, the room with the second. Of more the large kinds give way. */
export const maxExamplesLearnt = 3_000;
/**
 * Examples say 1 for their own kind, and about 0 for that of a stranger. `half` of it is a likelihood of one half, which
 * rises with `slowness`. Both were chosen with examples left out: at 0.4 and 0.55 as much of what is found is right as
 * with an earlier way of learning, so the thresholds of playbooks keep their sense.
 */
const [half, slowness] = [0.413, 0.132];

/** Rows of the matrix that are worked out together. More: faster, and sentences of calls wait longer. */
const rowsAtOnce = 4;

/** `denies`: a negation stands in it. Directions hardly show one. */
export type KindSample = { direction: SentenceDirection; kind: number; denies?: boolean };

/** Examples, and what each of them says for each kind of sentence. */
export type KindWeights = {
  /** The numbers of their directions, one after the other. */
  directions: Float32Array;
  says: Float32Array;
  kindOf: Uint16Array;
  /** 1 for an example with a negation. */
  denies: Uint8Array;
  kinds: number;
};

/**
 * Learns from examples to tell kinds of sentences apart, by a ridge regression over the likeness of examples: a sentence
 * is judged by those that are near, so a kind may have as many wordings as people have. The same samples give the same
 * weights. It yields after some rows of its matrix, so that others have their turn.
 */
export function* learnKinds(
  all: readonly KindSample[],
  kinds: number,
  most = maxExamplesLearnt,
): Generator<undefined, KindWeights> {
  const samples = thinned(all, most);
  const weights: KindWeights = {
    directions: new Float32Array(samples.length * directionSize),
    says: new Float32Array(samples.length * kinds),
    kindOf: Uint16Array.from(samples, ({ kind }) => kind),
    denies: Uint8Array.from(samples, ({ denies }) => (denies === true ? 1 : 0)),
    kinds,
  };
  for (const [at, { direction }] of samples.entries())
    weights.directions.set(ofLengthOne(direction), at * directionSize);
  const lower = new Float64Array((samples.length * (samples.length + 1)) / 2);
  for (let from = 0; from < samples.length; from += rowsAtOnce) {
    const rows = samples.slice(from, from + rowsAtOnce);
    for (const [at, { direction }] of rows.entries()) {
      likenesses(weights, direction, lower, rowOf(from + at), from + at + 1);
      lower[rowOf(from + at) + from + at] = 1 + slack;
    }
    factorise(lower, from, from + rows.length);
    yield;
  }
  for (let kind = 0; kind < kinds; kind++) {
    const wanted = Float64Array.from(samples, (sample) => (sample.kind === kind ? 1 : 0));
    solve(lower, wanted);
    for (const [at, value] of wanted.entries()) weights.says[at * kinds + kind] = value;
    yield;
  }
  return weights;
}

/**
 * The likelihood that the sentence is of each kind. It may be of several, or of none. "I won't cancel" points nearly where
 * "I will cancel" points: one that `denies` is of a kind whose nearest example denies as well, or it is not of it.
 */
export function kindsOf(
  weights: KindWeights,
  direction: SentenceDirection,
  denies = false,
): Float64Array {
  const { directions, says, kindOf, kinds } = weights;
  const like = new Float64Array(directions.length / directionSize);
  likenesses(weights, direction, like, 0, like.length);
  const said = new Float64Array(kinds);
  const most = new Float64Array(kinds);
  const isMeant = new Uint8Array(kinds).fill(1);
  for (const [at, likeness] of like.entries()) {
    const row = at * kinds;
    for (let kind = 0; kind < kinds; kind++)
      said[kind] = (said[kind] ?? 0) + likeness * (says[row + kind] ?? 0);
    const own = kindOf[at] ?? 0;
    if (likeness <= (most[own] ?? 0)) continue;
    most[own] = likeness;
    if (denies) isMeant[own] = weights.denies[at] ?? 0;
  }
  return said.map((value, kind) =>
    isMeant[kind] === 1 || kind === 0 ? 1 / (1 + Math.exp((half - value) / slowness)) : 0,
  );
}

/** At most so many samples: as many of each kind as all kinds can have, evenly taken. Small kinds stay whole. */
function thinned(samples: readonly KindSample[], most: number): readonly KindSample[] {
  if (samples.length <= most) return samples;
  const kinds = Map.groupBy(samples, ({ kind }) => kind);
  const sizes = [...kinds.values()].map(({ length }) => length);
  let each = most;
  while (each > 1 && sizes.reduce((sum, size) => sum + Math.min(size, each), 0) > most) each--;
  return [...kinds.values()].flatMap(
    (own) =>
    own.length <= each
      ? own
      : own.filter((_, at) => Math.floor(((at + 1) * each) / own.length) > Math.floor((at * each) / own.length)), // prettier-ignore
  );
}

function ofLengthOne(direction: SentenceDirection): Float32Array {
  const numbers = numbersOf(direction);
  const length = Math.hypot(...numbers) || 1;
  return numbers.map((value) => value / length);
}

/** The likeness of each of the first examples to a direction: 1 for the same, 0.37 for what has nothing in common. */
function likenesses(
  { directions }: KindWeights,
  direction: SentenceDirection,
  into: Float64Array,
  from: number,
  count: number,
): void {
  const own = ofLengthOne(direction);
  for (let at = 0, row = 0; at < count; at++, row += directionSize) {
    // Four sums at once, as below.
    let [one, two, three, four] = [0, 0, 0, 0];
    for (let i = 0; i < directionSize; i += 4) {
      one += (directions[row + i] ?? 0) * (own[i] ?? 0);
      two += (directions[row + i + 1] ?? 0) * (own[i + 1] ?? 0);
      three += (directions[row + i + 2] ?? 0) * (own[i + 2] ?? 0);
      four += (directions[row + i + 3] ?? 0) * (own[i + 3] ?? 0);
    }
    into[from + at] = Math.exp(one + two + three + four - 1);
  }
}

/** The place at which a row of a lower triangle begins. */
function rowOf(at: number): number {
  return (at * (at + 1)) / 2;
}

/** Some more rows of a Cholesky factor in the place of the matrix. The rows above are factorised. */
function factorise(lower: Float64Array, from: number, to: number): void {
  for (let other = 0; other < to; other++) {
    const above = rowOf(other);
    // A row from above is read for all rows at once: the triangle is too large for the caches.
    for (let at = Math.max(from, other); at < to; at++) {
      const row = rowOf(at);
      const rest = (lower[row + other] ?? 0) - product(lower, row, above, other);
      lower[row + other] =
        other === at ? Math.sqrt(Math.max(rest, 1e-9)) : rest / (lower[above + other] ?? 1);
    }
  }
}

/** The product of two stretches of the same numbers. Four sums at once: the processor waits for none. */
function product(numbers: Float64Array, from: number, other: number, count: number): number {
  let [one, two, three, four, i] = [0, 0, 0, 0, 0];
  for (; i + 4 <= count; i += 4) {
    one += (numbers[from + i] ?? 0) * (numbers[other + i] ?? 0);
    two += (numbers[from + i + 1] ?? 0) * (numbers[other + i + 1] ?? 0);
    three += (numbers[from + i + 2] ?? 0) * (numbers[other + i + 2] ?? 0);
    four += (numbers[from + i + 3] ?? 0) * (numbers[other + i + 3] ?? 0);
  }
  for (; i < count; i++) one += (numbers[from + i] ?? 0) * (numbers[other + i] ?? 0);
  return one + two + three + four;
}

/** Solves the equations of the factorised matrix, in the place of their right side. */
function solve(lower: Float64Array, values: Float64Array): void {
  for (let at = 0; at < values.length; at++) {
    const row = rowOf(at);
    let sum = values[at] ?? 0;
    for (let i = 0; i < at; i++) sum -= (lower[row + i] ?? 0) * (values[i] ?? 0);
    values[at] = sum / (lower[row + at] ?? 1);
  }
  for (let at = values.length - 1; at >= 0; at--) {
    const row = rowOf(at);
    const value = (values[at] ?? 0) / (lower[row + at] ?? 1);
    values[at] = value;
    for (let i = 0; i < at; i++) values[i] = (values[i] ?? 0) - (lower[row + i] ?? 0) * value;
  }
}

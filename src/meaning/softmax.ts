import { directionSize, numbersOf, type SentenceDirection } from './directions.ts';

/** Directions are this much longer here: the regression then separates them within its steps. */
const scale = 4;
/** The room of the weights around zero. Higher: the examples are learnt more by heart. */
const freedom = 3;
const steps = 100;
const rate = 0.5;
const momentum = 0.9;
const width = directionSize + 1;

export type KindSample = { direction: SentenceDirection; kind: number };

/** Weights of kinds of sentences: for each kind one number a dimension, and one for how common it is. */
export type KindWeights = Float32Array;

/**
 * Learns to tell kinds of sentences apart from examples: softmax regression over directions, all examples a step. The
 * same samples give the same weights. It yields after each step, so that others have their turn.
 */
export function* learnKinds(
  samples: readonly KindSample[],
  kinds: number,
): Generator<undefined, KindWeights> {
  const inputs = samples.map(({ direction }) => inputOf(direction));
  const weights = new Float32Array(kinds * width);
  const speed = new Float64Array(kinds * width);
  const slope = new Float64Array(kinds * width);
  const count = Math.max(1, samples.length);
  for (let step = 0; step < steps; step++) {
    slope.fill(0);
    for (const [at, input] of inputs.entries()) {
      const shares = sharesOf(weights, input, kinds);
      for (let kind = 0; kind < kinds; kind++) {
        const error = ((shares[kind] ?? 0) - (samples[at]?.kind === kind ? 1 : 0)) / count;
        const row = kind * width;
        for (let i = 0; i < width; i++) slope[row + i] = (slope[row + i] ?? 0) + error * (input[i] ?? 0); // prettier-ignore
      }
    }
    for (let at = 0; at < weights.length; at++) {
      const isBias = at % width === directionSize;
      const pull = isBias ? 0 : (weights[at] ?? 0) / (freedom * count);
      speed[at] = momentum * (speed[at] ?? 0) - rate * ((slope[at] ?? 0) + pull);
      weights[at] = (weights[at] ?? 0) + (speed[at] ?? 0);
    }
    yield;
  }
  return weights;
}

/** The likelihood that the sentence is of each kind. The sum is 1. */
export function kindsOf(weights: KindWeights, direction: SentenceDirection): Float64Array {
  return sharesOf(weights, inputOf(direction), weights.length / width);
}

function inputOf(direction: SentenceDirection): Float32Array {
  const input = new Float32Array(width);
  for (const [at, value] of numbersOf(direction).entries()) input[at] = value * scale;
  input[directionSize] = 1;
  return input;
}

function sharesOf(weights: Float32Array, input: Float32Array, kinds: number): Float64Array {
  const shares = new Float64Array(kinds);
  let most = -Infinity;
  for (let kind = 0; kind < kinds; kind++) {
    let sum = 0;
    const row = kind * width;
    for (let i = 0; i < width; i++) sum += (weights[row + i] ?? 0) * (input[i] ?? 0);
    shares[kind] = sum;
    most = Math.max(most, sum);
  }
  let total = 0;
  for (const [kind, sum] of shares.entries()) total += shares[kind] = Math.exp(sum - most);
  return shares.map((share) => share / total);
}

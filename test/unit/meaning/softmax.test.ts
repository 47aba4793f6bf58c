import { expect, test } from 'vitest';
import { cosine, directionFrom, numbersOf } from '../../../src/meaning/directions.ts';
import { kindsOf, learnKinds } from '../../../src/meaning/softmax.ts';
import { wordDirection } from '../../support/meaning/word-meaning.ts';

const samples = [
  ['i want to cancel my contract', 1],
  ['please end the subscription', 1],
  ['i will quit this plan', 1],
  ['let me speak to a manager', 2],
  ['get me your boss', 2],
  ['i need the supervisor', 2],
  ['good morning to you', 0],
  ['the parcel is blue', 0],
  ['it rains a lot here', 0],
  ['thanks for the help', 0],
] as const;

function learnt() {
  const learning = learnKinds(samples.map(([text, kind]) => ({ direction: wordDirection(text), kind })), 3); // prettier-ignore
  let steps = 0;
  for (;;) {
    const step = learning.next();
    if (step.done) return { weights: step.value, steps };
    steps++;
  }
}

test('kinds are told apart in sentences that were no examples, and the shares sum to one', () => {
  const { weights } = learnt();
  for (const [text, kind] of [['we terminate our account', 1], ['the chief please', 2], ['the morning is blue', 0]] as const) {
    const shares = kindsOf(weights, wordDirection(text));
    expect(shares.indexOf(Math.max(...shares))).toBe(kind);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  }
}); // prettier-ignore

test('the same examples give the same weights, step by step', () => {
  const { weights, steps } = learnt();
  expect(learnt().weights).toEqual(weights);
  expect(steps).toBeGreaterThan(10);
});

test('a direction in eight bits is near the numbers that it came from, whatever their length', () => {
  const numbers = Array.from({ length: 384 }, (_, at) => Math.sin(at * at));
  const direction = directionFrom(numbers);
  expect(cosine(direction, directionFrom(numbers.map((value) => value * 1_000)))).toBeCloseTo(1);
  expect(Math.hypot(...numbersOf(direction))).toBeCloseTo(1, 1);
  expect(cosine(directionFrom(numbers.map(() => 0)), direction)).toBe(0);
});

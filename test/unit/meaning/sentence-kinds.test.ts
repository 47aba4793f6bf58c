import { expect, test } from 'vitest';
import { cosine, directionFrom, numbersOf } from '../../../src/meaning/directions.ts';
import { kindsOf, learnKinds } from '../../../src/meaning/sentence-kinds.ts';
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
  const examples = samples.map(([text, kind]) => ({ direction: wordDirection(text), kind }));
  const learning = learnKinds(examples, 3);
  let steps = 0;
  for (;;) {
    const step = learning.next();
    if (step.done) return { weights: step.value, steps };
    steps++;
  }
}

test('kinds are told apart in sentences that were no examples, and a stranger is of none', () => {
  const { weights } = learnt();
  for (const [text, kind] of [['we terminate our account', 1], ['the chief please', 2], ['the morning is blue', 0]] as const) {
    const shares = kindsOf(weights, wordDirection(text));
    expect(shares.indexOf(Math.max(...shares))).toBe(kind);
    expect(shares[kind]).toBeGreaterThan(0.4);
    expect(shares.filter((share) => share > 0.4)).toHaveLength(1);
  }
  const [, one, other] = kindsOf(weights, wordDirection('seven wooden spoons lie underneath'));
  expect(one).toBeLessThan(0.4);
  expect(other).toBeLessThan(0.4);
}); // prettier-ignore

test('an example is known for what it is, whatever its neighbours are', () => {
  const { weights } = learnt();
  for (const [text, kind] of samples)
    expect(kindsOf(weights, wordDirection(text))[kind], text).toBeGreaterThan(0.9);
});

test('a sentence that denies is of a kind whose nearest example denies too', () => {
  const examples = [
    ['i want to cancel my contract', 1, false],
    ['do not renew my parking permit', 1, true],
    ['good morning to you', 0, false],
  ] as const;
  const learning = learnKinds(examples.map(([text, kind, denies]) => ({ direction: wordDirection(text), kind, denies })), 2); // prettier-ignore
  let step = learning.next();
  while (step.done !== true) step = learning.next();
  const weights = step.value;
  const likelihood = (text: string, denies: boolean) =>
    kindsOf(weights, wordDirection(text), denies)[1];
  expect(likelihood('i do not want to cancel my contract', false)).toBeGreaterThan(0.4);
  expect(likelihood('i do not want to cancel my contract', true)).toBe(0);
  expect(likelihood('please do not renew my parking permit', true)).toBeGreaterThan(0.4);
});

test('of more examples than are learnt at once large kinds give way, and none stands for nothing', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ text: `please end plan ${'x'.repeat(at)}`, kind: 1 }));
  const few = [
    { text: 'let me speak to a manager', kind: 2 },
    { text: 'good morning to you', kind: 0 },
  ];
  const all = [...many, ...few].map(({ text, kind }) => ({ direction: wordDirection(text), kind }));
  const learning = learnKinds(all, 3, 12);
  let step = learning.next();
  while (step.done !== true) step = learning.next();
  expect([...step.value.kindOf]).toEqual([...Array.from({ length: 10 }, () => 1), 2, 0]);
  for (const { text, kind } of few)
    expect(kindsOf(step.value, wordDirection(text))[kind]).toBeGreaterThan(0.9);
  expect(learnKinds([], 2).next()).toMatchObject({ done: false });
}); // prettier-ignore

test('a direction in eight bits is near the numbers that it came from, whatever their length', () => {
  const numbers = Array.from({ length: 384 }, (_, at) => Math.sin(at * at));
  const direction = directionFrom(numbers);
  expect(cosine(direction, directionFrom(numbers.map((value) => value * 1_000)))).toBeCloseTo(1);
  expect(Math.hypot(...numbersOf(direction))).toBeCloseTo(1, 1);
  expect(cosine(directionFrom(numbers.map(() => 0)), direction)).toBe(0);
});

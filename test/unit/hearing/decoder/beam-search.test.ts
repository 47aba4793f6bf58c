import { expect, test } from 'vitest';
import { beamSearch, type Steps } from '../../../../src/hearing/decoder/beam-search.ts';
import { logProbabilitiesOf } from '../../../../src/hearing/decoder/log-probabilities.ts';

/** A model over the letters of a little alphabet; `$` ends a text. Probabilities come after the text so far. */
const letters = '$abc';
type Probabilities = Partial<Record<string, number>>;

function stepsOf(
  after: (text: string) => Probabilities,
): Steps & { steps: number; widest: number; restart: (text: string) => void } {
  let beams = [''];
  const said = (text: string) => ({
    ...logProbabilitiesOf(
      Float32Array.from(letters, (letter) => Math.log(after(text)[letter] ?? 0)),
    ),
    attention: Float32Array.of(text.length),
  });
  const model = {
    steps: 0,
    widest: 0,
    restart(text: string) {
      beams = [text];
    },
    first: () => said(''),
    next(chosen: readonly { parent: number; token: number }[]) {
      model.steps++;
      model.widest = Math.max(model.widest, chosen.length);
      beams = chosen.map(({ parent, token }) => `${beams[parent]!}${letters[token]!}`);
      return beams.map(said);
    },
  };
  return model;
}

const textOf = (tokens: readonly number[]) => tokens.map((token) => letters[token]).join('');
const options = { width: 4, mostTokens: 20, endToken: 0 };

/** The likeliest first letter leads nowhere: "ab$" has 0.6 · 0.4 · 0.5, "ba$" has 0.4 · 0.95 · 0.95. */
const garden = (text: string): Probabilities => {
  if (text === '') return { a: 0.6, b: 0.4 };
  if (text === 'a') return { b: 0.4, c: 0.35, a: 0.25 };
  if (text === 'b') return { a: 0.95, c: 0.05 };
  return text === 'ba' ? { $: 0.95, a: 0.05 } : { $: 0.5, a: 0.5 };
};

test('one beam takes the likeliest token each time, four find the likelier text', () => {
  expect(textOf(beamSearch(stepsOf(garden), { ...options, width: 1 }).tokens)).toBe('ab$');
  const found = beamSearch(stepsOf(garden), options);
  expect(textOf(found.tokens)).toBe('ba$');
  expect(found.ended).toBe(true);
});

test('each token carries its own log-probability and the attention with which it was read', () => {
  const { logProbabilities, attention } = beamSearch(stepsOf(garden), options);
  expect(logProbabilities.map((one) => Math.exp(one))).toEqual([
    expect.closeTo(0.4), expect.closeTo(0.95), expect.closeTo(0.95),
  ]); // prettier-ignore
  expect(attention.map((row) => row?.[0])).toEqual([0, 1, 2]);
});

test('a model that never ends is cut at the limit, and what it wrote is given', () => {
  const model = stepsOf(() => ({ a: 0.9, b: 0.1 }));
  const found = beamSearch(model, { ...options, mostTokens: 7 });
  expect(found.ended).toBe(false);
  expect(textOf(found.tokens)).toBe('aaaaaaa');
  expect(model.steps).toBe(6);
  expect(model.widest).toBeLessThanOrEqual(4);
});

test('the search stops when no open text can become the best any more', () => {
  const model = stepsOf((text) => (text === '' ? { $: 0.9, a: 0.1 } : { a: 0.99, $: 0.01 }));
  expect(textOf(beamSearch(model, options).tokens)).toBe('$');
  expect(model.steps).toBe(0);
});

test('the part of a draft that one beam would write itself is taken over, and saves its steps', () => {
  const model = Object.assign(stepsOf(garden), {
    kept: 0,
    after(tokens: readonly number[]) {
      const said = [model.first()];
      for (const token of tokens) said.push(...model.next([{ parent: 0, token }]));
      model.steps = 0;
      return said;
    },
    keep(count: number) {
      model.kept = count;
      model.restart('ab'.slice(0, count));
    },
  });
  const draft = ['a', 'b', 'c'].map((letter) => letters.indexOf(letter));
  const alone = stepsOf(garden);
  const plain = beamSearch(alone, { ...options, width: 1 });
  const found = beamSearch(model, { ...options, width: 1, draft });
  expect(textOf(found.tokens)).toBe('ab$');
  expect(found.logProbabilities).toEqual(plain.logProbabilities);
  expect(found.attention).toEqual(plain.attention);
  expect(model.kept).toBe(2);
  expect(model.steps).toBe(alone.steps - 2);
});

test('a text that has come as far as is wanted is not followed further', () => {
  const model = stepsOf(() => ({ a: 0.9, b: 0.1 }));
  const found = beamSearch(model, { ...options, width: 1, enough: ([at = 0]) => at >= 3 });
  expect(textOf(found.tokens)).toBe('aaaa');
  expect(found.ended).toBe(false);
  expect(model.steps).toBe(3);
});

test('a model that says nothing gives an empty text', () => {
  const silent: Steps = { first: () => logProbabilitiesOf(new Float32Array(0)), next: () => [] };
  expect(beamSearch(silent, options).tokens).toEqual([]);
});

test('a text goes on after tokens that are given, and does not hold them', () => {
  const { tokens, given } = beamSearch(stepsOf(garden), {
    ...options,
    given: [letters.indexOf('b')],
  });
  expect(textOf(tokens)).toBe('a$');
  expect(given.map((one) => Math.exp(one))).toEqual([expect.closeTo(0.4)]);
});

test('a token is shared by the other likely texts as far as they are likely', () => {
  // "ba$" has 0.361, "ab$" 0.12, "ac$" 0.105, "aa$" 0.075 and "b" nothing else of note: the a stands in all of them.
  const { tokens, shared } = beamSearch(stepsOf(garden), options);
  expect(textOf(tokens)).toBe('ba$');
  expect(shared[0]).toBeGreaterThan(0.4);
  expect(shared[0]).toBeLessThan(0.9);
  expect(shared[1]).toBeGreaterThan(shared[0]!);
  const alone = beamSearch(
    stepsOf((text) => (text === '' ? { a: 1 } : { $: 1 })),
    options,
  );
  expect(alone.shared).toEqual([expect.closeTo(1), expect.closeTo(1)]);
});

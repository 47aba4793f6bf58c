import { expect, test } from 'vitest';
import { Sayings, knownSayings } from '../../../src/knowledge/sayings.ts';
import { cosine, directionFrom, directionSize } from '../../../src/meaning/directions.ts';
import type { Meaning } from '../../../src/meaning/meaning.ts';

/** A direction along one of the axes, or between two. */
const along = (...axes: number[]) =>
  directionFrom(Array.from({ length: directionSize }, (_, at) => (axes.includes(at) ? 1 : 0)));

const moving = { name: 'moving home', says: ['we bought a flat', 'we get the keys', 'the van comes'] }; // prettier-ignore
const directions: Record<string, number[]> = {
  'moving home': [0],
  'we bought a flat': [1, 2],
  'we get the keys': [1, 3],
  'the van comes': [4],
};
const meaningOf = (known: Record<string, number[]>): Meaning => ({
  isThere: () => Promise.resolve(true),
  live: () => Promise.resolve(undefined),
  direction: (text) => Promise.resolve(known[text] && along(...known[text])),
  learn: () => Promise.resolve(undefined),
});

test('a question that is near to two sayings of a matter comes nearer to its name, and others stay', async () => {
  const sayings = new Sayings();
  expect(sayings.isLearnt).toBe(false);
  expect(sayings.meantBy(along(1))).toEqual({ said: along(1), meant: along(1) });

  await sayings.learn(meaningOf(directions), [moving]);
  expect(sayings.isLearnt).toBe(true);
  const { said, meant } = sayings.meantBy(along(1));
  expect(said).toEqual(along(1));
  expect(cosine(said, along(0))).toBeCloseTo(0);
  expect(cosine(meant, along(0))).toBeGreaterThan(0.5);
  expect(cosine(meant, said)).toBeGreaterThan(0.7);
  // The words of one saying alone say too little, and other words nothing.
  for (const question of [along(2, 5), along(7)])
    expect(sayings.meantBy(question)).toEqual({ said: question, meant: question });
});

test('while the model is lost in the middle nothing is learnt, and later everything', async () => {
  const sayings = new Sayings();
  const { 'the van comes': lost = [], ...left } = directions;
  await sayings.learn(meaningOf(left), [moving]);
  expect(sayings.isLearnt).toBe(false);
  expect(sayings.meantBy(along(1)).meant).toEqual(along(1));
  await sayings.learn(meaningOf({ ...left, 'the van comes': lost }), [moving]);
  expect(sayings.isLearnt).toBe(true);
});

test('the sayings of the program each have a name and several sentences, and none is there twice', () => {
  const known = knownSayings();
  expect(known.length).toBeGreaterThan(50);
  for (const { name, says } of known) {
    expect(name).toMatch(/^[a-z]/);
    expect(says.length, name).toBeGreaterThanOrEqual(2);
    for (const one of says) expect(one, name).toMatch(/^[a-z][a-z ,']{5,120}$/);
  }
  const all = known.flatMap(({ name, says }) => [name, ...says]);
  expect(new Set(all).size).toBe(all.length);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  likeliest,
  logProbabilitiesOf,
  logProbability,
  meanOf,
} from '../../../../src/hearing/decoder/log-probabilities.ts';

const scores = fc
  .array(fc.float({ min: -60, max: 60, noNaN: true }), { minLength: 2, maxLength: 50 })
  .map((list) => Float32Array.from(list));

test('the probabilities of all tokens are one', () => {
  fc.assert(
    fc.property(scores, (list) => {
      const said = logProbabilitiesOf(list);
      const sum = list.reduce(
        (total, _, token) => total + Math.exp(logProbability(said, token)),
        0,
      );
      expect(sum).toBeCloseTo(1, 4);
    }),
  );
});

test('the likeliest tokens are those that sorting would put first', () => {
  fc.assert(
    fc.property(scores, fc.integer({ min: 1, max: 6 }), (list, count) => {
      const found = likeliest(logProbabilitiesOf(list), count).map((token) => list[token]);
      const sorted = Array.from(list).sort((a, b) => b - a);
      expect(found).toEqual(sorted.slice(0, count));
    }),
  );
});

test('readings that agree leave a token as sure as it was, others make it less sure', () => {
  const sure = logProbabilitiesOf(Float32Array.of(4, 0, 0));
  const other = logProbabilitiesOf(Float32Array.of(0, 4, 0));
  expect(logProbability(meanOf([sure, sure, sure]), 0)).toBeCloseTo(logProbability(sure, 0));
  const mean = meanOf([sure, other]);
  expect(logProbability(mean, 0)).toBeCloseTo(logProbability(mean, 1));
  expect(logProbability(mean, 0)).toBeLessThan(Math.log(0.5));
});

test('a mean leaves the readings as they were', () => {
  const one = logProbabilitiesOf(Float32Array.of(1, 2));
  meanOf([one, logProbabilitiesOf(Float32Array.of(5, 6))]);
  expect(Array.from(one.scores)).toEqual([1, 2]);
});

import { expect, test } from 'vitest';
import {
  confidenceInPiece,
  confidenceOfWord,
} from '../../../../../src/speech-service/recognition/offline/confidence.ts';

test('a word is as sure as its least sure token', () => {
  expect(confidenceOfWord([-0.01, -1.5], [1, 1])).toBe(confidenceOfWord([-1.5], [1]));
  expect(confidenceOfWord([-0.01], [1])).toBeGreaterThan(confidenceOfWord([-0.1], [1]));
});

test('a word that other likely texts lack is less sure', () => {
  expect(confidenceOfWord([-0.1], [1, 0.4])).toBeLessThan(confidenceOfWord([-0.1], [1, 0.9]));
});

test('without other texts it is the probability itself, and it is always between 0 and 1', () => {
  expect(confidenceOfWord([Math.log(0.5)], [])).toBeCloseTo(0.5);
  for (const log of [0, -1e-9, -40, -Infinity])
    for (const share of [0, 1e-300, 0.5, 1]) {
      const sure = confidenceOfWord([log], [share]);
      expect(sure).toBeGreaterThanOrEqual(0);
      expect(sure).toBeLessThan(1);
    }
});

test('a word is less sure in a piece that was guessed, and where another reading lacks it', () => {
  const word = { alone: 0.9, agreed: undefined, mean: -0.05 };
  const sure = confidenceInPiece(word);
  expect(confidenceInPiece({ ...word, mean: -0.8 })).toBeLessThan(sure);
  expect(confidenceInPiece({ ...word, agreed: false })).toBeLessThan(sure);
  expect(confidenceInPiece({ ...word, agreed: true })).toBeGreaterThan(sure);
  for (const mean of [0, -1e-9, -50])
    for (const alone of [1e-4, 0.5, 0.99]) {
      const confidence = confidenceInPiece({ alone, agreed: false, mean });
      expect(confidence).toBeGreaterThan(0);
      expect(confidence).toBeLessThan(1);
    }
});

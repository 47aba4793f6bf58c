import { expect, test } from 'vitest';
import { confidenceInPiece, confidenceOfWord } from '../../../../src/hearing/offline/confidence.ts';

test('a word is as sure as its tokens are on average', () => {
  expect(confidenceOfWord([-0.2, -1.4], [1, 1])).toBeCloseTo(confidenceOfWord([-0.8], [1]), 9);
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

test('a word is less sure in a piece that was guessed, beside unsure words, and where another reading lacks it', () => {
  const word = { alone: 0.9, around: 0.9, agreed: undefined, mean: -0.05 };
  const sure = confidenceInPiece(word);
  expect(confidenceInPiece({ ...word, mean: -0.8 })).toBeLessThan(sure);
  expect(confidenceInPiece({ ...word, around: 0.2 })).toBeLessThan(sure);
  expect(confidenceInPiece({ ...word, agreed: false })).toBeLessThan(sure);
  expect(confidenceInPiece({ ...word, agreed: true })).toBeGreaterThan(sure);
  for (const mean of [0, -1e-9, -50])
    for (const alone of [0, 1e-4, 0.5, 0.99, 1]) {
      const confidence = confidenceInPiece({ alone, around: alone, agreed: false, mean });
      expect(confidence).toBeGreaterThan(0);
      expect(confidence).toBeLessThan(1);
    }
});

import { expect } from 'vitest';
import { normalisedWords, wordErrors } from './word-errors.ts';

/** A reading may differ from the truth in one word of five. */
export function expectNearly(heard: string, truth: string): void {
  const words = normalisedWords(truth);
  const errors = wordErrors(words, normalisedWords(heard));
  expect(errors, `"${heard}" for "${truth}"`).toBeLessThanOrEqual(Math.ceil(words.length * 0.2));
}

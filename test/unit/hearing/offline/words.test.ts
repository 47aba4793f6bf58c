import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PartialWords } from '../../../../src/hearing/offline/readings.ts';
import { estimateWordTimes, wordsFromTokens } from '../../../../src/hearing/offline/word-times.ts';

const options = { endOfAudioS: 3, longestTokenS: 0.3, agreedConfidence: 0.8 };

test('words are made of tokens, marks stay on the word before them', () => {
  const tokens = [' he', 'llo', ',', '▁wor', 'ld', '.'].map((text, index) => ({
    text,
    start: index * 0.1,
  }));
  const words = wordsFromTokens(tokens, options);
  expect(words.map(({ word }) => word)).toEqual(['hello,', 'world.']);
  expect(words[0]).toMatchObject({ start: 0, confidence: 0.8 });
  expect(words[1]!.start).toBeCloseTo(0.3);
  expect(words[1]!.end).toBeCloseTo(0.8);
});

test('a word is as sure as its tokens were', () => {
  const tokens = [' yes', ' n', 'o'].map((text, index) => ({
    text,
    start: index,
    logProbability: Math.log(0.5),
  }));
  expect(wordsFromTokens(tokens, options).map(({ confidence }) => confidence)).toEqual([
    expect.closeTo(0.5), expect.closeTo(0.5),
  ]); // prettier-ignore
});

test('words that were read from the same moment end after they begin', () => {
  const tokens = [' a', ' lot'].map((text) => ({ text, start: 2.99 }));
  const words = wordsFromTokens(tokens, { ...options, endOfAudioS: 2.9 });
  expect(words.every(({ start, end }) => end > start)).toBe(true);
});

test('signs of a language without spaces are words of their own', () => {
  const tokens = ['你', '好', '吗'].map((text, index) => ({ text, start: index }));
  expect(wordsFromTokens(tokens, options).map(({ word }) => word)).toEqual(['你', '好', '吗']);
});

test('the first partial is one word that two readings agree on, later ones are all that they agree on', () => {
  const partial = new PartialWords();
  expect(partial.update(['I', 'would', 'lie'], 0.5)).toBeUndefined();
  expect(partial.silent).toBe(true);
  expect(partial.update(['I', 'would'], 0.8)).toEqual(['I']);
  expect(partial.silent).toBe(false);
  expect(partial.update(['I', 'would', 'like', 'two'], 1.3)).toEqual(['I', 'would']);
  expect(partial.update(['I', 'would', 'like', 'to', 'speak'], 2)).toEqual(['I', 'would', 'like']);
});

test('one lone word is not shown before it is read twice', () => {
  const partial = new PartialWords();
  expect(partial.update(['The'], 0.6)).toBeUndefined();
  expect(partial.update(['Thank', 'you'], 1.1)).toBeUndefined();
  expect(partial.update(['Thank', 'you', 'for'], 1.6)).toEqual(['Thank']);
});

test('in little audio another reading must confirm the first word, and is asked for nothing else', () => {
  const partial = new PartialWords();
  let asked = 0;
  const again = (words: string[]) => () => {
    asked++;
    return words;
  };
  expect(partial.update(['Do', 'rese'], 0.4, { again: again([]) })).toBeUndefined();
  expect(asked).toBe(0);
  expect(partial.update(['Do', 'reset'], 0.7, { again: again(['To', 'reset']) })).toBeUndefined();
  expect(partial.update(['Do', 'reset'], 0.8, { again: again(['Do', 'reset']) })).toEqual(['Do']);
  expect(partial.update(['Do', 'reset', 'your'], 0.9, { again: again([]) })).toEqual([
    'Do',
    'reset',
  ]);
  expect(asked).toBe(2);
});

test('a word that the model is sure of is shown at once, later ones when two more follow', () => {
  const partial = new PartialWords();
  const again = () => expect.unreachable('nothing is read twice for a sure word');
  expect(partial.update(['Please'], 0.4, { again, sure: 1 })).toBeUndefined();
  expect(partial.update(['Please', 'ent'], 0.7, { again, sure: 1 })).toEqual(['Please']);
  const words = ['Please', 'enter', 'your', 'pin'];
  expect(partial.update(words, 1.2, { sure: 4 })).toEqual(['Please', 'enter']);
});

test('readings of the growing audio bound when a word was said', () => {
  const partial = new PartialWords();
  partial.note(['my', 'card'], 1);
  partial.note(['my', 'card', 'was'], 1.5);
  expect(partial.bounds(['My', 'card', 'was', 'stolen'])).toEqual([
    { saidBy: 1 },
    { saidBy: 1 },
    { saidBy: 1.5, notBefore: 1 },
    { notBefore: 1.5 },
  ]);
});

/** Bursts of a hum with quiet between them, at 16 kHz. */
function bursts(spans: [number, number][], lengthS: number): Float32Array {
  return Float32Array.from({ length: lengthS * 16000 }, (_, i) => {
    const at = i / 16000;
    return spans.some(([from, to]) => at >= from && at < to)
      ? 0.3 * Math.sin(i / 10)
      : 0.0005 * Math.sin(i);
  });
}

test('estimated words lie where the sound is', () => {
  const spans: [number, number][] = [[0.1, 0.5], [0.7, 1.1], [1.5, 1.9]]; // prettier-ignore
  const words = estimateWordTimes(['hello', 'hello', 'hello'], bursts(spans, 2), 16000);
  for (const [index, [start, end]] of spans.entries()) {
    expect(Math.abs(words[index]!.start - start)).toBeLessThan(0.1);
    expect(Math.abs(words[index]!.end - end)).toBeLessThan(0.1);
  }
});

test('estimated times grow, stay inside the audio and are there for every word', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[A-Za-z]{1,9}[.,]?$/), { maxLength: 12 }),
      fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 60 }),
      (words, shape) => {
        const samples = Float32Array.from(
          { length: 400 * shape.length },
          (_, i) => shape[Math.floor(i / 400)]!,
        );
        const spans = estimateWordTimes(words, samples, 16000);
        expect(spans).toHaveLength(words.length);
        let last = 0;
        for (const { start, end } of spans) {
          expect(start).toBeGreaterThanOrEqual(last - 1e-9);
          expect(end).toBeGreaterThan(start - 1e-9);
          expect(end).toBeLessThanOrEqual(samples.length / 16000 + 0.021);
          last = end;
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('a number that is written without its space is a word of its own; one that belongs to a name is not', () => {
  const written = [
    ' Press',
    '4',
    ',',
    ' or',
    '6',
    ' for',
    ' an',
    ' MP',
    '3',
    ' of',
    ' 28',
    '.',
    '8',
  ];
  const tokens = written.map((text, index) => ({ text, start: index / 5 }));
  const words = wordsFromTokens(tokens, {
    endOfAudioS: 4,
    longestTokenS: 0.3,
    agreedConfidence: 1,
  });
  expect(words.map(({ word }) => word).join(' ')).toBe('Press 4, or 6 for an MP3 of 28.8');
});

test('a word that nothing follows is shown in a pause only, and then at once if it is sure', () => {
  const speaking = new PartialWords();
  expect(speaking.update(['goodbye.'], 0.8, { sure: 1 })).toBeUndefined();
  const paused = new PartialWords();
  expect(paused.update(['goodbye.'], 0.8, { sure: 0, paused: true })).toBeUndefined();
  expect(paused.update(['goodbye.'], 0.9, { sure: 1, paused: true })).toEqual(['goodbye.']);
  const going = new PartialWords();
  expect(going.update(['thank', 'you'], 1, { sure: 1 })).toEqual(['thank']);
  expect(going.update(['thank', 'you', 'goodbye.'], 2, { sure: 3, paused: true })).toEqual([
    'thank',
    'you',
    'goodbye.',
  ]);
});

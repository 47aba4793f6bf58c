import { expect, test } from 'vitest';
import { sentimentExamples } from '../../../src/language/data/sentiment-examples.ts';
import { performTask } from '../../../src/language/perform.ts';
import { lines, type SentimentLine } from '../../support/language/language-scores.ts';
import { courseOf } from '../../../src/language/sentiment/course.ts';
import { scoreSentiment } from '../../../src/language/sentiment/score.ts';
import { Emotion } from '../../../src/protocol/addons.ts';
import { sentimentLexicon } from '../../../src/language/data/sentiment-lexicon.ts';

test.each([
  ["I'm not happy with this", 'negative'],
  ["It isn't bad at all, actually", 'positive'],
  ['The driver was lovely, but the parcel was a complete mess', 'mixed'],
  ['With all due respect, that is a ridiculous answer', 'negative'],
  ['How many more times do I have to explain this?', 'negative'],
  ['The heater stops after an hour', 'neutral'],
  ['How do I reset my password?', 'neutral'],
  ["I'm so sorry to hear that, I understand how frustrating it is", 'neutral'],
  ['Thank you for holding, I am happy to help', 'neutral'],
  ['okay thank you', 'neutral'],
  ['oh great another week without internet', 'negative'],
  ["you've been so helpful thank you so much", 'positive'],
  ['Мы ждали два часа', 'unknown'],
  ['', 'unknown'],
])('"%s" is %s', (text, label) => {
  expect(scoreSentiment(text).label).toBe(label);
});

test('an emotion stands beside every label', () => {
  expect(scoreSentiment("I'm furious").emotion).toBe('anger');
  expect(scoreSentiment('what a relief').emotion).toBe('relief');
  expect(scoreSentiment('My card was stolen on Monday').emotion).toBe('neutral');
});

test('every line of the lexicon has a value, an emotion and a reason', () => {
  for (const line of sentimentLexicon.trim().split('\n')) {
    const parts = line.split('|').map((part) => part.trim());
    expect(parts).toHaveLength(4);
    expect(Number(parts[1])).not.toBeNaN();
    expect(Emotion.options).toContain(parts[2]);
    expect(parts[3]?.length).toBeGreaterThan(5);
  }
});

test('a caller who is won over shows a course that rises', () => {
  const [customer] = courseOf(
    [
      "I'm furious about this",
      'This is a disgrace',
      'Okay, I see',
      "Wonderful, you've been so helpful",
    ].map((text, i) => ({ role: 'customer', text, start: i, end: i + 1 })),
  );
  expect(customer?.course[0]).toBeLessThan(0);
  expect(customer?.course[3]).toBeGreaterThan(0);
  expect(customer?.overall).toBe('mixed');
});

test('no line that is only scored stands among the examples', () => {
  const examples = new Set(
    sentimentExamples
      .toLowerCase()
      .split('\n')
      .map((line) => line.slice(2)),
  );
  const both = lines<SentimentLine>('sentiment-held').filter((line) =>
    examples.has(line.text.toLowerCase()),
  );
  expect(both).toEqual([]);
});

test('another language gets what its form shows, and the label for what is not known', () => {
  const text = 'Je suis furieux, écrivez à marie@example.fr, la facture de €40 du 12/05/2024.';
  const utterance = {
    start: 0,
    end: 5,
    confidence: 1,
    channel: 0,
    words: [],
    language: 'fr',
    text,
  };
  expect(performTask('sentiment', { utterance }).results).toMatchObject([{ sentiment: 'unknown' }]);
  expect(
    performTask('entities', { utterance }).results?.map((entity) => entity.entity_type),
  ).toEqual(['EMAIL_ADDRESS', 'MONEY', 'DATE']);
});

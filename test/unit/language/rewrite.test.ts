import { describe, expect, test } from 'vitest';
import { rewriteUtterance } from '../../../src/language/rewrite/rewrite.ts';
import type { RewriteSettings } from '../../../src/language/rewrite/rewrite.ts';
import type { VocabularyItem } from '../../../src/language/rewrite/vocabulary.ts';
import type { Utterance } from '../../../src/protocol/addons.ts';
import {
  lines,
  type EntityLine,
  type SentimentLine,
} from '../../support/language/language-scores.ts';

function said(text: string, confidence = 0.9): Utterance {
  const words = text
    .split(' ')
    .map((word, i) => ({ word: ` ${word}`, start: i, end: i + 0.8, confidence }));
  return {
    start: 0,
    end: words.length,
    confidence,
    channel: 0,
    language: 'en',
    text: ` ${text}`,
    words,
  };
}
const rewrite = (text: string, settings: RewriteSettings, confidence?: number): Utterance =>
  rewriteUtterance(said(text, confidence), settings);
const spelling = (dictionary: Record<string, string[]>): RewriteSettings => ({
  custom_spelling: true,
  custom_spelling_config: { spelling_dictionary: dictionary },
});
const vocabulary = (...items: VocabularyItem[]): RewriteSettings => ({
  custom_vocabulary: true,
  custom_vocabulary_config: { vocabulary: items },
});

describe('custom spelling', () => {
  test('replaces whole words whatever their case and keeps the case of the key', () => {
    const { text } = rewrite('the Colour of colourful things', spelling({ color: ['colour'] }));
    expect(text).toBe(' the color of colourful things');
  });

  test('takes several words on both sides, and words stay in step with the text', () => {
    const { text, words } = rewrite(
      'ask north gate about it',
      spelling({ 'Northgate Bank': ['north gate'] }),
    );
    expect(text).toBe(' ask Northgate Bank about it');
    expect(words.map((word) => word.word).join('')).toBe(text);
    expect(words[1]).toMatchObject({ word: ' Northgate', start: 1 });
    expect(words.at(-1)).toMatchObject({ word: ' it', start: 4, end: 4.8 });
  });

  test('marks in a key or value are only marks', () => {
    expect(
      rewrite('use c plus plus', spelling({ 'C++': ['c plus plus'], '$&': ['x.*'] })).text,
    ).toBe(' use C++');
  });
});

describe('custom vocabulary', () => {
  test.each([
    ['we use trunk line every day', 'Trunkline', ' we use Trunkline every day'],
    ['i bank with northgate bank', 'Northgate Bank', ' i bank with Northgate Bank'],
    ['the zylotek is broken', 'Xylotek', ' the Xylotek is broken'],
    ['we run sales forse', 'Salesforce', ' we run Salesforce'],
  ])('"%s" with %s', (text, term, wanted) => {
    expect(rewrite(text, vocabulary(term)).text).toBe(wanted);
  });

  test('a pronunciation that the caller gives is taken', () => {
    const term = { value: 'Kubernetes', pronunciations: ['cooper netties'] };
    expect(rewrite('it runs on cooper netties', vocabulary(term)).text).toBe(
      ' it runs on Kubernetes',
    );
  });

  test('intensity 0 takes only what is spelled the same', () => {
    const term = { value: 'Trunkline', intensity: 0 };
    expect(rewrite('a trunkline and a tronkline', vocabulary(term)).text).toBe(
      ' a Trunkline and a tronkline',
    );
  });

  test('a term of another language is left alone', () => {
    expect(rewrite('the trunk line', vocabulary({ value: 'Trunkline', language: 'fr' })).text).toBe(
      ' the trunk line',
    );
  });

  test(
    'text without the terms is left as it is, but for one line in a hundred',
    { timeout: 60_000 },
    () => {
      const terms = [
        'Trunkline',
        'Zendesk',
        'Kubernetes',
        'Salesforce',
        'Xylotek',
        'Omnisphere',
        'Vantrix',
        'Quorvane',
        'Bellweather',
        'Nimbix',
      ];
      const all = [
        ...lines<EntityLine>('entities-dev'),
        ...lines<EntityLine>('entities-held'),
        ...lines<SentimentLine>('sentiment-dev'),
        ...lines<SentimentLine>('sentiment-held'),
      ].map((line) => line.text.replace(/\s+/g, ' ').trim());
      const changed = all.filter((text) => rewrite(text, vocabulary(...terms)).text !== ` ${text}`);
      expect(changed.length / all.length).toBeLessThanOrEqual(0.01);
    },
  );
});

describe('punctuation', () => {
  test('gives sentences, capitals and question marks to a text that has none', () => {
    const text = 'hello my name is laura bennett and i live in leeds can you help me with my bill';
    expect(rewrite(text, { punctuation_enhanced: true }).text).toBe(
      ' Hello my name is Laura Bennett and I live in Leeds. Can you help me with my bill?',
    );
  });

  test('leaves a text with marks as it is', () => {
    expect(rewrite('That is it. thanks', { punctuation_enhanced: true }).text).toBe(
      ' That is it. thanks',
    );
  });
});

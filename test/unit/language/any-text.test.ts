import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { performTask } from '../../../src/language/perform.ts';
import { findEntities } from '../../../src/language/entities/find-entities.ts';
import type { Utterance } from '../../../src/protocol/addons.ts';

const utterance = (text: string): Utterance => ({
  start: 0,
  end: 4,
  confidence: 1,
  channel: 0,
  words: [],
  language: 'en',
  text,
});

/** Every task on one text: no throw, no error block, spans that are really there. */
function tryAll(text: string): void {
  let end = 0;
  for (const span of findEntities(text)) {
    expect(text.slice(span.start, span.end)).toBe(span.text);
    expect(span.start).toBeGreaterThanOrEqual(end);
    end = span.end;
  }
  const turns = [{ role: 'agent', text, start: 0, end: 1 }];
  const blocks = [
    performTask('entities', { utterance: utterance(text) }),
    performTask('sentiment', { utterance: utterance(text) }),
    performTask('summarization', { utterances: [utterance(text)], type: 'bullet_points' }),
    performTask('chapterization', { utterances: [utterance(text)] }),
    performTask('call', { turns, summaryType: 'concise', language: 'en' }),
    performTask('written', { texts: [text], context: { language: 'en', callingCode: '1' } }),
    performTask('redact', { text, entityTypes: [], form: 'MARKER', mayHold: true }),
    performTask('redact', { text, entityTypes: ['PCI'], form: 'MASK', partial: true }),
  ];
  for (const block of blocks) expect(block.error).toBeNull();
  const realtime = {
    punctuation_enhanced: true,
    custom_vocabulary: true,
    custom_vocabulary_config: {
      vocabulary: ['Trunkline', { value: 'Xylotek', pronunciations: ['zy lo tek'] }],
    },
    custom_spelling: true,
    custom_spelling_config: { spelling_dictionary: { color: ['colour'], '.*': ['['] } },
  };
  expect(performTask('rewrite', { utterance: utterance(text), realtime }).text).toEqual(
    expect.any(String),
  );
}

const spoken = fc.constantFrom(
  ...'um at dot double four oh hundred thousand and my name is laura may card is ends $ £ # @ . , ! ? - + : / % \u0000 \u200f 😀 שלום street lane st. dr mr. inc 5 12 1999 4111 pm a.m. to the between'.split(
    ' ',
  ),
);

// Much work on purpose: the deadline is for a busy machine.
describe('any text is answered', { timeout: 120_000 }, () => {
  test('of random characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (text) => tryAll(text)),
      { numRuns: 30 },
    );
  });

  test('of the words that the rules look for, in any order', () => {
    fc.assert(
      fc.property(fc.array(spoken, { maxLength: 40 }), fc.constantFrom(' ', ''), (words, glue) =>
        tryAll(words.join(glue)),
      ),
      { numRuns: 60 },
    );
  });

  test.each([
    'constructor',
    '__proto__ toString',
    '\ud83d',
    'a\u0301'.repeat(50),
    '   ',
    '\n\n',
    '...',
  ])('%j', (text) => {
    tryAll(text);
  });

  test.each(['x', '4'])(
    'a megabyte of %j takes time by its length, not by the square of it',
    (piece) => {
      const cpuMsOf = (length: number): number => {
        const before = process.cpuUsage();
        tryAll(piece.repeat(length));
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1_000;
      };
      cpuMsOf(100_000); // the first time is also the compiler's
      // Ten times as long by its length, a hundred times by the square.
      expect(cpuMsOf(1_000_000) / cpuMsOf(100_000)).toBeLessThan(40);
    },
  );
});

test('the same text gets the same answer', () => {
  const text = 'Hi, this is Laura, I paid $40 on May 3rd and I am furious.';
  const once = JSON.stringify([
    findEntities(text),
    performTask('sentiment', { utterance: utterance(text) }).results,
  ]);
  for (let i = 0; i < 5; i++)
    expect(
      JSON.stringify([
        findEntities(text),
        performTask('sentiment', { utterance: utterance(text) }).results,
      ]),
    ).toBe(once);
});

test('time comes from the words, with or without the space before them', () => {
  const words = [' I', ' paid', ' $40', ' on', ' May', ' 3rd.'].map((word, i) => ({
    word,
    start: i,
    end: i + 0.5,
    confidence: 1,
  }));
  const { results } = performTask('entities', {
    utterance: { ...utterance(' I paid $40 on May 3rd.'), words, end: 6 },
  });
  expect(results).toEqual([
    { entity_type: 'MONEY', text: '$40', start: 2, end: 2.5 },
    { entity_type: 'DATE', text: 'May 3rd', start: 4, end: 5.5 },
  ]);
});

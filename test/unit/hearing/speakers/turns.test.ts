import { describe, expect, test } from 'vitest';
import {
  turnsOf,
  withSpeakers,
  withSpeakersOf,
} from '../../../../src/hearing/speakers/speaker-turns.ts';
import { spoken } from '../../../support/speech/job-results.ts';

const turn = (start: number, end: number, voice: number) => ({ start, end, voice });

test('windows of one voice that touch are one turn', () => {
  const windows = [turn(0, 1, 0), turn(1, 1.4, 0), turn(1.4, 2, 1), turn(3, 4, 1)];
  expect(turnsOf(windows)).toEqual([turn(0, 1.4, 0), turn(1.4, 2, 1), turn(3, 4, 1)]);
});

describe('utterances', () => {
  test('are cut where the speaker changes, and their words, texts and times go with the pieces', () => {
    // Words begin each half second and are 0.4 s long.
    const said = spoken('How can I help? My card is lost.', 10);
    const pieces = withSpeakers([said], [turn(9.9, 11.9, 1), turn(11.9, 14.5, 0)]);
    expect(pieces).toMatchObject([
      { text: 'How can I help?', speaker: 1, start: 10, end: 11.9 },
      { text: 'My card is lost.', speaker: 0, start: 12, end: said.end },
    ]);
    for (const { words, text } of pieces) expect(words.map(({ word }) => word).join('')).toBe(text);
    expect(pieces.flatMap(({ words }) => words)).toHaveLength(said.words.length);
  });

  test('have the voice of most of each word; one between two turns has that of the nearer', () => {
    const said = spoken('one two three four', 0);
    const pieces = withSpeakers([said], [turn(0, 0.75, 0), turn(0.75, 0.95, 1), turn(1.6, 2, 0)]);
    expect(pieces.map(({ text, speaker }) => [text, speaker])).toEqual([
      ['one two', 0],
      ['three', 1],
      ['four', 0],
    ]);
  });

  test('are cut at the end of a sentence, or at the longer pause, when it is two words from the change', () => {
    const cutsOf = (text: string, changeAt: number, moved?: { word: number; byS: number }) => {
      const said = spoken(text, 0);
      for (const [at, word] of said.words.entries())
        if (moved && at >= moved.word) {
          word.start += moved.byS;
          word.end += moved.byS;
        }
      return withSpeakers([said], [turn(0, changeAt, 0), turn(changeAt, 60, 1)]).map(
        ({ text: own, speaker }) => [own, speaker],
      );
    };
    // Words begin each half second: the voice changes before "it.".
    const early = 'three days to find it. And what then?';
    expect(cutsOf(early, 2)).toEqual([['three days to find it.', 0], ['And what then?', 1]]); // prettier-ignore
    expect(cutsOf('no. We were at work all day', 1.5)).toEqual([['no. We were', 0], ['at work all day', 1]]); // prettier-ignore
    const paused = 'no we were at work all day';
    expect(cutsOf(paused, 1.5)).toEqual([
      ['no we were', 0],
      ['at work all day', 1],
    ]);
    expect(cutsOf(paused, 1.5, { word: 2, byS: 0.2 })).toEqual([['no we', 0], ['were at work all day', 1]]); // prettier-ignore
    // Further away than the change can be, and after a title.
    expect(cutsOf(paused, 1.5, { word: 1, byS: 2 })).toEqual([['no', 0], ['we were at work all day', 1]]); // prettier-ignore
    expect(cutsOf('I am here Mr. Smith yes I am', 2.5)).toEqual([['I am here Mr. Smith', 0], ['yes I am', 1]]); // prettier-ignore
    expect(cutsOf('do I have to pay?" Yes of course', 2)).toEqual([['do I have to pay?"', 0], ['Yes of course', 1]]); // prettier-ignore
  });

  test.each([
    ['I left. He saw yeah me there. Then home', 4, 1],
    ['so we went home right and then. We ate', 4, 1],
    ['so we went. Home I see and then we. Ate', 4, 2],
  ])('keep a word or two of somebody else in between: %s', (text, from, count) => {
    const said = spoken(text, 0);
    const turns = [turn(0, from / 2, 0), turn(from / 2, (from + count) / 2, 1), turn((from + count) / 2, 9, 0)]; // prettier-ignore
    const words = text.split(' ');
    expect(withSpeakers([said], turns).map(({ text: own }) => own)).toEqual(
      [words.slice(0, from), words.slice(from, from + count), words.slice(from + count)].map((own) => own.join(' ')), // prettier-ignore
    );
  });

  test('of one voice stay whole', () => {
    const said = [spoken('Hello there.', 0), spoken('Yes.', 5)];
    const whole = withSpeakers(said, [turn(0, 6, 3)]);
    expect(whole).toEqual(said.map((utterance) => ({ ...utterance, speaker: 3 })));
  });

  test('whose text is not their words are not divided', () => {
    const said = { ...spoken('one two three', 0), text: 'eins zwei drei' };
    expect(withSpeakers([said], [turn(0, 0.6, 0), turn(0.6, 2, 1)])).toEqual([
      { ...said, speaker: 1 },
    ]);
    const wordless = { ...said, words: [] };
    expect(withSpeakers([wordless], [turn(0, 1, 0), turn(1, 1.2, 1)])).toMatchObject([
      { speaker: 0 },
    ]);
  });

  test('in which no voice was heard have one speaker', () => {
    expect(withSpeakers([spoken('one two', 0)], [])).toMatchObject([{ speaker: 0 }]);
  });

  test('of several channels share no speaker', () => {
    const said = [spoken('one', 0), spoken('two', 1, { channel: 3 }), spoken('three', 2)];
    const found = withSpeakersOf([0, 3], [[turn(0, 3, 0)], [turn(0, 3, 0)]], said);
    const [first, second, other] = found.toSorted((a, b) => a.start - b.start);
    expect(first?.speaker).not.toBe(second?.speaker);
    expect(other?.speaker).toBe(first?.speaker);
    expect(found).toHaveLength(3);
  });
});

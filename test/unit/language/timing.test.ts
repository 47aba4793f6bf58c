import { expect, test } from 'vitest';
import { surroundingsIn, timelineOf } from '../../../src/language/timing.ts';

const word = (text: string, start: number, end: number) => ({
  word: text,
  start,
  end,
  confidence: 0.9,
});
const utterance = {
  text: 'It is four one nine, thanks.',
  start: 10,
  end: 16,
  language: 'en',
  confidence: 0.9,
  channel: 0,
  words: [
    word('It', 10.2, 10.4),
    word('is', 10.5, 10.7),
    word('four', 11.5, 11.8),
    word('one', 12, 12.2),
    word('nine,', 12.9, 13.2),
    word('thanks.', 14.6, 15.1),
  ],
};
const spanOf = (text: string): [number, number] => {
  const start = utterance.text.indexOf(text);
  return [start, start + text.length];
};

test('a span with its surroundings ends at the words beside it, so what was not recognised there is in it', () => {
  const around = surroundingsIn(utterance);
  expect(timelineOf(utterance)(...spanOf('four one nine'))).toEqual({ start: 11.5, end: 13.2 });
  expect(around(...spanOf('four one nine'))).toEqual({ start: 10.7, end: 14.6 });
  expect(around(...spanOf('one'))).toEqual({ start: 11.8, end: 12.9 });
});

test('at its edges an utterance ends the span, and without words the letters are spread over its time', () => {
  const around = surroundingsIn(utterance);
  expect(around(...spanOf('It is'))).toEqual({ start: 10, end: 11.5 });
  expect(around(...spanOf('thanks.'))).toEqual({ start: 13.2, end: 16 });
  expect(surroundingsIn({ ...utterance, words: [] })(0, 5)).toEqual({ start: 10, end: 16 });
});

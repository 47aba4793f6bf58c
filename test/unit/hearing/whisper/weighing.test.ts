import { expect, test } from 'vitest';
import { reconciled } from '../../../../src/hearing/whisper/reconcile.ts';

const said = (text: string, unit = 0, from = 0, confidence = 0.97) =>
  (text === '' ? [] : text.split(' ')).map((word, index) => ({
    word,
    start: from + index * 0.5,
    end: from + index * 0.5 + 0.4,
    confidence,
    unit,
  }));
const textOf = (words: readonly { word: string }[]) => words.map(({ word }) => word).join(' ');

/** Readers to whom every text costs as many nats as these words of it are given. */
function readersOf(prices: {
  first?: Record<string, number>;
  second?: Record<string, number>;
  units?: { from: number; to: number }[];
}) {
  const asked: { first: unknown[]; second: unknown[] } = { first: [], second: [] };
  const priced =
    (words: Record<string, number> = {}) =>
    (text: string) =>
      -text.split(' ').reduce((sum, word) => sum + (words[word] ?? 0), 0);
  return {
    asked,
    readers: {
      units: prices.units ?? [{ from: 0, to: 5 }],
      first: (stretch: { from: number; to: number }, texts: readonly string[]) => {
        asked.first.push({ ...stretch, texts });
        return texts.map(priced(prices.first));
      },
      second: (texts: readonly string[]) => {
        asked.second.push(texts);
        return texts.map(priced(prices.second));
      },
    },
  };
}

test('if the readers disagree, the one that would not have said the other’s words is right', () => {
  const first = said('send this caller away');
  const second = said('Send this color away.');
  const sureFirst = readersOf({ first: { color: 12 }, second: { caller: 2 } });
  expect(textOf(reconciled(first, second, sureFirst))).toBe('Send this caller away.');
  expect(sureFirst.asked.second).toEqual([['Send this color away.', 'Send this caller away.']]);
  expect(sureFirst.asked.first).toEqual([
    { from: 0, to: 5, texts: ['send this caller away', 'send this color away'] },
  ]);
  const sureSecond = readersOf({ first: { color: 12 }, second: { caller: 9 } });
  expect(textOf(reconciled(first, second, sureSecond))).toBe('Send this color away.');
  expect(textOf(reconciled(first, second))).toBe('Send this color away.');
});

test('a name that the first reader cannot write weighs no more than other words', () => {
  const first = said('an open source pdf');
  const second = said('An open source PBX.');
  const unspelled = readersOf({ first: { 'PBX.': 60 }, second: { pdf: 4 } });
  expect(textOf(reconciled(first, second, unspelled))).toBe('An open source PBX.');
});

test('words of which the first reader is not sure are none against the second’s', () => {
  const first = said('send this caller away', 0, 0, 0.9);
  const asked = readersOf({ first: { color: 12 }, second: { caller: 2 } });
  expect(textOf(reconciled(first, said('Send this color away.'), asked))).toBe(
    'Send this color away.',
  );
  expect(asked.asked.second).toEqual([]);
});

test('words of one reader alone are weighed, too', () => {
  const first = said('dial one if you wish');
  const second = said('one if you wish', 0, 0.5);
  const heard = readersOf({ second: { dial: 2 }, first: { one: 0 } });
  expect(textOf(reconciled(first, second, heard))).toBe('one if you wish');
  const missed = readersOf({ second: { dial: -2 } });
  expect(textOf(reconciled(first, second, missed))).toBe('dial one if you wish');
});

test('a run that the second reader passed over goes where the first would rather not have said it', () => {
  const first = said('please hold the line while I look for you');
  const second = [...said('Please hold'), ...said('for you.', 0, 3.5)];
  const price = { second: { the: 9, line: 9, while: 9 } };
  const whole = 'Please hold the line while I look for you.';
  expect(textOf(reconciled(first, second, readersOf(price)))).toBe(whole);
  const repeated = readersOf({ ...price, first: { the: 3, line: 3 } });
  expect(textOf(reconciled(first, second, repeated))).toBe('Please hold for you.');
});

test('figures are not weighed, and neither is what a reader cannot write', () => {
  const figures = readersOf({ first: { 500: 40 } });
  expect(textOf(reconciled(said('dial hundred'), said('Dial 500'), figures))).toBe('Dial 500');
  expect(figures.asked.second).toEqual([]);
  const { readers } = readersOf({ first: { color: 40 } });
  for (const mute of [
    { ...readers, first: () => undefined },
    { ...readers, second: () => undefined },
    { ...readers, second: (texts: readonly string[]) => texts.map(() => -Infinity) },
  ])
    expect(textOf(reconciled(said('a caller'), said('A color'), { readers: mute }))).toBe(
      'A color',
    );
});

test('the first reader hears the surroundings of the words of a long unit', () => {
  const text = Array.from({ length: 40 }, (_, index) => `w${'x'.repeat(index)}y`);
  const first = said(text.join(' '));
  const second = said(text.join(' ').replace(' wxxxxxxxxxxxxxxxxxxxxy ', ' other '));
  const { asked, readers } = readersOf({ units: [{ from: 0, to: 20 }] });
  reconciled(first, second, { readers });
  const [{ from, to }] = asked.first as [{ from: number; to: number }];
  expect(from).toBeCloseTo(6.5);
  expect(to).toBeCloseTo(13.5);
});

test('no more disputes are weighed than are read side by side with the second reader’s own text', () => {
  const texts = (word: string) =>
    Array.from({ length: 20 }, (_, index) => `the ${word}${String.fromCharCode(97 + index)}`).join(
      ' ',
    );
  const { asked, readers } = readersOf({ units: [{ from: 0, to: 20 }] });
  reconciled(said(texts('color')), said(texts('caller')), { readers });
  expect(asked.second).toHaveLength(1);
  expect(asked.second[0]).toHaveLength(8);
  expect(asked.first).toHaveLength(7);
});

test('words of two units of speech are not weighed as if they were one', () => {
  const first = [...said('you get a text'), ...said('you get a call', 1, 6)];
  const second = [...said('You get'), ...said('a call.', 1, 7)];
  const unlikely = readersOf({
    first: { text: 20 },
    units: [
      { from: 0, to: 3 },
      { from: 6, to: 9 },
    ],
  });
  expect(textOf(reconciled(first, second, unlikely))).toBe('You get a text you get a call.');
  expect(unlikely.asked.first).toEqual([]);
});

import { expect, test } from 'vitest';
import { wordlessIn, VoicedStretches } from '../../../../src/hearing/offline/wordless.ts';

const rate = 16_000;
const piece = { from: 0, to: 6 * rate };
const said = (word: string, start: number) => ({ word, start, end: start + 0.3, confidence: 1 });

function voicedFrom(...spans: [fromS: number, toS: number][]): VoicedStretches {
  const voiced = new VoicedStretches();
  for (const [from, to] of spans) voiced.add(from * rate, to * rate);
  return voiced;
}

test('speech between two words that nothing accounts for is wordless', () => {
  const words = [said('Thanks,', 0.2), said('bye.', 4)];
  const [hole, ...more] = wordlessIn(words, piece, voicedFrom([0, 3.9], [4, 4.5]));
  expect(more).toEqual([]);
  expect(hole).toMatchObject({ after: 1, to: 4 * rate });
  expect(hole!.from / rate).toBeGreaterThan(0.5);
});

test('a pause between two words, a long word and an address are not', () => {
  const pause = [said('Thanks,', 0.2), said('bye.', 4)];
  expect(wordlessIn(pause, piece, voicedFrom([0, 0.8], [4, 4.5]))).toEqual([]);
  const long = [said('responsibilities', 0.2), said('are', 1.6)];
  expect(wordlessIn(long, { from: 0, to: 2 * rate }, voicedFrom([0, 2]))).toEqual([]);
  const address = [said('www.asterisk.org.', 0.2), said('Bye.', 3.9)];
  expect(wordlessIn(address, { from: 0, to: 4.4 * rate }, voicedFrom([0, 4.4]))).toEqual([]);
});

test('a number and letters are spoken with more than they are written with', () => {
  const wordlessBehind = (word: string, lastsS: number) =>
    wordlessIn([said(word, 0), said('and', lastsS)], piece, voicedFrom([0, lastsS + 0.3]));
  // "three hundred and forty two", and with dollars and cents
  expect(wordlessBehind('342', 1.8)).toEqual([]);
  expect(wordlessBehind('$342.16.', 3.1)).toEqual([]);
  expect(wordlessBehind('IAX', 1.2)).toEqual([]);
  expect(wordlessBehind('S-M-Y-T-H-E', 3)).toEqual([]);
  // Nobody takes so long for one of these.
  expect(wordlessBehind('342', 3)).toHaveLength(1);
  expect(wordlessBehind('two', 1.2)).toHaveLength(1);
  expect(wordlessBehind('re-enter', 2)).toHaveLength(1);
  expect(wordlessBehind('pré-école', 2)).toHaveLength(1);
  expect(wordlessBehind('HELLO', 1.5)).toHaveLength(1);
});

test('a number that is read from a card slowly lasts until its last digit is over', () => {
  const slow = { ...said('7,2,9,9.', 0), lastSignS: 3.2 };
  expect(wordlessIn([slow], { from: 0, to: 3.7 * rate }, voicedFrom([0, 3.7]))).toEqual([]);
  // Speech for longer than a digit takes was left out.
  expect(wordlessIn([slow], { from: 0, to: 5 * rate }, voicedFrom([0, 5]))).toHaveLength(1);
  // A word's last sign says nothing of its end: the model may have gone on in the wrong place.
  const word = { ...said('two', 0), lastSignS: 1 };
  expect(wordlessIn([word], { from: 0, to: 1.4 * rate }, voicedFrom([0, 1.4]))).toHaveLength(1);
});

test('a piece without a word is wordless as a whole, if there was more than a breath', () => {
  expect(wordlessIn([], piece, voicedFrom([1, 2]))).toEqual([{ from: 0, to: 6 * rate, after: 0 }]);
  expect(wordlessIn([], piece, voicedFrom([1, 1.2]))).toEqual([]);
});

test('stretches that touch are one, and what lies before a position is forgotten', () => {
  const voiced = voicedFrom([0, 1], [1, 2], [3, 4]);
  expect(voiced.within(0.5 * rate, 3.5 * rate)).toBe(2 * rate);
  voiced.dropBefore(3 * rate);
  expect(voiced.within(0, 6 * rate)).toBe(rate);
});

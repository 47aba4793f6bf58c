import { expect, test } from 'vitest';
import {
  mostWindowS,
  SpeechWindow,
  unitsOf,
} from '../../../../src/hearing/whisper/reading-windows.ts';

const rate = 16_000;
const unit = (from: number, to: number) => ({ from: from * rate, to: to * rate, words: [] });

test('a window holds its speech with a little around it, and of long pauses no more than that', () => {
  const window = new SpeechWindow([unit(10, 12), unit(12.5, 13), unit(20, 21)], 0, 60 * rate);
  // 9.7 to 13.3 in one piece, then 19.7 to 21.3
  expect(window.seconds).toBeCloseTo(3.6 + 1.6, 5);
  const stream = Float32Array.from({ length: 30 * rate }, (_, at) => at);
  const audio = window.audio((from, to) => stream.subarray(from, to));
  expect(audio).toHaveLength(Math.round(5.2 * rate));
  for (const second of [0, 1, 3.5, 3.7, 5.1]) {
    const heard = audio[Math.round(second * rate)] ?? NaN;
    expect(window.inStream(second) * rate).toBeCloseTo(heard, 0);
  }
  expect(window.inStream(99), 'times behind the end are its end').toBeCloseTo(21.3, 3);
  expect([9, 12.2, 12.4, 19, 40].map((second) => window.unitAt(second))).toEqual([0, 0, 1, 2, 2]);
});

test('nothing of a window belongs to another one', () => {
  const window = new SpeechWindow([unit(10, 12)], 9.9 * rate, 12.1 * rate);
  expect(window.seconds).toBeCloseTo(2.2, 5);
});

/** Words of 0.3 s, with a pause of 0.1 s, or of 0.6 s behind some of them. */
function wordsWith(longPauses: readonly number[], count: number) {
  let start = 0;
  return Array.from({ length: count }, (_, index) => {
    const word = { word: `w${index}`, start, end: start + 0.3, confidence: 1 };
    start = word.end + (longPauses.includes(index) ? 0.6 : 0.1);
    return word;
  });
}

test('an utterance longer than a window is cut in its widest pause, and no word is lost or twice', () => {
  const words = wordsWith([10, 45, 48, 90], 150);
  const end = words.at(-1)!.end;
  const units = unitsOf({ from: 0, to: end * rate }, words);
  expect(units.length).toBeGreaterThan(2);
  expect(units[0]!.words.at(-1)?.word).toBe('w45');
  expect(units.flatMap((one) => one.words)).toEqual(words);
  for (const [index, { from, to }] of units.entries()) {
    expect(new SpeechWindow([units[index]!], from, to).seconds).toBeLessThan(mostWindowS);
    expect(from).toBe(units[index - 1]?.to ?? 0);
  }
});

test('minutes of speech without a word are cut all the same', () => {
  const units = unitsOf({ from: 0, to: 100 * rate }, []);
  expect(units.at(-1)!.to).toBe(100 * rate);
  for (const { from, to } of units) expect((to - from) / rate).toBeLessThan(mostWindowS);
});

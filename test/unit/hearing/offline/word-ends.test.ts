import { expect, test } from 'vitest';
import { withEnds } from '../../../../src/hearing/offline/word-ends.ts';

const rate = 16_000;

/** Audio of tenths of a second, each as loud as its digit; the line is never quite silent. */
function audioOf(levels: string): Float32Array {
  return Float32Array.from({ length: (levels.length * rate) / 10 }, (_, i) => {
    const level = Number(levels[Math.floor((10 * i) / rate)]);
    return (level / 10 + 0.001) * (i % 2 === 0 ? 1 : -1);
  });
}

const words = (...starts: number[]) =>
  starts.map((start) => ({ word: 'so', start, end: 0, confidence: 1, ids: [] }));
const endsOf = (levels: string, starts: number[], fromS = 0) =>
  withEnds(words(...starts), audioOf(levels), fromS).map(({ end }) => end);

test('a word ends where the audio becomes quiet, or else where the next one begins', () => {
  expect(endsOf('5550000555', [0, 0.7])).toEqual([expect.closeTo(0.3), expect.closeTo(1)]);
  expect(endsOf('5555555555', [0, 0.7])).toEqual([expect.closeTo(0.7), expect.closeTo(1)]);
});

test('quiet inside a word is none of its ends', () => {
  expect(endsOf('5500550000', [0])).toEqual([expect.closeTo(0.6)]);
});

test('a soft end of a loud word counts as long as it stands out of the noise of the line', () => {
  expect(endsOf('9990000000'.replace('0', '1'), [0])).toEqual([expect.closeTo(0.4)]);
});

test('a hiss at the end of a word is a part of it, though it is far below the vowel', () => {
  const hum = Float32Array.from({ length: rate / 2 }, (_, i) => 0.5 * Math.sin((i * Math.PI) / 40));
  const hiss = Float32Array.from({ length: rate / 5 }, (_, i) => (i % 2 === 0 ? 0.01 : -0.01));
  const line = Float32Array.from({ length: rate / 2 }, (_, i) => (i % 2 === 0 ? 1e-4 : -1e-4));
  const audio = Float32Array.from([...hum, ...hiss, ...line]);
  expect(withEnds(words(0), audio, 0)[0]?.end).toBeCloseTo(0.7);
});

test('seconds are those of the stream, and a word whose end nothing shows ends with the audio', () => {
  expect(endsOf('5550000555', [3, 3.7], 3)).toEqual([expect.closeTo(3.3), expect.closeTo(4)]);
  expect(withEnds(words(2), new Float32Array(), 2)[0]?.end).toBeGreaterThan(2);
  expect(endsOf('0000000000', [0.2])).toEqual([expect.closeTo(1)]);
});

import { expect, test } from 'vitest';
import { alignedFrames } from '../../../../src/hearing/decoder/alignment.ts';

/** A row of attention over ten frames, most of it where it is told. */
const row = (weights: Record<number, number>) => {
  const frames = new Float32Array(10).fill(0.01);
  for (const [frame, weight] of Object.entries(weights)) frames[Number(frame)] = weight;
  return frames;
};

test('each token is read from the frame that it pays most attention to', () => {
  expect(alignedFrames([row({ 1: 0.9 }), row({ 4: 0.8 }), row({ 9: 0.7 })])).toEqual([1, 4, 9]);
});

test('a word that is said twice keeps its place, although its row is stronger at the other', () => {
  const twice = alignedFrames([
    row({ 1: 0.9 }),
    row({ 2: 0.4, 8: 0.5 }),
    row({ 4: 0.9 }),
    row({ 8: 0.9 }),
  ]);
  expect(twice).toEqual([1, 2, 4, 8]);
});

test('tokens never go back, and no token has no frame', () => {
  const back = alignedFrames([row({ 5: 0.9 }), row({ 2: 0.6 }), row({ 7: 0.9 })]);
  for (const [index, frame] of back.slice(1).entries())
    expect(frame).toBeGreaterThanOrEqual(back[index]!);
  expect(alignedFrames([])).toEqual([]);
});

import { expect, test } from 'vitest';
import { beforeCrowd } from '../../../../src/hearing/offline/crowd.ts';

const begun = (...starts: number[]) => starts.map((start) => ({ start }));

test('four words at one moment are a crowd: what comes before it was heard', () => {
  expect(beforeCrowd(begun(20, 20.24, 26.37, 26.37, 26.37, 26.39, 26.72))).toBe(2);
  expect(beforeCrowd(begun(1, 1, 1.04, 1.08))).toBe(0);
});

test('words as fast as people say them are none, nor are two or three that the model places at once', () => {
  expect(beforeCrowd(begun(0, 0.08, 0.16, 0.24, 0.32))).toBe(5);
  expect(beforeCrowd(begun(0, 1, 1, 1.02, 1.3))).toBe(5);
  expect(beforeCrowd([])).toBe(0);
});

import { describe, expect, test } from 'vitest';
import { Segments } from '../../../../src/hearing/speakers/segments.ts';
import {
  cutsOf,
  voiceWindows,
  windowLength,
} from '../../../../src/hearing/speakers/voice-windows.ts';

const block = 512;
/** One sign for each 32 ms. */
function segmentsOf(signs: string): { from: number; to: number }[] {
  const segments = new Segments();
  for (const [at, sign] of signs.split('').entries())
    segments.window(sign === '#', at * block, (at + 1) * block);
  return segments.finish(signs.length * block);
}

describe('segments of speech', () => {
  test('end at a pause of 0.2 s, with a margin; a click is none', () => {
    const found = segmentsOf(`....########...########.......########${'.'.repeat(9)}##....`);
    expect(found).toEqual([
      { from: 4 * block - 480, to: 23 * block + 480 },
      { from: 30 * block - 480, to: 38 * block + 480 },
    ]);
  });

  test('never reach beyond the audio, nor over each other', () => {
    const [only, ...others] = segmentsOf('########');
    expect(only).toEqual({ from: 0, to: 8 * block });
    expect(others).toEqual([]);
  });

  test('of a voice without a pause are 30 s long at most, and nothing is lost between them', () => {
    const found = segmentsOf('#'.repeat(3_000));
    expect(found.length).toBe(4);
    expect(found.every(({ from, to }) => to - from <= 31 * 16_000)).toBe(true);
    for (const [index, { from }] of found.entries())
      if (index > 0) expect(from).toBe(found[index - 1]!.to);
    expect(found.at(-1)?.to).toBe(3_000 * block);
  });
});

describe('windows', () => {
  test('lie 0.4 s apart, the last at the end when a tenth of a second would be left', () => {
    expect(cutsOf(10_000, 6_400)).toEqual([{ at: 0, length: 10_000 }]);
    expect(cutsOf(25_600 + 6_400 + 1_600, 6_400).map(({ at }) => at)).toEqual([0, 6_400]);
    expect(cutsOf(25_600 + 6_400 + 3_200, 6_400).map(({ at }) => at)).toEqual([0, 6_400, 9_600]);
  });

  test('answer for every instant of their segment once', () => {
    const read: Float32Array[] = [];
    const encoder = {
      directionOf: (samples: Float32Array) => {
        read.push(samples);
        return Float32Array.of(1);
      },
    };
    const sound = Float32Array.from({ length: 40_000 }, (_, at) => at);
    const windows = [
      ...voiceWindows({ from: 1_000, to: 41_000 }, sound, { encoder, hopS: 0.4 }),
      ...voiceWindows({ from: 60_000, to: 70_000 }, sound.subarray(0, 10_000), {
        encoder,
        hopS: 0.4,
      }),
    ];
    expect(windows.map(({ from, to, seconds }) => [from, to, seconds])).toEqual([
      [1_000, 17_000, 1.6],
      [17_000, 23_400, 1.6],
      [23_400, 41_000, 1.6],
      [60_000, 70_000, 0.625],
    ]);
    expect(read.map(({ length }) => length)).toEqual(windows.map(() => windowLength));
    expect(read.map(([first]) => first)).toEqual([0, 6_400, 12_800, 0]);
    // The piece that is too short, again and again.
    expect([...(read[3]?.subarray(9_999, 10_002) ?? [])]).toEqual([9_999, 0, 1]);
  });
});

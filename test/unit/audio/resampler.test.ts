import { describe, expect, test } from 'vitest';
import { convertRate, Resampler } from '../../../src/audio/resampler.ts';

function tone(hz: number, rateHz: number, seconds: number): Float32Array {
  return Float32Array.from({ length: Math.round(rateHz * seconds) }, (_, at) =>
    Math.sin((2 * Math.PI * hz * at) / rateHz),
  );
}

function converted(input: Float32Array, fromHz: number, toHz: number, block = 1_000): Float32Array {
  const resampler = new Resampler(fromHz, toHz);
  const pieces: Float32Array[] = [];
  for (let at = 0; at < input.length; at += block)
    pieces.push(resampler.push(input.subarray(at, at + block)).slice());
  pieces.push(resampler.flush());
  return Float32Array.from(pieces.flatMap((piece) => [...piece]));
}

/** The distance of the rest to a tone of full scale, without the edges, where the tone begins and ends. */
function restDb(output: Float32Array, wanted: Float32Array): number {
  const edge = Math.floor(output.length / 10);
  let rest = 0;
  for (let at = edge; at < output.length - edge; at++)
    rest += ((output[at] ?? 0) - (wanted[at] ?? 0)) ** 2;
  return 10 * Math.log10(rest / (output.length - 2 * edge) / 0.5);
}

describe('the resampler', () => {
  test.each([
    [8_000, 300],
    [8_000, 1_000],
    [8_000, 3_400],
    [11_025, 3_400],
    [22_050, 5_000],
    [44_100, 6_900],
    [48_000, 6_900],
    [7_919, 3_000],
    [192_000, 6_900],
  ])('from %i Hz keeps a tone of %i Hz, in its place, and adds none', (rateHz, hz) => {
    const output = converted(tone(hz, rateHz, 0.5), rateHz, 16_000);
    expect(Math.abs(output.length - 8_000)).toBeLessThanOrEqual(1);
    expect(restDb(output, tone(hz, 16_000, 0.5))).toBeLessThan(-60);
  });

  test.each([
    [48_000, 9_000],
    [48_000, 15_500],
    [44_100, 8_100],
    [32_000, 12_000],
    [96_000, 40_000],
  ])('from %i Hz lets nothing of a tone of %i Hz fold back', (rateHz, hz) => {
    const output = converted(tone(hz, rateHz, 0.5), rateHz, 16_000);
    expect(restDb(output, new Float32Array(output.length))).toBeLessThan(-80);
  });

  test('gives the same samples however the input is cut', () => {
    const input = tone(1_234, 44_100, 0.3);
    const whole = converted(input, 44_100, 16_000, input.length);
    for (const block of [1, 7, 441, 5_000])
      expect(converted(input, 44_100, 16_000, block)).toEqual(whole);
  });

  test('passes a constant, and nothing comes of nothing', () => {
    const output = converted(new Float32Array(4_000).fill(0.5), 8_000, 16_000);
    for (const value of output.subarray(1_000, 7_000)) expect(value).toBeCloseTo(0.5, 6);
    expect(converted(new Float32Array(0), 8_000, 16_000)).toHaveLength(0);
    expect(converted(new Float32Array(1), 8_000, 16_000)).toHaveLength(2);
  });
});

describe('whole audio of 16 bits at another rate', () => {
  const tone = (hz: number, rate: number): Int16Array =>
    Int16Array.from({ length: rate }, (_, at) => 10_000 * Math.sin((2 * Math.PI * hz * at) / rate));
  const power = (samples: Int16Array): number =>
    Math.sqrt(
      samples.slice(200, -200).reduce((sum, one) => sum + one * one, 0) / (samples.length - 400),
    );

  test('a voice keeps its length and loudness, what the new rate cannot hold goes', () => {
    for (const [from, to] of [
      [16_000, 8_000],
      [8_000, 16_000],
      [44_100, 8_000],
    ] as const) {
      const converted = convertRate(tone(1_000, from), from, to);
      expect(converted.length).toBe(to);
      expect(power(converted)).toBeGreaterThan(6_800);
      expect(power(converted)).toBeLessThan(7_350);
    }
    expect(power(convertRate(tone(6_000, 16_000), 16_000, 8_000))).toBeLessThan(200);
    const same = tone(500, 8_000);
    expect(convertRate(same, 8_000, 8_000)).toBe(same);
  });
});

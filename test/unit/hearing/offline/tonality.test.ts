import { expect, test } from 'vitest';
import { leastTonal, tonalShare } from '../../../../src/hearing/offline/tonality.ts';
import { pinkNoise } from '../../../support/recognition/noises.ts';

/** A second at 16 kHz. */
function second(wave: (atS: number) => number): Float32Array {
  return Float32Array.from({ length: 16000 }, (_, i) => wave(i / 16000));
}

test('a few pure lines are a signal, also when they glide', () => {
  const line = (hz: number, at: number) => 0.2 * Math.sin(2 * Math.PI * hz * at);
  expect(tonalShare(second((at) => line(440, at)))).toBeGreaterThan(leastTonal);
  expect(tonalShare(second((at) => line(440, at) + line(480, at)))).toBeGreaterThan(leastTonal);
  const glide = (at: number) => 300 * at + 100 * at * at;
  const siren = second((at) => line(1, glide(at)) + 0.5 * line(2, glide(at)));
  expect(tonalShare(siren)).toBeGreaterThan(leastTonal);
});

test('a voice with its overtones, noise and silence are no signal', () => {
  const voice = second((at) => {
    let wave = 0;
    for (let n = 1; n <= 20; n++) wave += (0.2 / n) * Math.sin(2 * Math.PI * 120 * n * at);
    return wave;
  });
  expect(tonalShare(voice)).toBeLessThan(0.2);
  expect(tonalShare(Float32Array.from(pinkNoise(1, 0.2), (sample) => sample / 32768))).toBe(0);
  expect(tonalShare(new Float32Array(8000))).toBe(0);
});

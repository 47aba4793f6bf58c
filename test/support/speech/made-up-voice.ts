import { readFileSync } from 'node:fs';
import type { Weights } from '../../../src/speech-service/speakers/weights.ts';

/** What another program, in double precision, made of the sound and of the weights below. */
export const reference = JSON.parse(
  readFileSync(new URL('../../fixtures/speakers/reference.json', import.meta.url), 'utf8'),
) as { mel: Record<string, number[]>; madeUp: number[]; real: number[] };

/** Numbers from −1 to 1 that any program can make again. */
export function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** Two tones in noise, 1.25 s at 16 kHz. */
export function madeUpSound(): Float32Array {
  const next = noise(1);
  return Float32Array.from(
    { length: 20_000 },
    (_, n) =>
      0.2 * Math.sin((2 * Math.PI * 220 * n) / 16_000) +
      0.1 * Math.sin((2 * Math.PI * 1_370 * n) / 16_000) +
      0.05 * next(),
  );
}

/** An encoder that was taught nothing: its arithmetic is that of the real one. */
export function madeUpWeights(): Weights {
  const next = noise(7);
  const take = (length: number): Float32Array => Float32Array.from({ length }, () => 0.1 * next());
  return {
    layers: [40, 256, 256].map((inputSize) => ({
      ih: take(1_024 * inputSize),
      hh: take(1_024 * 256),
      biasIh: take(1_024),
      biasHh: take(1_024),
    })),
    linear: take(256 * 256),
    linearBias: take(256),
  };
}

/** A direction near a corner of its own for each voice, with so much noise. */
export function madeUpDirection(voice: number, next: () => number, spread = 0.6): Float32Array {
  const direction = Float32Array.from({ length: 256 }, (_, k) =>
    Math.max(0, (k % 8 === voice ? 1 : 0.15) + spread * next()),
  );
  const length = Math.hypot(...direction);
  return direction.map((value) => value / length);
}

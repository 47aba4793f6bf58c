import { readFileSync } from 'node:fs';

/** Another program's result for the sound below, with the real weights in double precision. */
export const reference = JSON.parse(
  readFileSync(new URL('../../fixtures/speakers/reference.json', import.meta.url), 'utf8'),
) as { direction: number[] };

/** Numbers from −1 to 1 that any program can reproduce. */
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

/** For each voice, a direction near its own one, with the given noise. */
export function madeUpDirection(voice: number, next: () => number, spread = 0.7): Float32Array {
  const own = noise(100 + voice);
  // The first numbers of neighbouring seeds are similar, so they are skipped.
  for (let skipped = 0; skipped < 50; skipped++) own();
  const direction = Float32Array.from({ length: 192 }, () => own() + spread * next());
  const length = Math.hypot(...direction);
  return direction.map((value) => value / length);
}

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AudioTrack } from '../../../../src/hearing/offline/audio-track.ts';
import { BlockCutter } from '../../../../src/hearing/engine/stream-audio.ts';
import { KeptAudio } from '../../../../src/hearing/pool/pool-stream.ts';

const counted = (length: number) => Int16Array.from({ length }, (_, i) => i);

/** The same samples in pieces of these lengths. */
function* pieces(samples: Int16Array, lengths: number[]): Generator<Int16Array> {
  let at = 0;
  for (let i = 0; at < samples.length; i++) {
    const length = lengths[i % lengths.length]!;
    yield samples.subarray(at, at + length);
    at += length;
  }
}

const lengths = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 });

test('blocks are the same however the audio was chunked', () => {
  fc.assert(
    fc.property(lengths, (sizes) => {
      const cutter = new BlockCutter(320);
      const got: number[] = [];
      for (const piece of pieces(counted(2000), sizes)) {
        cutter.push(piece, 0);
        while (cutter.hasBlock) {
          const block = cutter.take();
          expect(block).toHaveLength(320);
          got.push(...block);
        }
      }
      got.push(...cutter.take());
      expect(got.map((value) => Math.round(value * 32768))).toEqual([...counted(2000)]);
    }),
    { numRuns: 50 },
  );
});

test('audio kept for a replacement is there to the sample until it is decided', () => {
  fc.assert(
    fc.property(
      lengths,
      fc.integer({ min: 0, max: 1500 }),
      fc.integer({ min: 1, max: 900 }),
      (sizes, drop, most) => {
        const kept = new KeptAudio();
        for (const piece of pieces(counted(1500), sizes)) kept.push(piece);
        kept.dropBefore(drop);
        expect([kept.start, kept.end]).toEqual([drop, 1500]);
        expect([...kept.read(drop, most)]).toEqual([...counted(1500).subarray(drop, drop + most)]);
        expect(kept.read(1500, most)).toHaveLength(0);
      },
    ),
    { numRuns: 50 },
  );
});

test('kept audio is a copy: the caller may use its buffer again', () => {
  const kept = new KeptAudio();
  const buffer = counted(10);
  kept.push(buffer);
  buffer.fill(99);
  expect([...kept.read(0, 10)]).toEqual([...counted(10)]);
});

test('a track forgets the past and keeps its positions', () => {
  const track = new AudioTrack();
  for (let i = 0; i < 10; i++) track.push(new Float32Array(8000).fill(i));
  track.dropBefore(35_000);
  expect(track.end).toBe(80_000);
  expect(track.view(40_000, 48_000)).toEqual(new Float32Array(8000).fill(5));
  expect(track.view(0, 40_000)).toHaveLength(5000);
});

test('a cut lies in the quietest stretch', () => {
  const track = new AudioTrack();
  const audio = new Float32Array(32_000).fill(0.5);
  audio.fill(0, 20_000, 22_000);
  track.push(audio);
  const cut = track.quietest(8_000, 32_000, 1600);
  expect(cut).toBeGreaterThan(20_500);
  expect(cut).toBeLessThan(21_500);
});

import { expect, test } from 'vitest';
import { alawToLinear, mulawToLinear } from '../../../src/audio/g711.ts';
import { coverWithTone } from '../../../src/bridge/recordings/tone.ts';

const forms = (['mulaw', 'alaw', 'pcm8', 'pcm16'] as const).flatMap((encoding) =>
  ([1, 2] as const).map((channels) => ({ encoding, channels })),
);

test.each(forms)(
  'the tone covers the hidden seconds and no others, the same however the audio is cut ($encoding, $channels)',
  ({ encoding, channels }) => {
    const leg = { encoding, channels, sampleRate: 8_000, offsetS: 0.5 };
    const perSecond = 8_000 * channels * (encoding === 'pcm16' ? 2 : 1);
    const before = Buffer.from(Array.from({ length: perSecond * 3 }, (_, at) => (at * 7) % 251));
    const whole = Buffer.from(before);
    coverWithTone(whole, 0, leg, [{ start: 1.7, end: 2 }]);
    const from = perSecond;
    const to = Math.round(perSecond * 1.7);
    expect(whole.subarray(0, from)).toEqual(before.subarray(0, from));
    expect(whole.subarray(to)).toEqual(before.subarray(to));
    const values = linear(whole.subarray(from, to), encoding);
    expect(Math.max(...values)).toBeGreaterThan(2_700);
    expect(Math.max(...values)).toBeLessThan(3_300);
    // At 8 kHz a tone of 1 kHz repeats after eight frames: nothing of what was there is left.
    const lap = 8 * channels;
    expect(values.slice(lap)).toEqual(values.slice(0, -lap));
    const cut = Buffer.from(before);
    for (let at = 0; at < cut.length; at += 777)
      coverWithTone(cut.subarray(at, at + 777), at, leg, [{ start: 1.7, end: 2 }]);
    expect(cut).toEqual(whole);
    coverWithTone(cut, 0, leg, [{ start: 1.7, end: 2 }]);
    expect(cut).toEqual(whole);
  },
);

function linear(bytes: Buffer, encoding: (typeof forms)[number]['encoding']): number[] {
  if (encoding === 'pcm16')
    return Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(at * 2));
  const table = { mulaw: mulawToLinear, alaw: alawToLinear, pcm8: undefined }[encoding];
  return [...bytes].map((code) => table?.[code] ?? (code - 128) * 256);
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readWav } from '../../../src/audio/wav.ts';

function wav(options: {
  kind: number;
  bits: number;
  channels: number;
  rate: number;
  data: Buffer;
  before?: Buffer;
  length?: number;
}): Buffer {
  const {
    kind,
    bits,
    channels,
    rate,
    data,
    before = Buffer.alloc(0),
    length = data.length,
  } = options;
  const header = Buffer.alloc(20 + 16);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + data.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(kind, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt16LE(bits, 34);
  const head = Buffer.alloc(8);
  head.write('data', 0, 'latin1');
  head.writeUInt32LE(length, 4);
  return Buffer.concat([header, before, head, data]);
}

const pcm = (...samples: number[]): Buffer => Buffer.from(Int16Array.from(samples).buffer);

describe('WAV files', () => {
  test('16-bit stereo comes apart', () => {
    const { sampleRate, channels } = readWav(
      wav({ kind: 1, bits: 16, channels: 2, rate: 8000, data: pcm(1, -1, 2, -2, 3, -3) }),
    );
    expect(sampleRate).toBe(8000);
    expect(channels.map((channel) => [...channel])).toEqual([
      [1, 2, 3],
      [-1, -2, -3],
    ]);
  });

  test('8-bit, mu-law and A-law are made linear', () => {
    expect([
      ...(readWav(
        wav({ kind: 1, bits: 8, channels: 1, rate: 8000, data: Buffer.from([128, 255, 0]) }),
      ).channels[0] ?? []),
    ]).toEqual([0, 32_512, -32_768]);
    expect(
      Math.abs(
        readWav(wav({ kind: 7, bits: 8, channels: 1, rate: 8000, data: Buffer.from([0xff]) }))
          .channels[0]?.[0] ?? 9,
      ),
    ).toBe(0);
    expect(
      readWav(wav({ kind: 6, bits: 8, channels: 1, rate: 8000, data: Buffer.from([0xd5]) }))
        .channels[0]?.[0],
    ).toBe(8);
  });

  test('other chunks are passed over, and a length beyond the file is the rest of it', () => {
    const list = Buffer.concat([
      Buffer.from('LIST'),
      Buffer.from([3, 0, 0, 0]),
      Buffer.from('abc\0'),
    ]);
    const file = wav({
      kind: 1,
      bits: 16,
      channels: 1,
      rate: 16_000,
      data: pcm(7, 8),
      before: list,
      length: 0xffffffff,
    });
    expect([...(readWav(file).channels[0] ?? [])]).toEqual([7, 8]);
  });

  test('a file that is no WAV, or of a kind that is not read, is refused in a sentence', () => {
    expect(() => readWav(Buffer.alloc(0))).toThrow('not a WAV file');
    expect(() => readWav(Buffer.from('RIFF....WAVE'))).toThrow('without its format');
    expect(() =>
      readWav(wav({ kind: 3, bits: 32, channels: 1, rate: 8000, data: Buffer.alloc(8) })),
    ).toThrow('convert it');
    expect(() =>
      readWav(wav({ kind: 1, bits: 16, channels: 0, rate: 8000, data: Buffer.alloc(8) })),
    ).toThrow('0 channels');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        try {
          readWav(Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), bytes]));
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });
});

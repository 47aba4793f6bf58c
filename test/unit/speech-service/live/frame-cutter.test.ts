import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AudioFormat,
  buildHeader,
  bytesPerSecond,
  frameBytes,
  parseHeader,
  samplesOf,
} from '../../../../src/speech-service/live/incoming/audio-format.ts';
import { FrameCutter } from '../../../../src/speech-service/live/incoming/frame-cutter.ts';

const mulaw: AudioFormat = { encoding: 'wav/ulaw', bitDepth: 8, sampleRate: 8000, channels: 1 };
const formats: AudioFormat[] = [
  ...[8, 16, 24, 32].flatMap((bitDepth) =>
    [1, 2, 3, 8].map((channels) => ({
      encoding: 'wav/pcm' as const,
      bitDepth,
      sampleRate: 48000,
      channels,
    })),
  ),
  ...[1, 2, 5].flatMap((channels) => [
    { encoding: 'wav/alaw' as const, bitDepth: 8, sampleRate: 8000, channels },
    { encoding: 'wav/ulaw' as const, bitDepth: 8, sampleRate: 44100, channels },
  ]),
];

function taken(cutter: FrameCutter, bytes: Buffer) {
  const result = cutter.take(bytes);
  if (result.outcome === 'contradiction') throw new Error(result.reason);
  return result;
}

describe('what a session receives', () => {
  test('is cut at frames wherever the messages are cut, with a header or without, and counted exactly', () => {
    const given = fc.record({
      format: fc.constantFrom(...formats),
      header: fc.boolean(),
      audio: fc.uint8Array({ minLength: 4, maxLength: 700 }),
      cuts: fc.array(fc.nat(900), { maxLength: 12 }),
    });
    fc.assert(
      fc.property(given, ({ format, header, audio, cuts }) => {
        if (audio[0] === 0x52) audio[0] = 0; // a session that begins with R may be a header: its own test
        const head = header ? buildHeader(format, audio.length) : Buffer.alloc(0);
        const all = Buffer.concat([head, audio]);
        const cutter = new FrameCutter(format);
        const frames: Buffer[] = [];
        const places = [
          ...new Set([0, ...cuts.map((cut) => Math.min(cut, all.length)), all.length]),
        ].sort((a, b) => a - b);
        let end = 0;
        for (const [index, from] of places.slice(0, -1).entries()) {
          const message = taken(cutter, all.subarray(from, places[index + 1]));
          expect(message.byteRange).toEqual([end, places[index + 1]]);
          end = message.byteRange[1];
          frames.push(Buffer.from(message.frames));
        }
        const heard = Buffer.concat(frames);
        const whole = audio.length - (audio.length % frameBytes(format));
        expect(heard.equals(Buffer.from(audio).subarray(0, whole))).toBe(true);
        expect(cutter.bytes).toBe(all.length);
        expect(cutter.frames).toBe(whole / frameBytes(format));
        expect(cutter.durationS).toBeCloseTo(audio.length / bytesPerSecond(format), 9);
      }),
      { numRuns: 400 },
    );
  });

  test('gives time ranges that touch and leave the header out', () => {
    const cutter = new FrameCutter(mulaw);
    const header = buildHeader(mulaw, 1600);
    expect(taken(cutter, Buffer.concat([header, Buffer.alloc(800)])).timeRange).toEqual([0, 0.1]);
    expect(taken(cutter, Buffer.alloc(800)).timeRange).toEqual([0.1, 0.2]);
  });

  test('acknowledges an empty chunk with an empty range', () => {
    const cutter = new FrameCutter(mulaw);
    taken(cutter, Buffer.alloc(160));
    expect(taken(cutter, Buffer.alloc(0))).toMatchObject({
      byteRange: [160, 160],
      timeRange: [0.02, 0.02],
    });
  });

  test('goes on after a restart in the middle of a frame', () => {
    const format: AudioFormat = {
      encoding: 'wav/pcm',
      bitDepth: 24,
      sampleRate: 16000,
      channels: 3,
    };
    const audio = Buffer.from(Array.from({ length: 100 }, (_, index) => index));
    const all = Buffer.concat([buildHeader(format, 0), audio]);
    for (let cut = 0; cut <= all.length; cut++) {
      const before = all.subarray(0, cut);
      const cutter = FrameCutter.resumed(
        format,
        cut,
        before,
        before.subarray(Math.max(0, cut - 9)),
      );
      const headerBytes = all.length - audio.length;
      const decided = cut <= headerBytes ? 0 : Math.floor((cut - headerBytes) / 9) * 9;
      const rest = taken(cutter, all.subarray(cut));
      expect(Buffer.from(rest.frames)).toEqual(audio.subarray(decided, 99));
    }
  });
});

describe('a WAV header', () => {
  test.each(formats)(
    'of $encoding $bitDepth bit, $channels channels is read back as declared',
    (format) => {
      const header = buildHeader(format, 1000);
      expect(parseHeader(header, format)).toEqual({
        outcome: 'header',
        headerBytes: header.length,
      });
    },
  );

  test.each([
    ['another encoding', { ...mulaw, encoding: 'wav/alaw' as const }],
    ['another rate', { ...mulaw, sampleRate: 16000 }],
    ['more channels', { ...mulaw, channels: 2 }],
    ['another depth', { ...mulaw, bitDepth: 16 }],
  ])('that says %s than the session is a contradiction', (_what, other) => {
    expect(parseHeader(buildHeader(other, 0), mulaw).outcome).toBe('contradiction');
  });

  test('with lists of tags before the data is skipped whole', () => {
    const header = buildHeader(mulaw, 0);
    const list = Buffer.concat([
      Buffer.from('LIST'),
      Buffer.from([5, 0, 0, 0]),
      Buffer.from('hello\0'),
    ]);
    const long = Buffer.concat([header.subarray(0, 12), list, header.subarray(12)]);
    expect(parseHeader(long, mulaw)).toEqual({ outcome: 'header', headerBytes: long.length });
  });

  test('in the extensible form is read by the tag inside', () => {
    const format: AudioFormat = {
      encoding: 'wav/pcm',
      bitDepth: 24,
      sampleRate: 48000,
      channels: 2,
    };
    const plain = buildHeader(format, 0);
    const fmt = Buffer.alloc(48);
    fmt.write('fmt ', 0, 'latin1');
    fmt.writeUInt32LE(40, 4);
    plain.copy(fmt, 8, 20, 36);
    fmt.writeUInt16LE(0xfffe, 8);
    fmt.writeUInt16LE(1, 8 + 24);
    const header = Buffer.concat([plain.subarray(0, 12), fmt, plain.subarray(36)]);
    expect(parseHeader(header, format)).toEqual({ outcome: 'header', headerBytes: header.length });
  });

  test('that lies about its sizes never throws and never waits for ever', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 200 }), (tail) => {
        const start = Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWAVE', 'latin1'), tail]);
        expect(['incomplete', 'header', 'contradiction', 'none']).toContain(
          parseHeader(start, mulaw).outcome,
        );
      }),
    );
    const endless = Buffer.concat([
      Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'),
      Buffer.from('LIST\xff\xff\xff\x7f', 'latin1'),
    ]);
    expect(parseHeader(endless, mulaw).outcome).toBe('contradiction');
  });
});

describe('samples', () => {
  test('of every PCM depth carry the same wave, channels apart', () => {
    const wave = [0, 1000, -1000, 32000, -32768];
    for (const bitDepth of [8, 16, 24, 32]) {
      const bytes = bitDepth / 8;
      const frames = Buffer.alloc(wave.length * 2 * bytes);
      wave.forEach((sample, index) => {
        [sample, -sample - 1].forEach((value, channel) => {
          const at = (index * 2 + channel) * bytes;
          if (bitDepth === 8) frames[at] = (value >> 8) + 128;
          else frames.writeIntLE(value * 2 ** (bitDepth - 16), at, bytes);
        });
      });
      const [left, right] = samplesOf({
        encoding: 'wav/pcm',
        bitDepth,
        sampleRate: 8000,
        channels: 2,
      })(frames);
      const tolerance = bitDepth === 8 ? 256 : 0;
      wave.forEach((sample, index) => {
        expect(Math.abs((left?.[index] ?? NaN) - sample)).toBeLessThanOrEqual(tolerance);
        expect(Math.abs((right?.[index] ?? NaN) + sample + 1)).toBeLessThanOrEqual(tolerance);
      });
    }
  });
});

import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import {
  StereoRecording,
  type RecordedLeg,
} from '../../../../src/bridge/recordings/recording-file.ts';

function leg(overrides: Partial<RecordedLeg> & { audio: Buffer }): RecordedLeg {
  const { audio, ...rest } = overrides;
  return {
    role: 'customer',
    channelRoles: ['customer', 'agent'],
    encoding: 'pcm16',
    sampleRate: 8_000,
    channels: 1,
    offsetS: 0,
    bytes: audio.length,
    read: (from, to) => Readable.from([audio.subarray(from, to)]),
    ...rest,
  };
}

async function samplesOf(recording: StereoRecording): Promise<Int16Array> {
  const parts: Buffer[] = [];
  for await (const part of recording.read(44, recording.bytes)) parts.push(part);
  const bytes = Buffer.concat(parts);
  return Int16Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(at * 2));
}

async function partsOf(audio: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for await (const part of audio) parts.push(part);
  return parts;
}

const pcm = (...samples: number[]): Buffer => Buffer.from(Int16Array.from(samples).buffer);

describe('a call as a stereo WAV', () => {
  test('each leg lies on its side, from its own offset', async () => {
    const recording = new StereoRecording([
      leg({ audio: pcm(1, 2, 3) }),
      leg({ audio: pcm(7, 8), role: 'agent', offsetS: 2 / 8_000 }),
    ]);
    expect([...(await samplesOf(recording))]).toEqual([1, 0, 2, 0, 3, 7, 0, 8]);
  });

  test('a leg that follows another of the same role goes on after it', async () => {
    const recording = new StereoRecording([
      leg({ audio: pcm(1, 2) }),
      leg({ audio: pcm(3), offsetS: 2 / 8_000 }),
    ]);
    expect([...(await samplesOf(recording))]).toEqual([1, 0, 2, 0, 3, 0]);
  });

  test('a stereo leg gives a channel to each side, and a slower leg is stretched to the faster one', async () => {
    const stereo = new StereoRecording([
      leg({ audio: pcm(1, 2, 3, 4), channels: 2, channelRoles: ['agent', 'customer'] }),
    ]);
    expect([...(await samplesOf(stereo))]).toEqual([2, 1, 4, 3]);
    const mixed = new StereoRecording([
      leg({ audio: pcm(5) }),
      leg({ audio: pcm(1, 2), role: 'agent', sampleRate: 16_000 }),
    ]);
    expect([...(await samplesOf(mixed))]).toEqual([5, 1, 5, 2]);
  });

  test('parties that share a channel are heard on both sides, and on the left beside an agent of their own', async () => {
    const alone = new StereoRecording([leg({ audio: pcm(1, 2), role: 'mixed' })]);
    expect([...(await samplesOf(alone))]).toEqual([1, 1, 2, 2]);
    const beside = new StereoRecording([
      leg({ audio: pcm(1, 2), role: 'mixed' }),
      leg({ audio: pcm(7, 8), role: 'agent' }),
    ]);
    expect([...(await samplesOf(beside))]).toEqual([1, 7, 2, 8]);
  });

  test('a part of it is a WAV of its own, with the samples of the whole', async () => {
    const recording = new StereoRecording([
      leg({ audio: pcm(1, 2, 3, 4) }),
      leg({ audio: pcm(7, 8), role: 'agent', offsetS: 2 / 8_000 }),
    ]);
    const part = recording.part(1 / 8_000, 3 / 8_000);
    const bytes = Buffer.concat(await partsOf(part.read(0, part.bytes)));
    expect([bytes.length, part.bytes]).toEqual([52, 52]);
    expect(bytes.readUInt32LE(40)).toBe(8);
    expect([0, 2, 4, 6].map((at) => bytes.readInt16LE(44 + at))).toEqual([2, 0, 3, 7]);
    const second = Buffer.concat(await partsOf(part.read(48, 52)));
    expect([second.readInt16LE(0), second.readInt16LE(2)]).toEqual([3, 7]);
    const rest = recording.part(3 / 8_000);
    expect(rest.bytes).toBe(48);
  });

  test('a call that is longer than a WAV can tell has a header all the same', async () => {
    const audio = pcm(1, 2);
    const long = { ...leg({ audio, sampleRate: 48_000 }), bytes: 48_000 * 2 * 86_400 };
    const recording = new StereoRecording([long]);
    const [header] = await partsOf(recording.read(0, 44));
    expect(header?.readUInt32LE(4)).toBe(0xffff_ffff - 8);
    expect(header?.readUInt32LE(40)).toBe(0xffff_ffff - 44);
  });

  test('a call without audio is an empty WAV', async () => {
    const recording = new StereoRecording([]);
    expect(recording.bytes).toBe(44);
    expect((await samplesOf(recording)).length).toBe(0);
  });
});

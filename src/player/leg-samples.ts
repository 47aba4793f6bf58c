import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import {
  alawSilence,
  linearToAlaw,
  linearToMulaw,
  mulawSilence,
  mulawToLinear,
  alawToLinear,
} from '../audio/g711.ts';
import { convertRate } from '../audio/resampler.ts';
import { readWav } from '../audio/wav.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import type { Encoding } from './dialogue.ts';
import type { LegAudio } from './play.ts';

/** The audio of one party before it is converted to a carrier's format. */
export type LegSamples = { leg: 'customer' | 'agent'; samples: Int16Array; rateHz: number };

/** Converts an audio file of any other format to a WAV file. */
type Decode = (path: string) => Promise<Buffer>;

/**
 * Reads the legs from one stereo file (customer left, agent right), from one mono file, or from two files, the
 * customer's first.
 */
export async function legsOfFiles(paths: readonly string[], decode: Decode): Promise<LegSamples[]> {
  const files = await Promise.all(paths.map((path) => readAudio(path, decode)));
  const channels = files.flatMap(({ channels, sampleRate }) =>
    channels.map((samples) => ({ samples, rateHz: sampleRate })),
  );
  if (channels.length === 0 || channels.length > 2)
    throw new TrunklineError(
      'BAD_INPUT',
      `a call has one or two parties, the audio given has ${channels.length} channels`,
    );
  return channels.map(({ samples, rateHz }, at) => ({
    leg: at === 0 ? 'customer' : 'agent',
    samples,
    rateHz,
  }));
}

async function readAudio(
  path: string,
  decode: Decode,
): Promise<{ sampleRate: number; channels: Int16Array[] }> {
  try {
    const bytes = await readFile(path);
    const kind = extname(path).toLowerCase();
    if (kind === '.wav') return readWav(bytes);
    if (['.ulaw', '.mulaw', '.ul', '.mu'].includes(kind))
      return {
        sampleRate: 8000,
        channels: [Int16Array.from(bytes, (code) => mulawToLinear[code] ?? 0)],
      };
    if (['.alaw', '.al'].includes(kind))
      return {
        sampleRate: 8000,
        channels: [Int16Array.from(bytes, (code) => alawToLinear[code] ?? 0)],
      };
    return readWav(await decode(path));
  } catch (cause) {
    if (cause instanceof TrunklineError) throw cause;
    throw new TrunklineError('BAD_INPUT', `${path} cannot be read as audio: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

export function samplesOf({ leg, bytes }: LegAudio): LegSamples {
  return { leg, samples: Int16Array.from(bytes, (code) => mulawToLinear[code] ?? 0), rateHz: 8000 };
}

/** Mixes all parties into one channel, for carriers with a mixed stream. The result is called the customer's leg. */
export function mixedLegs(legs: readonly LegSamples[], rateHz: number): LegSamples[] {
  const parts = legs.map(({ samples, rateHz: fromHz }) => convertRate(samples, fromHz, rateHz));
  const samples = Int16Array.from(
    { length: Math.max(0, ...parts.map(({ length }) => length)) },
    (_, at) => {
      const sum = parts.reduce((total, part) => total + (part[at] ?? 0), 0);
      return Math.max(-32_768, Math.min(32_767, sum));
    },
  );
  return [{ leg: 'customer', samples, rateHz }];
}

/** Encodes all legs for the carrier. Shorter legs are filled with silence to the length of the longest. */
export function encodeLegs(
  legs: readonly LegSamples[],
  encoding: Encoding,
  rateHz: number,
): LegAudio[] {
  const encoded = legs.map(({ leg, samples, rateHz: fromHz }) => ({
    leg,
    bytes: encode(convertRate(samples, fromHz, rateHz), encoding),
  }));
  const length = Math.max(0, ...encoded.map(({ bytes }) => bytes.length));
  return encoded.map(({ leg, bytes }) => ({
    leg,
    bytes: Buffer.concat([bytes, Buffer.alloc(length - bytes.length, silenceOf(encoding))]),
  }));
}

function encode(samples: Int16Array, encoding: Encoding): Buffer {
  if (encoding === 'mulaw') return Buffer.from(Uint8Array.from(samples, linearToMulaw));
  if (encoding === 'alaw') return Buffer.from(Uint8Array.from(samples, linearToAlaw));
  return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
}

function silenceOf(encoding: Encoding): number {
  if (encoding === 'slin') return 0;
  return encoding === 'mulaw' ? mulawSilence : alawSilence;
}

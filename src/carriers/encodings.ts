import type { StreamEncoding } from '../bridge/streams.ts';

const names: Record<string, StreamEncoding> = {
  mulaw: 'mulaw',
  ulaw: 'mulaw',
  'mu-law': 'mulaw',
  pcmu: 'mulaw',
  g711u: 'mulaw',
  alaw: 'alaw',
  'a-law': 'alaw',
  pcma: 'alaw',
  g711a: 'alaw',
  l16: 'pcm16',
  pcm: 'pcm16',
  raw: 'pcm16',
  slin: 'pcm16',
  linear16: 'pcm16',
};

/**
 * Brings all spellings, such as `audio/x-mulaw`, `PCMU` or `audio/x-l16;rate=16000`, into one form. Returns undefined
 * if we cannot forward the audio.
 */
export function encodingOf(spelt: string): StreamEncoding | undefined {
  const name =
    spelt
      .toLowerCase()
      .split(';')[0]
      ?.trim()
      .replace(/^audio\//, '')
      .replace(/^x-/, '') ?? '';
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** Reads the rate from `audio/x-l16;rate=16000`, for carriers that have no field for it. */
export function rateIn(spelt: string): number | undefined {
  const rateHz = /;\s*rate=(\d{4,6})\b/i.exec(spelt)?.[1];
  return rateHz === undefined ? undefined : Number(rateHz);
}

/** The rates that the speech interface takes. */
const ratesHz = new Set([8000, 16_000, 32_000, 44_100, 48_000]);

export function isForwardableRate(rateHz: number): boolean {
  return ratesHz.has(rateHz);
}

/**
 * Other rates that carriers offer. Their audio is resampled to 16 kHz, which keeps everything that the recognisers use.
 */
const otherRatesHz = new Set([11_025, 12_000, 22_050, 24_000, 64_000, 96_000, 192_000]);
export const resampledRateHz = 16_000;

/** True for audio that is taken unchanged or can be resampled. Only uncompressed samples can be resampled. */
export function isTaken(encoding: StreamEncoding, rateHz: number): boolean {
  return isForwardableRate(rateHz) || (encoding === 'pcm16' && otherRatesHz.has(rateHz));
}

export function bytesPerSample(encoding: StreamEncoding): 1 | 2 {
  return encoding === 'pcm16' ? 2 : 1;
}

export function durationMsOf(bytes: number, encoding: StreamEncoding, rateHz: number): number {
  return (bytes / bytesPerSample(encoding) / rateHz) * 1000;
}

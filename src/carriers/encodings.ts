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

/** `audio/x-mulaw`, `PCMU`, `audio/x-l16;rate=16000`: one form for all spellings. Undefined: we cannot forward it. */
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

/** `audio/x-l16;rate=16000`: where no field of its own says the rate. */
export function rateIn(spelt: string): number | undefined {
  const rateHz = /;\s*rate=(\d{4,6})\b/i.exec(spelt)?.[1];
  return rateHz === undefined ? undefined : Number(rateHz);
}

/** What the speech interface takes. */
const ratesHz = new Set([8000, 16_000, 32_000, 44_100, 48_000]);

export function isForwardableRate(rateHz: number): boolean {
  return ratesHz.has(rateHz);
}

/** Rates that carriers offer beside those; at the resampled one nothing is lost that the recognisers would hear. */
const otherRatesHz = new Set([11_025, 12_000, 22_050, 24_000, 64_000, 96_000, 192_000]);
export const resampledRateHz = 16_000;

/** Taken as it is, or resampled: bare samples alone can be. */
export function isTaken(encoding: StreamEncoding, rateHz: number): boolean {
  return isForwardableRate(rateHz) || (encoding === 'pcm16' && otherRatesHz.has(rateHz));
}

export function bytesPerSample(encoding: StreamEncoding): 1 | 2 {
  return encoding === 'pcm16' ? 2 : 1;
}

export function durationMsOf(bytes: number, encoding: StreamEncoding, rateHz: number): number {
  return (bytes / bytesPerSample(encoding) / rateHz) * 1000;
}

import { alawToLinear, mulawToLinear } from '../../audio/g711.ts';
import type { StreamEncoding } from '../seam.ts';

/** Every so many samples are enough for a bar on a page. */
const stride = 8;

/** The loudest of some samples of a frame, 0 to 1. */
export function levelOf(payload: Buffer, encoding: StreamEncoding): number {
  let peak = 0;
  if (encoding === 'pcm16') {
    for (let at = 0; at + 1 < payload.length; at += stride * 2)
      peak = Math.max(peak, Math.abs(payload.readInt16LE(at)));
  } else {
    for (let at = 0; at < payload.length; at += stride)
      peak = Math.max(peak, Math.abs(sampleOf(payload[at] ?? 0, encoding)));
  }
  return Math.min(1, peak / 32_768);
}

function sampleOf(byte: number, encoding: 'mulaw' | 'alaw' | 'pcm8'): number {
  switch (encoding) {
    case 'mulaw':
      return mulawToLinear[byte] ?? 0;
    case 'alaw':
      return alawToLinear[byte] ?? 0;
    case 'pcm8':
      return (byte - 128) * 256;
  }
}

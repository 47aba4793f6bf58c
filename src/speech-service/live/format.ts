/** How a session's bytes are to be read: fixed at the POST, never changed. */
type AudioEncoding = 'wav/pcm' | 'wav/alaw' | 'wav/ulaw';

export type AudioFormat = {
  encoding: AudioEncoding;
  bitDepth: number;
  sampleRate: number;
  channels: number;
};

/** One sample of every channel. Only whole frames are recognised; the rest waits for the next message. */
export function frameBytes(format: AudioFormat): number {
  return (format.channels * format.bitDepth) / 8;
}

export function bytesPerSecond(format: AudioFormat): number {
  return format.sampleRate * frameBytes(format);
}

import type { Reading } from './consensus.ts';

export type Voice = { seconds: number };

export function voiceOf(samples: Float32Array): Voice {
  return { seconds: samples.length / 16000 };
}

export function believable(reading: Reading, voice: Voice): boolean {
  return reading.words.length > 0 && voice.seconds > 0;
}

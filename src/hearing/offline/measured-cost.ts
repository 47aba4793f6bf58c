import { readFileSync } from 'node:fs';
import { mulawToLinear } from '../../audio/g711.ts';
import { leastCpuSeconds } from '../engine/load.ts';
import type { PieceModel } from './offline-model.ts';
import type { VoiceDetector } from './voice-activity.ts';

/**
 * Some seconds of telephone speech for measuring. A model that writes one word after the other costs by the word, so
 * reading noise would make it look far too cheap.
 */
function spokenAudio(): Float32Array {
  const bytes = readFileSync(new URL('measured-speech.ulaw', import.meta.url));
  const audio = new Float32Array(2 * bytes.length);
  for (const [index, byte] of bytes.entries())
    audio.fill((mulawToLinear[byte] ?? 0) / 32768, 2 * index, 2 * index + 2);
  return audio;
}

/** The cost of a second of listening, of reading and of hurried reading, in seconds of a core. */
export function measure(model: PieceModel, detector: VoiceDetector) {
  const audio = spokenAudio();
  const seconds = audio.length / 16000;
  model.read(audio, ''); // the first reading also allocates and is not measured
  const voice = detector.open(0.6);
  const listening = leastCpuSeconds(() => voice.accept(audio, () => undefined)) / seconds;
  const reading = leastCpuSeconds(() => model.read(audio, '')) / seconds;
  const hurried = leastCpuSeconds(() => model.read(audio, '', { hurried: true })) / seconds;
  return { listening, reading, hurried };
}

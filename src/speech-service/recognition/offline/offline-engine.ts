import { readFileSync } from 'node:fs';
import { mulawToLinear } from '../../../audio/g711.ts';
import type { Model } from '../../models/model-folder.ts';
import { AudioTrack } from '../child/audio-track.ts';
import { leastCpuSeconds } from '../pool/cpu-time.ts';
import type { Engine, EngineOptions } from '../child/engine.ts';
import { LanguageChoice } from '../pool/language-choice.ts';
import { OfflineModel, type OfflineDescription } from './offline-model.ts';
import { OfflineSession } from './offline-session.ts';
import { PieceReader } from './piece-reader.ts';
import type { Sherpa } from '../child/sherpa.ts';
import { VoiceActivity } from '../child/voice-activity.ts';

/** Models that read whole pieces, behind voice activity. */
export function openOfflineEngine(
  sherpa: Sherpa,
  folder: Model,
  description: OfflineDescription,
  options: EngineOptions,
): Engine {
  const model = new OfflineModel(sherpa, folder, description);
  return {
    get readS() {
      return model.price.spentS;
    },
    measure: () => measure(sherpa, model, options.vadModel),
    readingShare: () => model.price.share,
    open: (stream, emit) => {
      const track = new AudioTrack();
      const parts = {
        reader: new PieceReader(model, track),
        longestS: model.longestS,
        track,
        voice: new VoiceActivity(sherpa, options.vadModel, stream.speechThreshold),
        language: new LanguageChoice(model.languages, stream, options.textLanguage),
        load: options.load,
      };
      return new OfflineSession(parts, stream, emit);
    },
  };
}

/**
 * Some seconds of telephone speech, because a model that writes words one after the other costs by the
 * word: noise would cost it next to nothing.
 */
function spokenAudio(): Float32Array {
  const bytes = readFileSync(new URL('measured-speech.ulaw', import.meta.url));
  const audio = new Float32Array(2 * bytes.length);
  for (const [index, byte] of bytes.entries())
    audio.fill((mulawToLinear[byte] ?? 0) / 32768, 2 * index, 2 * index + 2);
  return audio;
}

function measure(sherpa: Sherpa, model: OfflineModel, vadModel: string) {
  const audio = spokenAudio();
  const seconds = audio.length / 16000;
  model.read(audio, ''); // the first reading also allocates
  const voice = new VoiceActivity(sherpa, vadModel, 0.6);
  const listening = leastCpuSeconds(() => voice.accept(audio, () => undefined)) / seconds;
  const reading = leastCpuSeconds(() => model.read(audio, '')) / seconds;
  return { listening, reading };
}

import type { Model } from '../models/model-folder.ts';
import { AudioTrack } from './audio-track.ts';
import { leastCpuSeconds } from './cpu-time.ts';
import type { Engine, EngineOptions } from './engine.ts';
import { LanguageChoice } from './language-choice.ts';
import { OfflineModel, type OfflineDescription } from './offline-model.ts';
import { OfflineSession } from './offline-session.ts';
import { PieceReader } from './piece-reader.ts';
import type { Sherpa } from './sherpa.ts';
import { VoiceActivity } from './voice-activity.ts';

/** Models that read whole pieces, behind voice activity. */
export function openOfflineEngine(
  sherpa: Sherpa,
  folder: Model,
  description: OfflineDescription,
  options: EngineOptions,
): Engine {
  const model = new OfflineModel(sherpa, folder, description);
  return {
    estimatedTimes: model.estimatedTimes,
    measure: () => ({ least: measure(sherpa, model, options.vadModel) }),
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

/** A share of a core for voice detection and one reading of everything, measured on a made-up murmur. */
function measure(sherpa: Sherpa, model: OfflineModel, vadModel: string): number {
  const seconds = 5;
  const audio = Float32Array.from({ length: seconds * 16000 }, (_, i) => {
    const syllable = Math.max(0, Math.sin((2 * Math.PI * 4 * i) / 16000));
    return 0.2 * syllable * Math.sin((2 * Math.PI * (120 + 40 * Math.sin(i / 9000)) * i) / 16000);
  });
  model.read(audio, ''); // the first reading also allocates
  const voice = new VoiceActivity(sherpa, vadModel, 0.6);
  const used = leastCpuSeconds(() => {
    voice.accept(audio, () => undefined);
    model.read(audio, '');
  });
  return used / seconds;
}

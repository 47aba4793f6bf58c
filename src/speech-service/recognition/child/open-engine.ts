import type { Model } from '../../models/model-folder.ts';
import type { Engine, EngineOptions } from './engine.ts';
import { openOfflineEngine } from '../offline/offline-engine.ts';
import type { Sherpa } from './sherpa.ts';
import { openStreamingEngine } from '../streaming/streaming-engine.ts';

export function openEngine(sherpa: Sherpa, model: Model, options: EngineOptions): Engine {
  const { description } = model;
  switch (description.kind) {
    case 'streaming-nemo-ctc':
    case 'streaming-zipformer-ctc':
    case 'streaming-transducer':
      return openStreamingEngine(sherpa, model, description, options.textLanguage);
    case 'moonshine':
    case 'whisper':
    case 'sense-voice':
    case 'nemo-ctc':
    case 'zipformer-ctc':
    case 'nemo-transducer':
    case 'transducer':
      return openOfflineEngine(sherpa, model, description, options);
  }
}

import { join } from 'node:path';
import type { Model, ModelDescription } from '../models/model-folder.ts';
import { leastCpuSeconds } from '../engine/load.ts';
import type { Engine, EngineSession, Arrival, Urgency } from '../engine/engine.ts';
import { LanguageChoice, type TextLanguage } from '../engine/language-choice.ts';
import { pauseOf } from '../pause.ts';
import type {
  RecognisedUtterance,
  RecogniserEvent,
  RecogniserStreamOptions,
} from '../recogniser.ts';
import type {
  OnlineModelFiles,
  OnlineRecognizer,
  OnlineResult,
  OnlineStream,
  Sherpa,
} from '../engine/sherpa.ts';
import { wordsFromTokens } from '../offline/word-times.ts';

type StreamingDescription = Extract<ModelDescription, { kind: `streaming-${string}` }>;

/** The engine counts silence in frames of 40 ms for every model. */
const blankS = 0.04;
/** The engine decodes whole windows only. This much silence at the end pushes out the last one. */
const flushS = 0.8;
/** An utterance that is too long is cut at the next gap between two words, or after this time even inside a word. */
const cutPatienceS = 1;
const progressEveryS = 0.5;
/** Greedy CTC decoding gives no probabilities. This fixed value means neither sure nor unsure. */
const unknownConfidence = 0.8;

export function openStreamingEngine(
  sherpa: Sherpa,
  model: Model,
  description: StreamingDescription,
  textLanguage: TextLanguage,
): Engine {
  const recognizer = new sherpa.OnlineRecognizer({
    featConfig: { sampleRate: description.sampleRate, featureDim: 80 },
    modelConfig: {
      ...modelFiles(model.folder, description),
      tokens: join(model.folder, description.files.tokens),
      numThreads: 1,
      provider: 'cpu',
      debug: 0,
    },
    decodingMethod: 'greedy_search',
    enableEndpoint: false,
  });
  const engine: Engine = {
    estimatedTimes: false,
    readS: 0,
    measure: () => ({ listening: measure(engine), reading: 0 }),
    readingShare: () => 0,
    open: (options, emit) =>
      new StreamingSession(
        recognizer,
        options,
        new LanguageChoice(description.languages, options, textLanguage),
        emit,
      ),
  };
  return engine;
}

function modelFiles(folder: string, description: StreamingDescription): OnlineModelFiles {
  switch (description.kind) {
    case 'streaming-nemo-ctc':
      return { nemoCtc: { model: join(folder, description.files.model) } };
    case 'streaming-zipformer-ctc':
      return { zipformer2Ctc: { model: join(folder, description.files.model) } };
    case 'streaming-transducer': {
      const { encoder, decoder, joiner } = description.files;
      return {
        transducer: {
          encoder: join(folder, encoder),
          decoder: join(folder, decoder),
          joiner: join(folder, joiner),
        },
      };
    }
  }
}

/** A streaming model does the same work for silence as for speech, so silence can measure it. */
function measure(engine: Engine): number {
  const audioS = 2;
  const options = {
    sampleRate: 16000,
    languages: [],
    codeSwitching: false,
    endpointingS: 1,
    maximumDurationS: 5,
    speechThreshold: 0.6,
    audioEnhancer: false,
    recorded: false,
    partials: true,
  };
  const session = engine.open(options, () => undefined);
  const listen = () => {
    for (let at = 0; at < audioS; at += 0.04) {
      session.push(new Float32Array(640));
      session.listen({ atMs: 0, live: false });
    }
  };
  listen(); // the first run also allocates and is not measured
  return leastCpuSeconds(listen) / audioS;
}

class StreamingSession implements EngineSession {
  readonly #recognizer: OnlineRecognizer;
  readonly #stream: OnlineStream;
  readonly #options: RecogniserStreamOptions;
  readonly #language: LanguageChoice;
  readonly #emit: (event: RecogniserEvent) => void;
  readonly #pauseS: number;
  #index = 0;
  #fedS = 0;
  #shown = '';
  #progressS = 0;
  #speaking = false;
  #decodes = 0;
  /** The seconds that the engine hears at once, known once it has heard a window without a token. */
  #windowS = 0;
  /** A streaming model decodes while it listens, so no reading is left for later. */
  readonly settled = true;
  readonly full = false;
  readonly dueMs = undefined;
  readonly firstReadingMs = 0;

  constructor(
    recognizer: OnlineRecognizer,
    options: RecogniserStreamOptions,
    language: LanguageChoice,
    emit: (event: RecogniserEvent) => void,
  ) {
    this.#recognizer = recognizer;
    this.#stream = recognizer.createStream();
    this.#options = options;
    this.#language = language;
    this.#emit = emit;
    this.#pauseS = pauseOf(options.endpointingS);
  }

  push(block: Float32Array): void {
    this.#stream.acceptWaveform({ samples: block, sampleRate: 16000 });
    this.#fedS += block.length / 16000;
  }

  listen(_arrival?: Arrival): void {
    while (this.#recognizer.isReady(this.#stream)) {
      this.#recognizer.decode(this.#stream);
      this.#decodes++;
      this.#look();
    }
  }

  urgency(): Urgency | undefined {
    return undefined;
  }

  step(): void {
    // The loop never calls this, because `urgency` is always undefined.
  }

  finish(): void {
    const endS = this.#fedS;
    for (let at = 0; at < flushS; at += blankS) {
      this.push(new Float32Array(16000 * blankS));
      this.listen();
    }
    const result = this.#recognizer.getResult(this.#stream);
    if (result.tokens.length > 0) this.#final(result, endS);
    this.#emit({ type: 'progress', at: endS });
    this.#emit({ type: 'finished' });
  }

  #look(): void {
    const result = this.#recognizer.getResult(this.#stream);
    const first = result.timestamps[0];
    const last = result.timestamps.at(-1);
    if (first === undefined || last === undefined) {
      if (this.#decodes === 1) this.#windowS = result.num_trailing_blanks * blankS;
      const at = this.#fedS - flushS;
      if (at - this.#progressS >= progressEveryS) this.#progress(at);
      return;
    }
    if (!this.#speaking) {
      this.#speaking = true;
      this.#emit({ type: 'speech-start', at: result.start_time + first });
    }
    const quietS = result.num_trailing_blanks * blankS;
    const decodedS = last + quietS;
    if (quietS >= this.#pauseS) {
      this.#final(result, result.start_time + decodedS);
      return;
    }
    const lengthS = decodedS - first;
    const overdueS = lengthS - this.#options.maximumDurationS;
    if (overdueS >= cutPatienceS || (overdueS >= 0 && quietS >= 2 * blankS)) {
      this.#final(result, result.start_time + decodedS);
      return;
    }
    if (this.#options.partials && result.text !== this.#shown) {
      this.#shown = result.text;
      this.#emit({ type: 'partial', utterance: this.#utterance(result, false) });
    }
  }

  #final(result: OnlineResult, decidedS: number): void {
    const utterance = this.#utterance(result, true);
    this.#emit({ type: 'speech-end', at: utterance.end });
    // The last token is told where it begins, and its sound may go on: a stream that begins there hears the word again.
    const heardS = Math.max(decidedS, Math.min(this.#fedS, this.#decodes * this.#windowS));
    const untilS = Math.max(utterance.end, heardS - 2 * blankS);
    this.#emit({ type: 'final', utterance, decidedS: untilS });
    this.#recognizer.reset(this.#stream);
    this.#index++;
    this.#shown = '';
    this.#speaking = false;
    this.#progress(untilS);
  }

  #progress(at: number): void {
    if (at <= this.#progressS) return;
    this.#progressS = at;
    this.#emit({ type: 'progress', at });
  }

  #utterance(result: OnlineResult, isFinal: boolean): RecognisedUtterance {
    const tokens = result.tokens.map((text, index) => {
      const logProbability = result.ys_probs[index];
      const start = result.start_time + (result.timestamps[index] ?? 0);
      return { text, start, logProbability };
    });
    const words = wordsFromTokens(tokens, {
      endOfAudioS: this.#fedS,
      longestTokenS: 0.2,
      agreedConfidence: unknownConfidence,
    });
    const sum = words.reduce((total, word) => total + word.confidence, 0);
    return {
      index: this.#index,
      text: result.text.trim(),
      start: words[0]?.start ?? result.start_time,
      end: words.at(-1)?.end ?? result.start_time,
      confidence: words.length === 0 ? 0 : sum / words.length,
      language: isFinal
        ? this.#language.ofFinal(result.text, '')
        : this.#language.ofPartial(result.text, ''),
      words,
    };
  }
}

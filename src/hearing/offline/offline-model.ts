import { join } from 'node:path';
import { estimatesTimes, type Model, type ModelDescription } from '../models/model-folder.ts';
import type { ExpectedAnswer, ExpectedWord } from '../expected-words.ts';
import type { LanguageJudge } from '../engine/heard-language.ts';
import { cpuSeconds, ReadingPrice } from '../engine/load.ts';
import type {
  OfflineConfig,
  OfflineModelFiles,
  OfflineRecognizer,
  OfflineResult,
  Sherpa,
} from '../engine/sherpa.ts';

type OfflineDescription = Exclude<ModelDescription, { kind: `streaming-${string}` }>;
/** The models that the native engine reads. */
export type NativeDescription = Exclude<OfflineDescription, { kind: 'whisper-windows' }>;

/**
 * A model's reading of some audio. `ids` are the model's own signs of each token, after which a later reading can
 * continue.
 */
export type PieceResult = OfflineResult & {
  ids?: readonly (readonly number[])[];
  /** For each token, the share of the other likely texts that contain it. Missing if there was only one text. */
  shared?: readonly number[];
  /** True if the audio does not seem to begin with the given words. */
  contradicted?: boolean;
  /** True if the text did not end and was cut at its limit. */
  unended?: boolean;
};

export type ReadingWishes = {
  given?: readonly number[] | undefined;
  hurried?: boolean | undefined;
  sparing?: boolean | undefined;
  /** True if there is time to read a doubted piece again with other margins, so this reading may be a cheap one. */
  firstOnly?: boolean | undefined;
  /** True if the audio ends while somebody speaks. A word that begins at its very end is then dropped. */
  open?: boolean | undefined;
  /** The signs of an earlier reading of nearly the same audio. Confirming the same signs costs less. */
  draft?: readonly number[] | undefined;
  expected?: readonly ExpectedWord[] | undefined;
  /** The kind of answer that the other party asked for. */
  expects?: ExpectedAnswer | undefined;
  /** Chooses the language if none is given, for a model that tells how likely each one is. */
  judge?: LanguageJudge | undefined;
};

/** The interface between the offline engine and a model. */
export type PieceModel = {
  /** The longest audio that is read in one run. */
  readonly longestS: number;
  readonly languages: readonly string[];
  /** False if a reading gives the times of its tokens. */
  readonly estimatedTimes: boolean;
  /** True if a reading can continue after known words. */
  readonly goesOn: boolean;
  /**
   * True if a reading can begin with the known words before a short pause, though it cannot continue across a cut. Not
   * where the language is still chosen by the sound: known words would choose it.
   */
  readonly takesEarlier?: boolean;
  readonly price: ReadingPrice;
  /** True if a reading tells how likely each language is. */
  readonly judgesLanguages?: boolean;
  /** The interval between partials of a model whose readings are expensive. Under load it gives none. */
  readonly partialEveryS?: number;
  /**
   * `language` is the expected language, or '' to detect it; models without languages ignore it. `given` are signs of
   * known words that begin the audio; the result omits them. `hurried` requests the cheapest reading, `sparing` a cheap
   * one where it is as good. `expected` lists words to prefer.
   */
  read(samples: Float32Array, language: string, about?: ReadingWishes): PieceResult;
  /**
   * True if a reading is so unsure that the piece should be read again with other margins. Missing if the model cannot
   * do that.
   */
  doubts?(result: PieceResult, wishes?: Pick<ReadingWishes, 'sparing'>): boolean;
  /** Reads variants of a piece as one text. Its times are those of the first variant, whose reading was doubted. */
  readTogether?(
    first: PieceResult,
    variants: readonly Float32Array[],
    about?: Pick<ReadingWishes, 'sparing'>,
  ): PieceResult;
};

/** A model that the native engine reads. */
export class OfflineModel implements PieceModel {
  readonly longestS: number;
  readonly languages: readonly string[];
  readonly estimatedTimes: boolean;
  readonly goesOn = false;
  readonly price = new ReadingPrice();
  readonly #recognizer: OfflineRecognizer;
  readonly #configOf: (language: string) => OfflineConfig;
  readonly #toldLanguage: boolean;
  #language = '';

  constructor(sherpa: Sherpa, model: Model, description: NativeDescription) {
    this.longestS = longestOf(description.kind);
    this.languages = description.languages;
    this.estimatedTimes = estimatesTimes(description.kind);
    this.#configOf = (language) => ({
      featConfig: { sampleRate: description.sampleRate, featureDim: 80 },
      modelConfig: {
        ...modelFiles(model.folder, description, language),
        tokens: join(model.folder, description.files.tokens),
        numThreads: 1,
        provider: 'cpu',
        debug: 0,
      },
    });
    this.#toldLanguage = description.kind === 'whisper' || description.kind === 'sense-voice';
    this.#recognizer = new sherpa.OfflineRecognizer(this.#configOf(''));
  }

  read(samples: Float32Array, language: string): OfflineResult {
    if (this.#toldLanguage && language !== this.#language) {
      this.#recognizer.setConfig(this.#configOf(language));
      this.#language = language;
    }
    const stream = this.#recognizer.createStream();
    const startedMs = performance.now();
    const cpuS = cpuSeconds(() => {
      stream.acceptWaveform({ samples, sampleRate: 16000 });
      this.#recognizer.decode(stream);
    });
    this.price.note(samples.length / 16000, cpuS, (performance.now() - startedMs) / 1e3);
    return this.#recognizer.getResult(stream);
  }
}

/**
 * The longest piece for each kind of model. For Moonshine above 9.2 s the native engine returns an empty text. Whisper
 * hears 30 s at once.
 */
function longestOf(kind: NativeDescription['kind']): number {
  switch (kind) {
    case 'moonshine':
      return 8.8;
    case 'whisper':
      return 28;
    case 'sense-voice':
    case 'nemo-ctc':
    case 'zipformer-ctc':
    case 'nemo-transducer':
    case 'transducer':
      return 20;
  }
}

function modelFiles(
  folder: string,
  description: NativeDescription,
  language: string,
): OfflineModelFiles {
  const path = (name: string) => join(folder, name);
  switch (description.kind) {
    case 'moonshine':
      return {
        moonshine: {
          encoder: path(description.files.encoder),
          mergedDecoder: path(description.files.decoder),
        },
      };
    case 'whisper': {
      const { encoder, decoder } = description.files;
      return {
        whisper: { encoder: path(encoder), decoder: path(decoder), language, task: 'transcribe' },
      };
    }
    case 'sense-voice':
      return {
        senseVoice: {
          model: path(description.files.model),
          language,
          useInverseTextNormalization: 1,
        },
      };
    case 'nemo-ctc':
      return { nemoCtc: { model: path(description.files.model) } };
    case 'zipformer-ctc':
      return { zipformerCtc: { model: path(description.files.model) } };
    case 'nemo-transducer':
    case 'transducer': {
      const { encoder, decoder, joiner } = description.files;
      return {
        transducer: { encoder: path(encoder), decoder: path(decoder), joiner: path(joiner) },
        modelType: description.kind === 'transducer' ? 'transducer' : 'nemo_transducer',
      };
    }
  }
}

import { cpuSeconds, ReadingPrice } from '../child/load.ts';
import type { OfflineResult } from '../child/sherpa.ts';
import type { PieceModel } from '../offline/offline-model.ts';
import type { MoonshineReader, ReadText } from './moonshine-reader.ts';
import type { EncodedAudio } from './moonshine-steps.ts';

/**
 * So many texts are followed at once. Four cost a third more than one, for partials too: a greedy reading of speech
 * that ends inside a word repeats itself, and four do not.
 */
const beams = 4;
/** A text that is less sure than this, in nats for each token, is worth being read with other margins around it. */
const doubtful = -0.15;
/** The longest piece. The loop itself has no limit; longer pieces are better in quiet and worse in noise. */
const longestS = 8.8;

/** A model that is read by our own loop, as the offline engine sees it. */
export class DecodedModel implements PieceModel {
  readonly longestS = longestS;
  readonly languages: readonly string[];
  readonly estimatedTimes = false;
  readonly price = new ReadingPrice();
  readonly #reader: MoonshineReader;
  /** What the encoder made of a reading, as long as somebody has the reading. */
  readonly #encodings = new WeakMap<OfflineResult, EncodedAudio>();
  readonly #doubted = new WeakSet<OfflineResult>();

  constructor(reader: MoonshineReader, languages: readonly string[]) {
    this.#reader = reader;
    this.languages = languages;
  }

  read(samples: Float32Array): OfflineResult {
    const startedMs = performance.now();
    let encoding: EncodedAudio | undefined;
    let text: ReadText | undefined;
    const cpuS = cpuSeconds(() => {
      encoding = this.#reader.encode(samples);
      text = this.#reader.read([encoding], { beams });
    });
    this.price.note(samples.length / 16000, cpuS, (performance.now() - startedMs) / 1e3);
    const result = resultOf(text);
    if (encoding) this.#encodings.set(result, encoding);
    if (text && text.meanLogProbability < doubtful) this.#doubted.add(result);
    return result;
  }

  doubts(result: OfflineResult): boolean {
    return this.#doubted.has(result);
  }

  readTogether(first: OfflineResult, others: readonly Float32Array[]): OfflineResult {
    let text: ReadText | undefined;
    const cpuS = cpuSeconds(() => {
      const known = this.#encodings.get(first);
      const more = others.map((samples) => this.#reader.encode(samples));
      text = this.#reader.read(known ? [known, ...more] : more, { beams });
    });
    this.price.alsoSpent(cpuS);
    return resultOf(text);
  }
}

function resultOf(text: ReadText | undefined): OfflineResult {
  const tokens = text?.tokens ?? [];
  return {
    text: text?.text ?? '',
    lang: '',
    tokens: tokens.map((token) => token.text),
    timestamps: tokens.map(({ start }) => start),
    durations: [],
    ys_log_probs: tokens.map(({ logProbability }) => logProbability),
  };
}

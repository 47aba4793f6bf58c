import type { NextToken, Steps } from '../decoder/beam-search.ts';
import { logProbability, logProbabilitiesOf } from '../decoder/log-probabilities.ts';
import type { Feeds, Onnx, OnnxSession, Tensor } from '../decoder/onnx.ts';
import { floatsOf, rowsOf } from '../decoder/tensors.ts';
import type { LanguageDistribution } from '../engine/heard-language.ts';

const headSize = 64;

/** The signs that are no text. A model for several languages has some more of them, and therefore other numbers. */
export type WhisperSigns = {
  end: number;
  begin: number;
  noSpeech: number;
  noTimes: number;
  /** The signs of languages, and the sign that asks for the words as they were said. Missing in a model for one. */
  several?: { languages: ReadonlyMap<string, number>; transcribe: number } | undefined;
};

export const englishSigns: WhisperSigns = {
  end: 50_256,
  begin: 50_257,
  noSpeech: 50_361,
  noTimes: 50_362,
};

/** Names the language in which a window must be read. */
export type LanguageOf = (distribution: LanguageDistribution) => string;

/** The facts in which two models of the family differ. */
export type WhisperShape = { layers: number; signs: WhisperSigns };

export function kindsOf(layers: number): string[] {
  return Array.from({ length: layers }, (_, layer) =>
    ['key', 'value'].map((kind) => `${String(layer)}.${kind}`),
  ).flat();
}

type StepOutput = { scores: Float32Array; attention: Float32Array };
export type SuppressedTokens = { always: readonly number[]; atBegin: readonly number[] };

/**
 * The decoder over one window of audio. Its first tokens say that a text begins, in which language, and that no times are
 * wanted in it:
 *
 *     begin ─▶ the probability of no speech, and of each language     language, transcribe     no times ─▶ the first token
 */
export class WhisperSteps implements Steps {
  readonly #onnx: Onnx;
  readonly #decoder: OnnxSession;
  readonly #audio: Feeds;
  readonly #frames: number;
  readonly #signs: WhisperSigns;
  readonly #kinds: readonly string[];
  readonly #languageOf: LanguageOf | undefined;
  readonly #suppressed: SuppressedTokens;
  #past: Feeds = {};
  #position = 0;
  /** The probability that the window holds no speech, known after the first step. */
  noSpeech = 0;
  /** The distribution over languages and the chosen one, known after the first step of a model for several. */
  distribution: LanguageDistribution = new Map();
  language = '';

  /** `frames` counts the frames that hold audio. Tokens are not placed after them. */
  constructor(
    parts: { onnx: Onnx; decoder: OnnxSession; suppressed: SuppressedTokens; shape: WhisperShape },
    { audio, frames, languageOf }: { audio: Feeds; frames: number; languageOf?: LanguageOf },
  ) {
    this.#onnx = parts.onnx;
    this.#decoder = parts.decoder;
    this.#suppressed = parts.suppressed;
    this.#audio = audio;
    this.#frames = frames;
    this.#signs = parts.shape.signs;
    this.#kinds = kindsOf(parts.shape.layers);
    this.#languageOf = languageOf;
  }

  first(): NextToken {
    this.#begin();
    const { noTimes, several } = this.#signs;
    if (several) {
      this.#run([several.languages.get(this.language) ?? noTimes]);
      this.#run([several.transcribe]);
    }
    const [said] = this.#run([noTimes]);
    return this.#allowed(said, this.#suppressed.atBegin);
  }

  /** The distribution over languages alone, for one step. */
  languages(): LanguageDistribution {
    this.#begin();
    return this.distribution;
  }

  #begin(): void {
    const { begin, noSpeech, several } = this.#signs;
    const heads = this.#audio['audio.0.key']?.dims[0] ?? 0;
    const none = this.#onnx.floats(new Float32Array(0), [1, heads, 0, headSize]);
    this.#past = Object.fromEntries(this.#kinds.map((kind) => [`past.${kind}`, none]));
    const [begun] = this.#run([begin]);
    if (!begun) return;
    this.noSpeech = Math.exp(logProbability(logProbabilitiesOf(begun.scores), noSpeech));
    if (!several) return;
    this.distribution = distributionOf(begun.scores, several.languages);
    this.language = this.#languageOf?.(this.distribution) ?? likeliestOf(this.distribution);
  }

  next(beams: readonly { parent: number; token: number }[]): NextToken[] {
    const parents = beams.map(({ parent }) => parent);
    this.#past = Object.fromEntries(
      Object.entries(this.#past).map(([name, kept]) => [name, rowsOf(this.#onnx, kept, parents)]),
    );
    return this.#run(beams.map(({ token }) => token)).map((said) => this.#allowed(said));
  }

  #run(tokens: readonly number[]): StepOutput[] {
    const out = this.#decoder.run(
      {
        ...this.#audio,
        ...this.#past,
        token: this.#onnx.integers(BigInt64Array.from(tokens, BigInt), [tokens.length]),
        position: this.#onnx.integers(BigInt64Array.of(BigInt(this.#position++)), [1]),
      },
      ['logits', 'attention', ...this.#kinds.map((kind) => `present.${kind}`)],
    );
    this.#past = Object.fromEntries(
      this.#kinds.flatMap((kind): [string, Tensor][] => {
        const present = out[`present.${kind}`];
        return present ? [[`past.${kind}`, present]] : [];
      }),
    );
    const scores = floatsOf(out['logits']);
    const looks = floatsOf(out['attention']);
    const size = scores.length / tokens.length;
    const frames = looks.length / tokens.length;
    return tokens.map((_, row) => ({
      scores: scores.subarray(row * size, (row + 1) * size),
      attention: looks.slice(row * frames, row * frames + Math.min(frames, this.#frames)),
    }));
  }

  #allowed(said: StepOutput | undefined, also: readonly number[] = []): NextToken {
    if (!said) throw new Error('the decoder gave no row for a beam');
    const { scores, attention } = said;
    scores.fill(-Infinity, this.#signs.begin);
    for (const token of this.#suppressed.always) scores[token] = -Infinity;
    for (const token of also) scores[token] = -Infinity;
    return { ...logProbabilitiesOf(scores), attention };
  }
}

/** The log-probabilities of the languages among themselves. */
function distributionOf(
  scores: Float32Array,
  languages: ReadonlyMap<string, number>,
): LanguageDistribution {
  const own = [...languages].map(([code, sign]) => [code, scores[sign] ?? -Infinity] as const);
  const most = Math.max(...own.map(([, score]) => score));
  const sum = Math.log(own.reduce((total, [, score]) => total + Math.exp(score - most), 0));
  return new Map(own.map(([code, score]) => [code, score - most - sum]));
}

function likeliestOf(distribution: LanguageDistribution): string {
  let best = '';
  let most = -Infinity;
  for (const [code, value] of distribution)
    if (value > most) {
      best = code;
      most = value;
    }
  return best;
}

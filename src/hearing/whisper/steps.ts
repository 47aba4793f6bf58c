import type { NextToken, Steps } from '../decoder/beam-search.ts';
import { logProbability, logProbabilitiesOf } from '../decoder/log-probabilities.ts';
import type { Feeds, Onnx, OnnxSession, Tensor } from '../decoder/onnx.ts';
import { floatsOf, rowsOf } from '../decoder/tensors.ts';

const layers = 4;
const heads = 6;
const headSize = 64;
const audioFrames = 1_500;

export const endToken = 50_256;
const beginToken = 50_257;
const noSpeechToken = 50_361;
const noTimesToken = 50_362;

const kinds = Array.from({ length: layers }, (_, layer) =>
  ['key', 'value'].map((kind) => `${String(layer)}.${kind}`),
).flat();
export const audioOutputs = kinds.map((kind) => `audio.${kind}`);
const presents = kinds.map((kind) => `present.${kind}`);

type StepOutput = { scores: Float32Array; attention: Float32Array };
export type SuppressedTokens = { always: readonly number[]; atBegin: readonly number[] };

/**
 * The decoder over one window of audio. Its first tokens say that a text begins, and that no times are wanted in it:
 *
 *     begin ─▶ the probability of no speech     no times ─▶ the first token     a token ─▶ the next token
 */
export class WhisperSteps implements Steps {
  readonly #onnx: Onnx;
  readonly #decoder: OnnxSession;
  readonly #audio: Feeds;
  readonly #frames: number;
  readonly #suppressed: SuppressedTokens;
  #past: Feeds = {};
  #position = 0;
  /** The probability that the window holds no speech, known after the first step. */
  noSpeech = 0;

  /** `frames` counts the frames that hold audio. Tokens are not placed after them. */
  constructor(
    parts: { onnx: Onnx; decoder: OnnxSession; suppressed: SuppressedTokens },
    { audio, frames }: { audio: Feeds; frames: number },
  ) {
    this.#onnx = parts.onnx;
    this.#decoder = parts.decoder;
    this.#suppressed = parts.suppressed;
    this.#audio = audio;
    this.#frames = frames;
  }

  first(): NextToken {
    const none = this.#onnx.floats(new Float32Array(0), [1, heads, 0, headSize]);
    this.#past = Object.fromEntries(kinds.map((kind) => [`past.${kind}`, none]));
    const [begun] = this.#run([beginToken]);
    if (begun)
      this.noSpeech = Math.exp(logProbability(logProbabilitiesOf(begun.scores), noSpeechToken));
    const [said] = this.#run([noTimesToken]);
    return this.#allowed(said, this.#suppressed.atBegin);
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
      ['logits', 'attention', ...presents],
    );
    this.#past = Object.fromEntries(
      kinds.flatMap((kind): [string, Tensor][] => {
        const present = out[`present.${kind}`];
        return present ? [[`past.${kind}`, present]] : [];
      }),
    );
    const scores = floatsOf(out['logits']);
    const looks = floatsOf(out['attention']);
    const size = scores.length / tokens.length;
    return tokens.map((_, row) => ({
      scores: scores.subarray(row * size, (row + 1) * size),
      attention: looks.slice(row * audioFrames, row * audioFrames + this.#frames),
    }));
  }

  #allowed(said: StepOutput | undefined, also: readonly number[] = []): NextToken {
    if (!said) throw new Error('the decoder gave no row for a beam');
    const { scores, attention } = said;
    scores.fill(-Infinity, beginToken);
    for (const token of this.#suppressed.always) scores[token] = -Infinity;
    for (const token of also) scores[token] = -Infinity;
    return { ...logProbabilitiesOf(scores), attention };
  }
}

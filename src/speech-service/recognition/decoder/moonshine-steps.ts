import type { NextToken, Steps } from './beam-search.ts';
import { logProbabilitiesOf, meanOf } from './log-probabilities.ts';
import { type AttentionOutput, samplesOfFrame } from './moonshine-graph.ts';
import type { Feeds, Onnx, OnnxSession, Tensor } from './onnx.ts';
import { floatsOf, rowsOf } from './tensors.ts';

export const beginToken = 1;
export const endToken = 2;

/** What the encoder made of some audio: a row of numbers for each frame. */
export type EncodedAudio = { hidden: Tensor; frames: number; seconds: number };

export type MoonshineDecoder = {
  onnx: Onnx;
  session: OnnxSession;
  attention: AttentionOutput;
  layers: number;
  heads: number;
  headSize: number;
};

/**
 * The decoder over one encoding. The keys and values of the audio are computed with the first token and stay; those of
 * the tokens grow by one with every step, for each beam:
 *
 *     first     audio ─▶ keys of the audio ┐
 *               begin ─▶ keys of tokens ───┴▶ what the first token is
 *     next      a token for each beam, the keys of the beam that it continues ─▶ what comes after
 */
class OneReading implements Steps {
  readonly #decoder: MoonshineDecoder;
  readonly #frames: number;
  readonly #fixed: Feeds;
  readonly #tokenKeys: readonly string[];
  readonly #timed: boolean;
  #audio: Feeds = {};
  #tokens: Feeds = {};

  constructor(decoder: MoonshineDecoder, { hidden, frames }: EncodedAudio, timed: boolean) {
    const { onnx } = decoder;
    this.#decoder = decoder;
    this.#frames = frames;
    this.#timed = timed;
    const length = frames * samplesOfFrame;
    this.#fixed = {
      encoder_hidden_states: hidden,
      // Every 384th value is looked at, so the mask counts in samples although the encoding counts in frames.
      encoder_attention_mask: onnx.integers(new BigInt64Array(length).fill(1n), [1, length]),
    };
    this.#tokenKeys = keysOf(decoder.layers, 'decoder');
  }

  first(): NextToken {
    const { onnx, session, layers, heads, headSize } = this.#decoder;
    const audioKeys = keysOf(layers, 'encoder');
    const none = onnx.floats(new Float32Array(0), [1, heads, 0, headSize]);
    const zeros = new Float32Array(heads * this.#frames * headSize);
    const empty = onnx.floats(zeros, [1, heads, this.#frames, headSize]);
    const begin = {
      ...this.#fixed,
      input_ids: onnx.integers(BigInt64Array.of(BigInt(beginToken)), [1, 1]),
      ...past(this.#tokenKeys.map((key) => [key, none])),
    };
    const out = session.run(
      {
        ...begin,
        use_cache_branch: onnx.flag(false),
        ...past(audioKeys.map((key) => [key, empty])),
      },
      ['logits', ...[...this.#tokenKeys, ...audioKeys].map((key) => `present.${key}`)],
    );
    this.#audio = past(audioKeys.map((key) => [key, out[`present.${key}`]]));
    this.#tokens = past(this.#tokenKeys.map((key) => [key, out[`present.${key}`]]));
    const [first = logProbabilitiesOf(new Float32Array(0))] = this.#said(out, 1);
    if (!this.#timed) return first;
    // Only the branch for later tokens tells its attention, so the begin goes through that one, too.
    const { output } = this.#decoder.attention;
    const again = session.run({ ...begin, use_cache_branch: onnx.flag(true), ...this.#audio }, [
      output,
    ]);
    return { ...first, attention: this.#attended(again, 1)[0] };
  }

  next(beams: readonly { parent: number; token: number }[]): NextToken[] {
    const { onnx, session, attention } = this.#decoder;
    const parents = beams.map(({ parent }) => parent);
    const ids = BigInt64Array.from(beams, ({ token }) => BigInt(token));
    const tokens = Object.entries(this.#tokens).map(
      ([name, kept]) => [name, rowsOf(onnx, kept, parents)] as const,
    );
    const out = session.run(
      {
        // The audio's own stay one row: the graph spreads them over the beams, which is cheaper than copies.
        ...this.#fixed,
        ...this.#audio,
        ...Object.fromEntries(tokens),
        input_ids: onnx.integers(ids, [beams.length, 1]),
        use_cache_branch: onnx.flag(true),
      },
      [
        'logits',
        ...(this.#timed ? [attention.output] : []),
        ...this.#tokenKeys.map((key) => `present.${key}`),
      ],
    );
    this.#tokens = past(this.#tokenKeys.map((key) => [key, out[`present.${key}`]]));
    const attended = this.#timed ? this.#attended(out, beams.length) : [];
    return this.#said(out, beams.length).map((said, beam) => ({
      ...said,
      attention: attended[beam],
    }));
  }

  #said(out: Record<string, Tensor>, rows: number): NextToken[] {
    const scores = floatsOf(out['logits']);
    const size = scores.length / rows;
    return Array.from({ length: rows }, (_, row) =>
      logProbabilitiesOf(scores.subarray(row * size, (row + 1) * size)),
    );
  }

  /** For each beam what the head pays to each frame; the output is [beam, head, 1, frame]. */
  #attended(out: Record<string, Tensor>, rows: number): Float32Array[] {
    const { heads, attention } = this.#decoder;
    const all = floatsOf(out[attention.output]);
    const size = all.length / rows / heads;
    return Array.from({ length: rows }, (_, row) => {
      const from = (row * heads + attention.head) * size;
      return all.slice(from, from + size);
    });
  }
}

/**
 * Reads several encodings of the same speech as one text: at each step the mean of what they say. Each has a decoder of
 * its own, because encodings in one batch would need copies of their keys for every beam. The times are those of the
 * first encoding.
 */
export function stepsOver(
  decoder: MoonshineDecoder,
  encodings: readonly EncodedAudio[],
  timed: boolean,
): Steps {
  const readings = encodings.map(
    (encoding, index) => new OneReading(decoder, encoding, timed && index === 0),
  );
  const [only] = readings;
  if (only && readings.length === 1) return only;
  const together = (said: readonly NextToken[]): NextToken => ({
    ...meanOf(said),
    attention: said[0]?.attention,
  });
  return {
    first: () => together(readings.map((reading) => reading.first())),
    next(beams) {
      const said = readings.map((reading) => reading.next(beams));
      return beams.map((_, beam) => together(said.flatMap((rows) => rows[beam] ?? [])));
    },
  };
}

function keysOf(layers: number, of: 'encoder' | 'decoder'): string[] {
  return Array.from({ length: layers }, (_, layer) =>
    ['key', 'value'].map((kind) => `${String(layer)}.${of}.${kind}`),
  ).flat();
}

function past(entries: readonly (readonly [key: string, value: Tensor | undefined])[]): Feeds {
  const feeds: Feeds = {};
  for (const [key, value] of entries) if (value) feeds[`past_key_values.${key}`] = value;
  return feeds;
}

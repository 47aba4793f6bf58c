import type { NextToken, Steps } from './beam-search.ts';
import { meanOf } from './log-probabilities.ts';
import { pastKeys, presentKeys, toldTokens } from '../making/moonshine/moonshine-decoder.ts';
import { KeyRoom } from './key-room.ts';
import { heads, headSize } from '../making/moonshine/moonshine-layers.ts';
import type { Feeds, Onnx, OnnxSession, Tensor } from './onnx.ts';
import { floatsOf } from './tensors.ts';

export const beginToken = 1;
export const endToken = 2;

/**
 * The encoder's output: the keys and values that each token attends to. It may hold several encodings, each with its
 * own length.
 */
export type EncodedAudio = { keys: Feeds; lengths: readonly number[]; seconds: number };

/** The decoder's graph, with memory for each reading in progress. */
export type MoonshineDecoder = { onnx: Onnx; session: OnnxSession; rooms: KeyRoom[] };

/** The optional outputs of a reading beside the likeliest tokens. */
export type WantedScores = {
  /** True to return the attention of each token. */
  timed: boolean;
  /** True to return the scores of all tokens, not only of the likeliest. */
  whole: boolean;
};

/**
 * The decoder over one encoding, or over several side by side. The keys and values of the tokens grow by one with every
 * step, for each beam. Two readings with the same `place` share their memory: only the reading that was begun last can
 * go on.
 *
 *     first     begin, known tokens ─▶ what comes after them
 *     next      a token for each beam, and the beam that it continues ─▶ what comes after it
 */
class OneReading implements Steps {
  readonly #decoder: MoonshineDecoder;
  /** The number of encodings side by side. */
  readonly #count: number;
  /** The inputs that describe the audio. They do not change between steps. */
  readonly #audio: Feeds;
  readonly #wanted: WantedScores;
  readonly #room: KeyRoom;
  #past: Feeds = {};
  #place = 0;
  /** The number of texts in the last step. It is 0 before the first step, which continues the empty text. */
  #texts = 0;

  constructor(
    decoder: MoonshineDecoder,
    audio: EncodedAudio,
    wanted: WantedScores & { place: number },
  ) {
    this.#decoder = decoder;
    this.#count = audio.lengths.length;
    const shares = new Float32Array(this.#count).fill(1 / this.#count);
    this.#audio = {
      ...audio.keys,
      lengths: decoder.onnx.lengths(audio.lengths),
      shares: decoder.onnx.floats(shares, [1, this.#count]),
    };
    this.#wanted = wanted;
    this.#room = decoder.rooms[wanted.place] ??= new KeyRoom(decoder.onnx, presentKeys);
  }

  first(): NextToken {
    const [said] = this.#begin([beginToken], [endToken]);
    return said ?? nothing;
  }

  after(tokens: readonly number[]): NextToken[] {
    const all = [beginToken, ...tokens];
    return this.#begin(all, [...tokens, endToken]);
  }

  keep(count: number): void {
    const { onnx } = this.#decoder;
    const kept = count + 1; // plus the begin token
    if (kept >= this.#place) return;
    for (const [name, tensor] of Object.entries(this.#past)) {
      const all = floatsOf(tensor);
      const [rows = 0] = tensor.dims;
      const size = all.length / (rows * heads);
      const part = new Float32Array(rows * heads * kept * headSize);
      for (let head = 0; head < rows * heads; head++)
        part.set(all.subarray(head * size, head * size + kept * headSize), head * kept * headSize);
      this.#past[name] = onnx.floats(part, [rows, heads, kept, headSize]);
    }
    this.#place = kept;
  }

  next(beams: readonly { parent: number; token: number }[]): NextToken[] {
    return this.#run(
      beams.map(({ token }) => token),
      {
        parents: beams.map(({ parent }) => parent),
        asked: beams.map(() => endToken),
      },
    );
  }

  #begin(tokens: readonly number[], asked: readonly number[]): NextToken[] {
    const none = this.#decoder.onnx.floats(new Float32Array(0), [1, heads, 0, headSize]);
    this.#past = Object.fromEntries(pastKeys.map((key) => [key, none]));
    this.#place = 0;
    this.#texts = 0;
    return this.#run(tokens, { parents: [0], asked });
  }

  #run(
    tokens: readonly number[],
    { parents, asked }: { parents: readonly number[]; asked: readonly number[] },
  ): NextToken[] {
    const { onnx, session } = this.#decoder;
    const { timed, whole } = this.#wanted;
    const texts = parents.length;
    const each = tokens.length / texts;
    const rows = this.#count * texts;
    const numbers = (values: readonly number[], dims: readonly number[]) =>
      onnx.integers(BigInt64Array.from(values, BigInt), dims);
    /** Repeats the values for each encoding. Its rows come after the rows of the previous encodings. */
    const forAll = (values: readonly number[], rowsBefore: number) =>
      Array.from({ length: this.#count }, (_, index) =>
        values.map((value) => index * rowsBefore + value),
      ).flat();
    const made = this.#room.next([rows, heads, this.#place + each, headSize]);
    const out = session.run(
      {
        ...this.#audio,
        ...this.#past,
        tokens: numbers(forAll(tokens, 0), [rows, each]),
        place: numbers([this.#place], [1]),
        parents: numbers(forAll(parents, this.#texts), [rows]),
        asked: numbers(asked, [asked.length]),
      },
      [
        'best',
        'bestTokens',
        'askedScores',
        ...(whole ? ['scores'] : []),
        ...(timed ? ['attention'] : []),
      ],
      made,
    );
    this.#place += each;
    this.#texts = texts;
    for (const [index, key] of presentKeys.entries()) {
      const present = made[key];
      if (present) this.#past[pastKeys[index] ?? ''] = present;
    }
    return saidOf(out, asked, { timed, whole });
  }
}

const noScores = new Float32Array(0);
const nothing: NextToken = { scores: noScores, norm: 0 };

function saidOf(
  out: Record<string, Tensor>,
  asked: readonly number[],
  { timed, whole }: WantedScores,
): NextToken[] {
  const best = floatsOf(out['best']);
  const tokens = out['bestTokens']?.data;
  const askedScores = floatsOf(out['askedScores']);
  const scores = whole ? floatsOf(out['scores']) : noScores;
  const vocabulary = scores.length / asked.length;
  const attention = timed ? floatsOf(out['attention']) : undefined;
  const frames = out['attention']?.dims[1] ?? 0;
  return asked.map((token, row) => {
    const likely = new Map<number, number>();
    for (let at = row * toldTokens; at < (row + 1) * toldTokens; at++)
      likely.set(Number(tokens?.[at]), best[at] ?? -Infinity);
    likely.set(token, askedScores[row] ?? -Infinity); // stored behind the likeliest tokens, unless it is one of them
    return {
      scores: scores.subarray(row * vocabulary, (row + 1) * vocabulary),
      norm: 0,
      best: likely,
      attention: attention?.slice(row * frames, (row + 1) * frames),
    };
  });
}

/**
 * Combines several encodings of the same speech, padded to the longest. A text then has one row for each encoding, and
 * each step returns the mean over its rows. The times are those of the first encoding.
 */
function together(onnx: Onnx, encodings: readonly EncodedAudio[]): EncodedAudio {
  const [first] = encodings;
  if (!first || encodings.length === 1) return first ?? { keys: {}, lengths: [0], seconds: 0 };
  const lengths = encodings.flatMap((one) => one.lengths);
  const longest = Math.max(...lengths);
  const keys: Feeds = {};
  for (const name of Object.keys(first.keys)) {
    const all = new Float32Array(encodings.length * heads * longest * headSize);
    for (const [index, encoding] of encodings.entries()) {
      const own = floatsOf(encoding.keys[name]);
      const size = own.length / heads;
      for (let head = 0; head < heads; head++)
        all.set(
          own.subarray(head * size, (head + 1) * size),
          (index * heads + head) * longest * headSize,
        );
    }
    keys[name] = onnx.floats(all, [encodings.length, heads, longest, headSize]);
  }
  return { keys, lengths, seconds: first.seconds };
}

/**
 * Reads several encodings of the same speech as one text: each step returns the mean over the encodings. The times are
 * those of the first one. In parallel they cost a third less, and 0.1 points more words are wrong, because all
 * encodings are rounded with one scale.
 */
export function stepsOver(
  decoder: MoonshineDecoder,
  encodings: readonly EncodedAudio[],
  { timed, whole, sideBySide = false }: WantedScores & { sideBySide?: boolean | undefined },
): Steps {
  if (sideBySide || encodings.length < 2)
    return new OneReading(decoder, together(decoder.onnx, encodings), { timed, whole, place: 0 });
  const readings = encodings.map(
    (encoding, place) =>
      new OneReading(decoder, encoding, { timed: timed && place === 0, whole: true, place }),
  );
  const mean = (said: readonly NextToken[]): NextToken => ({
    ...meanOf(said),
    attention: said[0]?.attention,
  });
  return {
    first: () => mean(readings.map((reading) => reading.first())),
    after(tokens) {
      const all = readings.map((reading) => reading.after(tokens));
      return [0, ...tokens].map((_, at) => mean(all.flatMap((said) => said[at] ?? [])));
    },
    keep(count) {
      for (const reading of readings) reading.keep(count);
    },
    next(beams) {
      const said = readings.map((reading) => reading.next(beams));
      return beams.map((_, beam) => mean(said.flatMap((rows) => rows[beam] ?? [])));
    },
  };
}

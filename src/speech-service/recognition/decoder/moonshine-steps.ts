import type { NextToken, Steps } from './beam-search.ts';
import { meanOf } from './log-probabilities.ts';
import { pastKeys, presentKeys, toldTokens } from './moonshine-decoder.ts';
import { KeyRoom } from './key-room.ts';
import { heads, headSize } from './moonshine-layers.ts';
import type { Feeds, Onnx, OnnxSession, Tensor } from './onnx.ts';
import { floatsOf } from './tensors.ts';

export const beginToken = 1;
export const endToken = 2;

/** What the encoder made of some audio: the keys and values at which each token looks. */
export type EncodedAudio = { keys: Feeds; frames: number; seconds: number };

/** The graph, and memory for each of the readings that are made side by side. */
export type MoonshineDecoder = { onnx: Onnx; session: OnnxSession; rooms: KeyRoom[] };

/** What is wanted of a reading besides the likeliest tokens. */
export type WantedScores = {
  /** Where each token looks. */
  timed: boolean;
  /** The scores of all tokens and not of the likeliest alone. */
  whole: boolean;
};

/**
 * The decoder over one encoding. The keys and values of the tokens grow by one with every step, for each beam:
 *
 *     first     begin, known tokens ─▶ what comes after them
 *     next      a token for each beam, and the beam that it continues ─▶ what comes after it
 */
class OneReading implements Steps {
  readonly #decoder: MoonshineDecoder;
  readonly #audio: EncodedAudio;
  readonly #wanted: WantedScores;
  readonly #room: KeyRoom;
  #past: Feeds = {};
  #place = 0;

  /** Of two readings with the same `place` side by side, only the one that was made last can go on. */
  constructor(
    decoder: MoonshineDecoder,
    audio: EncodedAudio,
    wanted: WantedScores & { place: number },
  ) {
    this.#decoder = decoder;
    this.#audio = audio;
    this.#wanted = wanted;
    this.#room = decoder.rooms[wanted.place] ??= new KeyRoom(decoder.onnx, presentKeys);
  }

  first(): NextToken {
    const [said] = this.#begin([beginToken], [0], this.#wanted.whole);
    return said ?? nothing;
  }

  after(tokens: readonly number[], whole: boolean): NextToken[] {
    const all = [beginToken, ...tokens];
    return this.#begin(all, [...all.keys()], whole || this.#wanted.whole);
  }

  keep(count: number): void {
    const { onnx } = this.#decoder;
    const kept = count + 1; // the begin, too
    if (kept >= this.#place) return;
    for (const [name, tensor] of Object.entries(this.#past)) {
      const all = floatsOf(tensor);
      const size = all.length / heads;
      const part = new Float32Array(heads * kept * headSize);
      for (let head = 0; head < heads; head++)
        part.set(all.subarray(head * size, head * size + kept * headSize), head * kept * headSize);
      this.#past[name] = onnx.floats(part, [1, heads, kept, headSize]);
    }
    this.#place = kept;
  }

  next(beams: readonly { parent: number; token: number }[]): NextToken[] {
    return this.#run(
      beams.map(({ token }) => token),
      {
        parents: beams.map(({ parent }) => parent),
        told: [...beams.keys()],
        whole: this.#wanted.whole,
      },
    );
  }

  #begin(tokens: readonly number[], told: readonly number[], whole: boolean): NextToken[] {
    const none = this.#decoder.onnx.floats(new Float32Array(0), [1, heads, 0, headSize]);
    this.#past = Object.fromEntries(pastKeys.map((key) => [key, none]));
    this.#place = 0;
    return this.#run(tokens, { parents: [0], told, whole });
  }

  #run(
    tokens: readonly number[],
    about: { parents: readonly number[]; told: readonly number[]; whole: boolean },
  ): NextToken[] {
    const { onnx, session } = this.#decoder;
    const { timed } = this.#wanted;
    const { parents, told, whole } = about;
    const numbers = (values: readonly number[], dims: readonly number[]) =>
      onnx.integers(BigInt64Array.from(values, BigInt), dims);
    const each = tokens.length / parents.length;
    const made = this.#room.next([parents.length, heads, this.#place + each, headSize]);
    const out = session.run(
      {
        ...this.#audio.keys,
        ...this.#past,
        tokens: numbers(tokens, [parents.length, each]),
        place: numbers([this.#place], [1]),
        parents: numbers(parents, [parents.length]),
        told: numbers(told, [told.length]),
      },
      ['best', 'bestTokens', ...(whole ? ['scores'] : []), ...(timed ? ['attention'] : [])],
      made,
    );
    this.#place += each;
    for (const [index, key] of presentKeys.entries()) {
      const present = made[key];
      if (present) this.#past[pastKeys[index] ?? ''] = present;
    }
    return saidOf(out, told, { timed, whole });
  }
}

const noScores = new Float32Array(0);
const nothing: NextToken = { scores: noScores, norm: 0 };

function saidOf(
  out: Record<string, Tensor>,
  told: readonly number[],
  { timed, whole }: WantedScores,
): NextToken[] {
  const best = floatsOf(out['best']);
  const tokens = out['bestTokens']?.data;
  const scores = whole ? floatsOf(out['scores']) : noScores;
  const vocabulary = scores.length / told.length;
  const attention = timed ? floatsOf(out['attention']) : undefined;
  const frames = out['attention']?.dims[1] ?? 0;
  return told.map((row, index) => {
    const likely = new Map<number, number>();
    for (let at = index * toldTokens; at < (index + 1) * toldTokens; at++)
      likely.set(Number(tokens?.[at]), best[at] ?? -Infinity);
    return {
      scores: scores.subarray(index * vocabulary, (index + 1) * vocabulary),
      norm: 0,
      best: likely,
      attention: attention?.slice(row * frames, (row + 1) * frames),
    };
  });
}

/**
 * Reads several encodings of the same speech as one text: at each step the mean of what they say. Each has a decoder of
 * its own, because encodings in one batch would need copies of their keys for every beam. The times are those of the
 * first encoding.
 */
export function stepsOver(
  decoder: MoonshineDecoder,
  encodings: readonly EncodedAudio[],
  { timed, whole }: WantedScores,
): Steps {
  const readings = encodings.map(
    (encoding, index) =>
      new OneReading(decoder, encoding, {
        place: index,
        timed: timed && index === 0,
        whole: whole || encodings.length > 1,
      }),
  );
  const [only] = readings;
  if (only && readings.length === 1) return only;
  const together = (said: readonly NextToken[]): NextToken => ({
    ...meanOf(said),
    attention: said[0]?.attention,
  });
  return {
    first: () => together(readings.map((reading) => reading.first())),
    after(tokens, whole) {
      const all = readings.map((reading) => reading.after(tokens, whole));
      return [0, ...tokens].map((_, at) => together(all.flatMap((said) => said[at] ?? [])));
    },
    keep(count) {
      for (const reading of readings) reading.keep(count);
    },
    next(beams) {
      const said = readings.map((reading) => reading.next(beams));
      return beams.map((_, beam) => together(said.flatMap((rows) => rows[beam] ?? [])));
    },
  };
}

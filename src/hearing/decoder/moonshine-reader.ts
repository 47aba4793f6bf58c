import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../lib/errors.ts';
import { mean } from '../../lib/mean.ts';
import type { Model } from '../models/model-folder.ts';
import { beamSearch, type TokenBias } from './beam-search.ts';
import { decoderGraph, taughtTokensOf } from '../making/moonshine/moonshine-decoder.ts';
import { encoderGraph, secondOf } from '../making/moonshine/moonshine-encoder.ts';
import { audioKeys, isKnown } from '../making/moonshine/moonshine-layers.ts';
import {
  type EncodedAudio,
  endToken,
  type MoonshineDecoder,
  stepsOver,
} from './moonshine-steps.ts';
import { likelihoodsOf } from './likelihood.ts';
import { loadOnnx, type Onnx, type OnnxSession } from './onnx.ts';
import { OrtFile } from '../making/moonshine/ort-file.ts';
import { mostTokensOf, type TimedText, timedText } from './timed-text.ts';
import { spaceSign, TokenTable } from '../making/token-table.ts';

export type ReadText = TimedText & {
  /** The mean log-probability of all tokens including the end. It is the model's confidence in the whole text. */
  meanLogProbability: number;
  /** The mean log-probability of the given words, or 0 without any. */
  givenLogProbability: number;
  /** False if the text did not end and was cut at its limit. */
  ended: boolean;
};

export type ReadOptions = {
  /** Number of texts that the search follows at once. */
  beams: number;
  /** Tokens that are known to be said first. The resulting text continues after them and does not contain them. */
  given?: readonly number[] | undefined;
  /** The tokens of an earlier reading of nearly the same audio. */
  draft?: readonly number[] | undefined;
  bias?: TokenBias | undefined;
  /** True if the audio ends while somebody speaks. A word that begins at its very end is then dropped. */
  open?: boolean | undefined;
  /** Reads several encodings in one run, which is cheaper than one after the other. */
  sideBySide?: boolean | undefined;
};

/** If the audio continues, a word that begins in its last 0.2 s is at best half a word. */
const openFrames = 8;
/** The encoder throws for shorter audio, so silence is appended to it. */
const shortestSamples = 3200;

/** A Moonshine model in our own decoding loop: beams, several encodings read as one text, word times. */
export class MoonshineReader {
  readonly #onnx: Onnx;
  readonly #encoder: OnnxSession;
  readonly #decoder: MoonshineDecoder;
  readonly table: TokenTable;

  private constructor(
    onnx: Onnx,
    parts: {
      encoder: OnnxSession;
      decoder: MoonshineDecoder;
      table: TokenTable;
    },
  ) {
    this.#onnx = onnx;
    this.#encoder = parts.encoder;
    this.#decoder = parts.decoder;
    this.table = parts.table;
  }

  /** Opens a model, or returns the reason why this loop cannot read it. Another engine then reads it. */
  static async open({
    folder,
    description,
  }: Model): Promise<{ reader: MoonshineReader } | { failure: string }> {
    if (description.kind !== 'moonshine')
      return { failure: `the decoder knows no ${description.kind} models` };
    const { files } = description;
    const written = {
      encoder: await readFile(join(folder, files.encoder)),
      decoder: await readFile(join(folder, files.decoder)),
    };
    for (const part of ['encoder', 'decoder'] as const)
      if (!isKnown(part, written[part]))
        return { failure: `${files[part]} is not a file that the decoder knows` };
    const onnx = loadOnnx();
    if ('missing' in onnx) return { failure: `the runtime cannot be loaded: ${onnx.missing}` };
    try {
      const table = TokenTable.read(await readFile(join(folder, files.tokens), 'utf8'));
      return { reader: await MoonshineReader.#load(onnx, written, table) };
    } catch (error) {
      return { failure: `the runtime refuses the model: ${reasonOf(error)}` };
    }
  }

  static async #load(
    onnx: Onnx,
    written: { encoder: Uint8Array; decoder: Uint8Array },
    table: TokenTable,
  ): Promise<MoonshineReader> {
    const weights = {
      encoder: new OrtFile(written.encoder),
      decoder: new OrtFile(written.decoder),
    };
    const taught = taughtTokensOf(weights.decoder, table);
    const session = await onnx.open(decoderGraph(weights.decoder, taught));
    const encoder = await onnx.open(encoderGraph(weights.encoder, weights.decoder));
    return new MoonshineReader(onnx, {
      encoder,
      decoder: { onnx, session, rooms: [] },
      table: table.only(taught),
    });
  }

  /**
   * Encodes audio, which is the expensive step of a reading. The encoding can be read several times, alone or with
   * others.
   */
  encode(audio: Float32Array): EncodedAudio {
    const length = Math.max(audio.length, shortestSamples);
    const samples = new Float32Array(length);
    samples.set(audio);
    const audioOf = this.#onnx.floats(samples, [1, 1, length]);
    const keys = this.#encoder.run({ audio: audioOf }, audioKeys);
    return { keys, lengths: [keys[audioKeys[0] ?? '']?.dims[2] ?? 0], seconds: length / 16000 };
  }

  /** Reads several encodings of the same speech as one text, with the times of the first encoding. */
  read(
    encodings: readonly EncodedAudio[],
    { beams, given, draft, bias, open, sideBySide }: ReadOptions,
  ): ReadText {
    const seconds = encodings[0]?.seconds ?? 0;
    const found = beamSearch(
      stepsOver(this.#decoder, encodings, { timed: true, whole: bias !== undefined, sideBySide }),
      {
        width: beams,
        mostTokens: mostTokensOf(seconds, given?.length),
        endToken,
        given,
        draft: beams === 1 ? draft : undefined,
        bias,
        enough: beams === 1 && open ? isAtEnd : undefined,
      },
    );
    return {
      ...timedText(this.table, found, secondOf),
      meanLogProbability: mean(found.logProbabilities),
      givenLogProbability: mean(found.given),
      ended: found.ended,
    };
  }

  /** The log-probability of each text for the audio, in nats. Undefined if the model cannot write one of the texts. */
  likelihoods(audio: Float32Array, texts: readonly string[]): number[] | undefined {
    const spelled = this.table.spellAll(texts.map(asWritten));
    if (spelled === undefined) return undefined;
    const steps = stepsOver(this.#decoder, [this.encode(audio)], { timed: false, whole: true });
    return likelihoodsOf(steps, spelled, endToken);
  }
}

/** True if the token lies so near to the end of the audio that it is at most half a word. */
function isAtEnd(attention: Float32Array): boolean {
  const from = Math.max(0, attention.length - openFrames);
  return attention.subarray(from).reduce((sum, one) => sum + one, 0) > 0.5;
}

/** The text as the model writes it: every word begins with the sign for a space. */
function asWritten(text: string): string {
  return spaceSign + text.trim().replace(/\s+/g, spaceSign);
}

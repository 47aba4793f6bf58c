import { deflateSync } from 'node:zlib';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { reasonOf } from '../../lib/errors.ts';
import type { LanguageDistribution } from '../engine/heard-language.ts';
import { cpuSeconds } from '../engine/load.ts';
import { beamSearch } from '../decoder/beam-search.ts';
import { likelihoodsOf } from '../decoder/likelihood.ts';
import { type Feeds, loadOnnx, type Onnx, type OnnxSession } from '../decoder/onnx.ts';
import { mostTokensOf, type TimedText, timedText } from '../decoder/timed-text.ts';
import { TokenTable } from '../making/token-table.ts';
import { longestWindowS, logMel, melBands } from './whisper-mel.ts';
import {
  englishSigns,
  kindsOf,
  type LanguageOf,
  type SuppressedTokens,
  type WhisperShape,
  type WhisperSigns,
  WhisperSteps,
} from './steps.ts';

/** The encoder's output for a window. */
export type EncodedWindow = { audio: Feeds; seconds: number };

/** A text with the times of its tokens in seconds of the window. */
export type WindowText = TimedText & {
  /** The probability that the window contains no speech. */
  noSpeech: number;
  /** The factor by which the text can be compressed. A loop compresses strongly. */
  repetition: number;
  /** The mean log-probability of a token, in nats. */
  mean: number;
  /** True if the text ended by itself and was not cut at its limit. */
  ended: boolean;
  /** The mean log-probability of the given tokens. 0 if none were given. */
  givenMean: number;
  /** The language in which a model for several has read, and how likely it took each of them. */
  language: string;
  distribution: LanguageDistribution;
};

/** `languageOf` chooses among the languages of the model; without it the likeliest is taken. */
export type WindowWishes = {
  beams?: number;
  languageOf?: LanguageOf;
  /** The tokens of known words with which the window begins. The text omits them. */
  given?: readonly number[] | undefined;
};

const beams = 4;
/** At most this many texts are weighed in parallel, because each has its own keys. */
const atOnce = 8;
const frameS = 0.02;
/**
 * The attention heads point this far after the start of a word: the median over 1,362 words that both readers have, and
 * for the model for several languages over 212 words with clear edges.
 */
const delayS = { ofOne: 0.36, ofSeveral: 0.06 };
/** A list of tokens with this many has the signs of languages. */
const leastOfSeveral = 51_865;

const Description = z.object({
  alignment_heads: z.array(z.tuple([z.int(), z.int()])).min(1),
  suppress_ids: z.array(z.int().nonnegative()),
  suppress_ids_begin: z.array(z.int().nonnegative()),
});

type Parts = {
  onnx: Onnx;
  encoder: OnnxSession;
  decoder: OnnxSession;
  table: TokenTable;
  suppressed: SuppressedTokens;
  shape: WhisperShape;
};

/** Whisper tiny.en or base, as `making/whisper/` converts it. Each step of a reading blocks its process. */
export class WhisperReader {
  readonly #parts: Parts;
  #spentS = 0;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Opens the folder of the model, or returns the reason why it cannot be read. The first reader then reads alone. */
  static async open(folder: string): Promise<{ reader: WhisperReader } | { failure: string }> {
    const onnx = loadOnnx();
    if ('missing' in onnx) return { failure: `the runtime cannot be loaded: ${onnx.missing}` };
    try {
      const file = (name: string) => readFile(join(folder, name));
      const table = TokenTable.read((await file('tokens.txt')).toString());
      const described = Description.parse(JSON.parse((await file('config.json')).toString()));
      return {
        reader: new WhisperReader({
          onnx,
          table,
          shape: {
            // The last layer always has a head that follows the audio.
            layers: 1 + Math.max(...described.alignment_heads.map(([layer]) => layer)),
            signs: signsOf(table),
          },
          encoder: await onnx.open(await file('encoder.onnx')),
          decoder: await onnx.open(await file('decoder.onnx')),
          suppressed: { always: described.suppress_ids, atBegin: described.suppress_ids_begin },
        }),
      };
    } catch (error) {
      return { failure: `the model cannot be opened: ${reasonOf(error)}` };
    }
  }

  /** The processor seconds of all readings. */
  get spentS(): number {
    return this.#spentS;
  }

  /** The codes of the languages that the model tells apart. Empty in a model for one. */
  get languages(): readonly string[] {
    return [...(this.#parts.shape.signs.several?.languages.keys() ?? [])];
  }

  /**
   * Encodes a window, which is the expensive step. It costs the same for any content, so a window should be full. Only a
   * model for several languages takes windows of less than 30 s.
   */
  encode(samples: Float32Array, windowS = longestWindowS): EncodedWindow {
    const { onnx, encoder, shape } = this.#parts;
    let audio: Feeds = {};
    this.#spentS += cpuSeconds(() => {
      const mel = onnx.floats(logMel(samples, windowS), [1, melBands, 100 * windowS]);
      audio = encoder.run(
        { mel },
        kindsOf(shape.layers).map((kind) => `audio.${kind}`),
      );
    });
    return { audio, seconds: samples.length / 16000 };
  }

  /** The log-probability of each language for a window. */
  languagesOf({ audio }: EncodedWindow): LanguageDistribution {
    let found: LanguageDistribution = new Map();
    this.#spentS += cpuSeconds(() => {
      found = new WhisperSteps(this.#parts, { audio, frames: 0 }).languages();
    });
    return found;
  }

  read({ audio, seconds }: EncodedWindow, wishes: WindowWishes = {}): WindowText {
    const { shape, table } = this.#parts;
    const frames = Math.ceil(seconds / frameS);
    const { languageOf } = wishes;
    const about = { audio, frames, ...(languageOf ? { languageOf } : {}) };
    const steps = new WhisperSteps(this.#parts, about);
    const delay = shape.signs.several ? delayS.ofSeveral : delayS.ofOne;
    let found: TimedText = { text: '', tokens: [] };
    const { given = [] } = wishes;
    let [mean, givenMean, ended] = [0, 0, true];
    this.#spentS += cpuSeconds(() => {
      const written = beamSearch(steps, {
        width: wishes.beams ?? beams,
        mostTokens: mostTokensOf(seconds, given.length),
        endToken: shape.signs.end,
        given,
        lengthPower: 1,
      });
      found = timedText(table, written, (frame) => Math.max(0, frame * frameS - delay));
      mean = meanOf(written.logProbabilities);
      givenMean = meanOf(written.given);
      ({ ended } = written);
    });
    return {
      ...found,
      mean,
      givenMean,
      ended,
      noSpeech: steps.noSpeech,
      repetition: repetitionOf(found.text),
      language: steps.language,
      distribution: steps.distribution,
    };
  }

  /** The log-probability of each text for the window, in nats. Undefined if one of the texts cannot be written. */
  likelihoods({ audio }: EncodedWindow, texts: readonly string[]): number[] | undefined {
    const spelled = this.#parts.table.spellAll(texts.map((text) => ` ${text}`));
    if (spelled === undefined) return undefined;
    const sums: number[] = [];
    const { end } = this.#parts.shape.signs;
    this.#spentS += cpuSeconds(() => {
      for (let from = 0; from < spelled.length; from += atOnce) {
        const steps = new WhisperSteps(this.#parts, { audio, frames: 0 });
        sums.push(...likelihoodsOf(steps, spelled.slice(from, from + atOnce), end));
      }
    });
    return sums;
  }
}

/** The published list has the signs of languages in one row, behind the sign that a text begins. */
function signsOf(table: TokenTable): WhisperSigns {
  if (table.size < leastOfSeveral) return englishSigns;
  const languages = new Map<string, number>();
  const { end, begin, noSpeech, noTimes } = englishSigns;
  let sign = begin + 2;
  for (; sign < table.size; sign++) {
    const code = /^<\|([a-z]{2,3})\|>$/.exec(table.text([sign]))?.[1];
    if (code === undefined) break;
    languages.set(code, sign);
  }
  // The signs for translating and for transcribing follow.
  const several = { languages, transcribe: sign + 1 };
  return { end: end + 1, begin: begin + 1, noSpeech: noSpeech + 1, noTimes: noTimes + 1, several };
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function repetitionOf(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

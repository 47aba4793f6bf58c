import { deflateSync } from 'node:zlib';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { reasonOf } from '../../lib/errors.ts';
import { cpuSeconds } from '../engine/load.ts';
import { beamSearch } from '../decoder/beam-search.ts';
import { likelihoodsOf } from '../decoder/likelihood.ts';
import { type Feeds, loadOnnx, type Onnx, type OnnxSession } from '../decoder/onnx.ts';
import { mostTokensOf, type TimedText, timedText } from '../decoder/timed-text.ts';
import { TokenTable } from '../making/token-table.ts';
import { logMel, melBands, melFrames } from './whisper-mel.ts';
import { audioOutputs, endToken, type SuppressedTokens, WhisperSteps } from './steps.ts';

/** The encoder's output for a window. */
export type EncodedWindow = { audio: Feeds; seconds: number };

/** A text with the times of its tokens in seconds of the window. */
export type WindowText = TimedText & {
  /** The probability that the window contains no speech. */
  noSpeech: number;
  /** The factor by which the text can be compressed. A loop compresses strongly. */
  repetition: number;
};

const beams = 4;
/** At most this many texts are weighed in parallel, because each has its own keys. */
const atOnce = 8;
const frameS = 0.02;
/** The attention heads point this far after the start of a word: the median over 1,362 words that both readers have. */
const delayS = 0.36;

const Description = z.object({
  suppress_ids: z.array(z.int().nonnegative()),
  suppress_ids_begin: z.array(z.int().nonnegative()),
});

type Parts = {
  onnx: Onnx;
  encoder: OnnxSession;
  decoder: OnnxSession;
  table: TokenTable;
  suppressed: SuppressedTokens;
};

/** Whisper tiny.en, as `making/whisper/` converts it. Each step of a reading blocks its process. */
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
      const described = Description.parse(JSON.parse((await file('config.json')).toString()));
      return {
        reader: new WhisperReader({
          onnx,
          encoder: await onnx.open(await file('encoder.onnx')),
          decoder: await onnx.open(await file('decoder.onnx')),
          table: TokenTable.read((await file('tokens.txt')).toString()),
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

  /** Encodes a window, which is the expensive step. It costs the same for any content, so a window should be full. */
  encode(samples: Float32Array): EncodedWindow {
    const { onnx, encoder } = this.#parts;
    let audio: Feeds = {};
    this.#spentS += cpuSeconds(() => {
      const mel = onnx.floats(logMel(samples), [1, melBands, melFrames]);
      audio = encoder.run({ mel }, audioOutputs);
    });
    return { audio, seconds: samples.length / 16000 };
  }

  read({ audio, seconds }: EncodedWindow): WindowText {
    const frames = Math.ceil(seconds / frameS);
    const steps = new WhisperSteps(this.#parts, { audio, frames });
    let found: TimedText = { text: '', tokens: [] };
    this.#spentS += cpuSeconds(() => {
      const options = { width: beams, mostTokens: mostTokensOf(seconds), endToken, lengthPower: 1 };
      found = timedText(this.#parts.table, beamSearch(steps, options), secondOf);
    });
    return { ...found, noSpeech: steps.noSpeech, repetition: repetitionOf(found.text) };
  }

  /** The log-probability of each text for the window, in nats. Undefined if one of the texts cannot be written. */
  likelihoods({ audio }: EncodedWindow, texts: readonly string[]): number[] | undefined {
    const spelled = this.#parts.table.spellAll(texts.map((text) => ` ${text}`));
    if (spelled === undefined) return undefined;
    const sums: number[] = [];
    this.#spentS += cpuSeconds(() => {
      for (let from = 0; from < spelled.length; from += atOnce) {
        const steps = new WhisperSteps(this.#parts, { audio, frames: 0 });
        sums.push(...likelihoodsOf(steps, spelled.slice(from, from + atOnce), endToken));
      }
    });
    return sums;
  }
}

function secondOf(frame: number): number {
  return Math.max(0, frame * frameS - delayS);
}

function repetitionOf(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

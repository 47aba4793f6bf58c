import { readFileSync } from 'node:fs';
import { Fourier, hannWindow } from '../signal/fourier.ts';
import { reasonOf } from '../../lib/errors.ts';
import { groupRows, KernelMemory, panelColumns } from '../signal/multiply.ts';
import { tensorsOf } from '../making/graph-tensors.ts';

/** The samples of one run: a window and the beginning of the next. */
export const heardSamples = 576;

const hopSamples = 128;
const frameSamples = 256;
const frames = 4;
const bins = frameSamples / 2 + 1;
const hidden = 128;
const gates = 4 * hidden;

/** The convolutions use the previous moment, the current one and the next. */
const taps = 3;
/** For each convolution: its inputs and outputs, which of the three moments exist, and its number of moments. */
const convolutions = [
  { ins: bins, outs: hidden, seen: [0, 1, 2], moments: frames },
  { ins: hidden, outs: 64, seen: [0, 1, 2], moments: frames / 2 },
  { ins: 64, outs: 64, seen: [1, 2], moments: 1 },
  { ins: 64, outs: hidden, seen: [1], moments: 1 },
] as const;
/** One run processes this many windows, so that each weight is fetched once for all of them. */
const batch = 4 * groupRows;

/** The network's memory of one stream. */
export class VoiceState {
  readonly cells = new Float32Array(hidden);
  readonly shown = new Float32Array(hidden);
}

export type HeardWindow = { samples: Float32Array; state: VoiceState };

type Layer = { weights: number; bias: Float32Array; depth: number; columns: number };

/**
 * The network of the voice detector, Silero VAD for 16 kHz: the spectrum of four frames, four convolutions that make
 * one
 * moment of them, and an LSTM. The windows of many streams are heard together, with one copy of the weights.
 *
 *   frames [4][129] ─▶ [4][128] ─▶ [2][64] ─▶ [1][64] ─▶ [1][128] ─▶ LSTM ─▶ likelihood of a voice
 */
export class VoiceNetwork {
  readonly #fourier = new Fourier(frameSamples);
  readonly #window = hannWindow(frameSamples);
  readonly #real = new Float64Array(frameSamples);
  readonly #imaginary = new Float64Array(frameSamples);
  readonly #memory: KernelMemory;
  /** The inputs of each layer, in the row order that the multiplication needs. */
  readonly #rows: Float32Array[];
  readonly #outputs: Float32Array;
  /** The last output of each stream's state. */
  readonly #shown: Float32Array;
  readonly #gates: Float32Array;
  readonly #layers: Layer[];
  readonly #input: Layer;
  readonly #weightsOfShown: number;
  readonly #last: { weights: Float32Array; bias: number };

  /** Reads the weights from the published graph. */
  static open(path: string): VoiceNetwork {
    try {
      return new VoiceNetwork(readFileSync(path));
    } catch (error) {
      throw new Error(
        `voice detection cannot read its file ${path} (${reasonOf(error)}): install the packages again`,
        { cause: error },
      );
    }
  }

  private constructor(graph: Uint8Array) {
    const stored = new Map(Array.from(tensorsOf(graph), ({ name, content }) => [name, content]));
    const numbers = (name: string, length: number): Float32Array => {
      const bytes = stored.get(`model.${name}`);
      if (bytes?.length !== 4 * length)
        throw new RangeError(`the file has no ${name} of ${String(length)} numbers`);
      return new Float32Array(Uint8Array.from(bytes).buffer);
    };
    const sizes = convolutions.map(({ ins, outs, seen, moments }) => ({
      rows: seen.length * ins * moments * batch,
      weights: seen.length * ins * outs,
      outputs: outs * moments * batch,
    }));
    const outputs = Math.max(...sizes.map((size) => size.outputs));
    const floats = sizes.reduce((sum, { rows, weights }) => sum + rows + weights, 0);
    this.#memory = new KernelMemory(
      floats + outputs + batch * (hidden + gates) + 2 * gates * hidden,
    );
    this.#rows = sizes.map(({ rows }) => this.#memory.take(rows));
    this.#outputs = this.#memory.take(outputs);
    this.#shown = this.#memory.take(batch * hidden);
    this.#gates = this.#memory.take(batch * gates);
    this.#layers = convolutions.map(({ ins, outs, seen }, index) => {
      const name = `encoder.${String(index)}.reparam_conv`;
      const all = numbers(`${name}.weight`, outs * ins * taps);
      const depth = seen.length * ins;
      const matrix = new Float32Array(outs * depth);
      for (let out = 0; out < outs; out++)
        for (const [place, tap] of seen.entries())
          for (let i = 0; i < ins; i++)
            matrix[out * depth + place * ins + i] = all[(out * ins + i) * taps + tap] ?? 0;
      const bias = numbers(`${name}.bias`, outs);
      return { weights: this.#memory.pack(matrix, depth), bias, depth, columns: outs };
    });
    const biasOfShown = numbers('decoder.rnn.bias_hh', gates);
    this.#input = {
      weights: this.#memory.pack(numbers('decoder.rnn.weight_ih', gates * hidden), hidden),
      bias: numbers('decoder.rnn.bias_ih', gates).map((one, at) => one + (biasOfShown[at] ?? 0)),
      depth: hidden,
      columns: gates,
    };
    this.#weightsOfShown = this.#memory.pack(
      numbers('decoder.rnn.weight_hh', gates * hidden),
      hidden,
    );
    this.#last = {
      weights: numbers('decoder.decoder.2.weight', hidden),
      bias: numbers('decoder.decoder.2.bias', 1)[0] ?? 0,
    };
  }

  /** The likelihood of a voice in each window. No two windows belong to the same stream. */
  hear(windows: readonly HeardWindow[]): number[] {
    const found: number[] = [];
    for (let from = 0; from < windows.length; from += batch)
      found.push(...this.#hearBatch(windows.slice(from, from + batch)));
    return found;
  }

  #hearBatch(windows: readonly HeardWindow[]): number[] {
    const count = windows.length;
    const [first, second, third, fourth] = this.#rows;
    const [one, two, three, four] = this.#layers;
    if (!first || !second || !third || !fourth || !one || !two || !three || !four) return [];
    for (const [index, { samples, state }] of windows.entries()) {
      this.#spectrum(samples, first.subarray(index * frames * one.depth), one.depth);
      this.#shown.set(state.shown, index * hidden);
    }
    const outputs = this.#outputs;
    this.#run(one, first, frames * count, outputs);
    for (let index = 0; index < count; index++) {
      // Takes every second moment with the moments around it. The first has none before it.
      const from = index * frames * hidden;
      const at = 2 * index * two.depth;
      second.set(outputs.subarray(from, from + 2 * hidden), at + hidden);
      second.set(outputs.subarray(from + hidden, from + frames * hidden), at + two.depth);
    }
    this.#run(two, second, 2 * count, third);
    this.#run(three, third, count, fourth);
    this.#run(four, fourth, count, outputs);
    this.#multiply(this.#input, outputs, count, this.#gates);
    this.#add(this.#shown, hidden, this.#weightsOfShown, gates, count, this.#gates);
    return windows.map(({ state }, index) => this.#remember(state, index * gates));
  }

  /**
   * Computes the strength of each tone in four frames, and stores it where the first convolution reads it. Two frames
   * share one transform.
   */
  #spectrum(samples: Float32Array, rows: Float32Array, depth: number): void {
    const real = this.#real;
    const imaginary = this.#imaginary;
    for (let pair = 0; pair < frames; pair += 2) {
      for (let n = 0; n < frameSamples; n++) {
        const weight = this.#window[n] ?? 0;
        const at = pair * hopSamples + n;
        real[n] = weight * (samples[mirrored(at)] ?? 0);
        imaginary[n] = weight * (samples[mirrored(at + hopSamples)] ?? 0);
      }
      this.#fourier.transform(real, imaginary);
      for (let bin = 0; bin < bins; bin++) {
        const back = (frameSamples - bin) % frameSamples;
        // Destructuring pairs would create arrays: half of the garbage of the whole process.
        const re = real[bin] ?? 0;
        const im = imaginary[bin] ?? 0;
        const reBack = real[back] ?? 0;
        const imBack = imaginary[back] ?? 0;
        place(rows, depth, pair, bin, Math.sqrt((re + reBack) ** 2 + (im - imBack) ** 2) / 2);
        place(rows, depth, pair + 1, bin, Math.sqrt((im + imBack) ** 2 + (re - reBack) ** 2) / 2);
      }
    }
  }

  #run(layer: Layer, rows: Float32Array, count: number, into: Float32Array): void {
    this.#multiply(layer, rows, count, into);
    const length = count * layer.columns;
    for (let i = 0; i < length; i++) if ((into[i] ?? 0) < 0) into[i] = 0;
  }

  #multiply(layer: Layer, rows: Float32Array, count: number, into: Float32Array): void {
    for (let row = 0; row < count; row++) into.set(layer.bias, row * layer.columns);
    this.#add(rows, layer.depth, layer.weights, layer.columns, count, into);
  }

  #add(
    rows: Float32Array,
    depth: number,
    weights: number,
    columns: number,
    count: number,
    into: Float32Array,
  ): void {
    this.#memory.multiply(
      rows.byteOffset,
      weights,
      into.byteOffset,
      Math.ceil(count / groupRows),
      depth,
      columns / panelColumns,
      4 * depth,
      4 * columns,
    );
  }

  /** The gates come in the order of the trained weights: input, forget, cell, output. */
  #remember({ cells, shown }: VoiceState, at: number): number {
    const all = this.#gates;
    let sum = this.#last.bias;
    for (let unit = 0; unit < hidden; unit++) {
      const taken = sigmoid(all[at + unit] ?? 0);
      const kept = sigmoid(all[at + hidden + unit] ?? 0);
      const offered = 2 * sigmoid(2 * (all[at + 2 * hidden + unit] ?? 0)) - 1;
      const open = sigmoid(all[at + 3 * hidden + unit] ?? 0);
      const cell = kept * (cells[unit] ?? 0) + taken * offered;
      const told = open * (2 * sigmoid(2 * cell) - 1);
      cells[unit] = cell;
      shown[unit] = told;
      sum += (this.#last.weights[unit] ?? 0) * Math.max(0, told);
    }
    return sigmoid(sum);
  }
}

/** After its end, the audio is mirrored. */
function mirrored(at: number): number {
  return at < heardSamples ? at : 2 * (heardSamples - 1) - at;
}

/**
 * Writes the strength of a frame's tone to three places: as the moment itself, as the next moment of another, and as
 * the previous moment of another.
 */
function place(
  rows: Float32Array,
  depth: number,
  frame: number,
  bin: number,
  strength: number,
): void {
  rows[frame * depth + bins + bin] = strength;
  if (frame > 0) rows[(frame - 1) * depth + 2 * bins + bin] = strength;
  if (frame + 1 < frames) rows[(frame + 1) * depth + bin] = strength;
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

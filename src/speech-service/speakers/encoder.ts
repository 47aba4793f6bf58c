import { groupRows, KernelMemory, panelColumns, type Multiply } from '../../lib/multiply.ts';
import { melBands } from './mel.ts';
import type { LayerWeights, Weights } from './weights.ts';

/** Frames of one window. */
export const windowFrames = 160;
export const embeddingSize = 256;
/** Windows that are read together: so often is a weight used each time that it is fetched. */
export const batchWindows = 16;

const hidden = embeddingSize;
const gates = 4 * hidden;

type PlacedLayer = { inputSize: number; ih: number; hh: number; bias: Float32Array };

/**
 * What is characteristic of a voice, as 256 numbers: three LSTM layers read a window of mel frames, and what is in the
 * last one at the end is turned into a direction. The product of matrices is done by the kernel; everything lies in its
 * memory, batch row after batch row:
 *
 *   frames [160][16][40] ─▶ states [160][16][256]: each layer overwrites its input, step by step
 */
export class VoiceEncoder {
  readonly #weights: Weights;
  readonly #multiply: Multiply;
  readonly #layers: PlacedLayer[];
  readonly #frames: Float32Array;
  readonly #states: Float32Array;
  readonly #gates: Float32Array;
  readonly #zeros: Float32Array;
  readonly #cells = new Float64Array(batchWindows * hidden);

  constructor(weights: Weights) {
    this.#weights = weights;
    const sizes = {
      frames: windowFrames * batchWindows * melBands,
      states: windowFrames * batchWindows * hidden,
      gates: batchWindows * gates,
      zeros: batchWindows * hidden,
    };
    const floats =
      Object.values(sizes).reduce((sum, size) => sum + size, 0) +
      weights.layers.reduce((sum, { ih, hh }) => sum + ih.length + hh.length, 0);
    const memory = new KernelMemory(floats);
    this.#multiply = memory.multiply;
    this.#frames = memory.take(sizes.frames);
    this.#states = memory.take(sizes.states);
    this.#gates = memory.take(sizes.gates);
    this.#zeros = memory.take(sizes.zeros);
    this.#layers = weights.layers.map((layer, index) => placed(layer, index, memory));
  }

  /** The embeddings of so many windows of mel frames. A window with fewer frames begins with silence. */
  embed(windows: readonly Float32Array[]): Float32Array[] {
    const embeddings: Float32Array[] = [];
    for (let from = 0; from < windows.length; from += batchWindows)
      embeddings.push(...this.#embedBatch(windows.slice(from, from + batchWindows)));
    return embeddings;
  }

  #embedBatch(windows: readonly Float32Array[]): Float32Array[] {
    const groups = Math.ceil(windows.length / groupRows);
    this.#frames.fill(0);
    for (const [row, window] of windows.entries()) {
      const count = Math.min(windowFrames, window.length / melBands);
      for (let frame = 0; frame < count; frame++) {
        const at = ((windowFrames - count + frame) * batchWindows + row) * melBands;
        this.#frames.set(window.subarray(frame * melBands, (frame + 1) * melBands), at);
      }
    }
    for (const [index, layer] of this.#layers.entries())
      this.#runLayer(layer, index === 0 ? this.#frames : this.#states, groups);
    return windows.map((_, row) => this.#directionOf(row));
  }

  #runLayer({ inputSize, ih, hh, bias }: PlacedLayer, input: Float32Array, groups: number): void {
    const rows = groups * groupRows;
    const panels = gates / panelColumns;
    this.#cells.fill(0);
    for (let step = 0; step < windowFrames; step++) {
      for (let row = 0; row < rows; row++) this.#gates.set(bias, row * gates);
      const inputAt = input.byteOffset + 4 * step * batchWindows * inputSize;
      const stateAt = this.#states.byteOffset + 4 * step * batchWindows * hidden;
      const before = step === 0 ? this.#zeros.byteOffset : stateAt - 4 * batchWindows * hidden;
      const into = this.#gates.byteOffset;
      this.#multiply(inputAt, ih, into, groups, inputSize, panels, 4 * inputSize, 4 * gates);
      this.#multiply(before, hh, into, groups, hidden, panels, 4 * hidden, 4 * gates);
      this.#turnGates(rows, step * batchWindows * hidden);
    }
  }

  /** The gates in the order in which they were taught: input, forget, cell, output. */
  #turnGates(rows: number, stateAt: number): void {
    const all = this.#gates;
    const cells = this.#cells;
    const states = this.#states;
    for (let row = 0; row < rows; row++) {
      const at = row * gates;
      for (let unit = 0; unit < hidden; unit++) {
        const own = row * hidden + unit;
        const taken = 1 / (1 + Math.exp(-(all[at + unit] ?? 0)));
        const kept = 1 / (1 + Math.exp(-(all[at + hidden + unit] ?? 0)));
        const offered = 2 / (1 + Math.exp(-2 * (all[at + 2 * hidden + unit] ?? 0))) - 1;
        const shown = 1 / (1 + Math.exp(-(all[at + 3 * hidden + unit] ?? 0)));
        const cell = kept * (cells[own] ?? 0) + taken * offered;
        cells[own] = cell;
        states[stateAt + own] = shown * (2 / (1 + Math.exp(-2 * cell)) - 1);
      }
    }
  }

  /** The last state through the linear layer, without its negative parts, of length 1. */
  #directionOf(row: number): Float32Array {
    const { linear, linearBias } = this.#weights;
    const at = ((windowFrames - 1) * batchWindows + row) * hidden;
    const direction = new Float32Array(embeddingSize);
    let power = 0;
    for (let unit = 0; unit < embeddingSize; unit++) {
      let sum = linearBias[unit] ?? 0;
      for (let k = 0; k < hidden; k++)
        sum += (linear[unit * hidden + k] ?? 0) * (this.#states[at + k] ?? 0);
      const value = Math.max(0, sum);
      direction[unit] = value;
      power += value * value;
    }
    const length = Math.sqrt(power) || 1;
    return direction.map((value) => value / length);
  }
}

function placed(
  { ih, hh, biasIh, biasHh }: LayerWeights,
  index: number,
  memory: KernelMemory,
): PlacedLayer {
  const inputSize = index === 0 ? melBands : hidden;
  const bias = biasIh.map((value, at) => value + (biasHh[at] ?? 0));
  return { inputSize, ih: memory.pack(ih, inputSize), hh: memory.pack(hh, hidden), bias };
}

import { createHash } from 'node:crypto';
import type { Graph, Value } from '../graph.ts';
import type { OrtFile, StoredTensor } from './ort-file.ts';

/**
 * The files whose weights our own graphs read by position. The decoder's layer and head that follow the audio were
 * found by measuring, so they are right for these files alone.
 */
const knownSha256 = {
  encoder: '94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221',
  decoder: 'cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0',
} as const;

export function isKnown(part: keyof typeof knownSha256, file: Uint8Array): boolean {
  return createHash('sha256').update(file).digest('hex') === knownSha256[part];
}

/** The sizes of that model. */
export const layers = 6;
export const heads = 8;
export const headSize = 36;
export const width = heads * headSize;
/** The first numbers of each head are rotated by the position of the token or frame. */
const turned = 32;

/** The names of the encoder's outputs for the decoder, in the order of the layers. */
export const audioKeys = keysOf('audio');

export function keysOf(of: 'audio' | 'past' | 'present'): string[] {
  return Array.from({ length: layers }, (_, layer) =>
    ['key', 'value'].map((kind) => `${of}.${String(layer)}.${kind}`),
  ).flat();
}

export function attentionOf(layer: number, of: 'self' | 'encoder'): string {
  return `/model/decoder/layers.${String(layer)}/${of}_attn`;
}

/** A matrix product as stored in the file. */
type Product = {
  weights: StoredTensor;
  scale: number;
  zero: number;
  bias: Float32Array | undefined;
};

/** Nodes of a graph with the weights of one of the model's own files. */
export class MoonshineLayers {
  readonly graph: Graph;
  readonly #file: OrtFile;
  /** The number of tokens or frames that have a position. */
  readonly #positions: number;
  /** The angle by which each position rotates a number, the same in all layers. */
  #angles: Float32Array | undefined;

  constructor(graph: Graph, file: OrtFile, positions: number) {
    this.graph = graph;
    this.#file = file;
    this.#positions = positions;
  }

  /** The embeddings of tokens, by the numbers of the kept tokens: [B, L] → [B, L, width]. */
  embedded(tokens: Value, kept: readonly number[]): Value {
    const gather = '/model/decoder/embed_tokens/Gather';
    const { bytes } = this.#file.inputOf(gather, 0);
    const table = new Uint8Array(kept.length * width);
    for (const [at, token] of kept.entries())
      table.set(bytes.subarray(token * width, (token + 1) * width), at * width);
    const stored = this.graph.bytes(gather, [kept.length, width], table);
    const rows = this.graph.node('Gather', [stored, tokens]);
    const scales = [1, 2].map((input) =>
      this.#file.inputOf(`${gather}_output_0_DequantizeLinear`, input),
    );
    return this.graph.node('DequantizeLinear', [
      rows,
      this.graph.floats(`${gather} scale`, [], floatsOf(scales[0])),
      this.graph.bytes(`${gather} zero`, [], bytesOf(scales[1])),
    ]);
  }

  /**
   * `x` times the weights of these nodes, with the results side by side. As one product, `x` is quantised only once,
   * and each column keeps its own scale.
   */
  products(x: Value, names: readonly string[]): Value {
    const stored = names.map((name) => storedProduct(this.#file, name));
    const rows = stored[0]?.weights.dims[0] ?? 0;
    const columns = stored.map(({ weights }) => weights.dims[1] ?? 0);
    const total = columns.reduce((sum, count) => sum + count, 0);
    const [name = ''] = names;
    const [only] = stored;
    if (only && stored.length === 1)
      return this.graph.node('DynamicQuantizeMatMul', [
        x,
        this.graph.bytes(name, [rows, total], only.weights.bytes),
        this.graph.floats(`${name} scale`, [], Float32Array.of(only.scale)),
        this.graph.bytes(`${name} zero`, [], Uint8Array.of(only.zero)),
        ...(only.bias ? [this.graph.floats(`${name} bias`, [total], only.bias)] : []),
      ]);
    const weights = new Uint8Array(rows * total);
    const scales = new Float32Array(total);
    const zeros = new Uint8Array(total);
    let at = 0;
    for (const [index, one] of stored.entries()) {
      const count = columns[index] ?? 0;
      for (let row = 0; row < rows; row++)
        weights.set(one.weights.bytes.subarray(row * count, (row + 1) * count), row * total + at);
      scales.fill(one.scale, at, at + count);
      zeros.fill(one.zero, at, at + count);
      at += count;
    }
    return this.graph.node('DynamicQuantizeMatMul', [
      x,
      this.graph.bytes(name, [rows, total], weights),
      this.graph.floats(`${name} scale`, [total], scales),
      this.graph.bytes(`${name} zero`, [total], zeros),
    ]);
  }

  /** Multiplies `x` with the weights of these nodes and returns each result separately. */
  productsApart(x: Value, names: readonly string[]): Value[] {
    const count = names.length;
    return this.graph.nodes('Split', [this.products(x, names)], count, {
      axis: 2,
      num_outputs: count,
    });
  }

  /** `x` times some columns of the weights of one node. */
  productsOf(x: Value, name: string, kept: readonly number[]): Value {
    const { weights, scale, zero } = storedProduct(this.#file, name);
    const [rows = 0, columns = 0] = weights.dims;
    const bytes = new Uint8Array(rows * kept.length);
    for (let row = 0; row < rows; row++)
      for (const [at, column] of kept.entries())
        bytes[row * kept.length + at] = weights.bytes[row * columns + column] ?? zero;
    return this.graph.node('DynamicQuantizeMatMul', [
      x,
      this.graph.bytes(name, [rows, kept.length], bytes),
      this.graph.floats(`${name} scale`, [], Float32Array.of(scale)),
      this.graph.bytes(`${name} zero`, [], Uint8Array.of(zero)),
    ]);
  }

  normalised(x: Value, weight: string, axis = 2): Value {
    return this.graph.node(
      'LayerNormalization',
      [
        x,
        this.floats(weight, [width]),
        this.graph.floats('no bias', [width], new Float32Array(width)),
      ],
      { axis, epsilon: 1e-5 },
    );
  }

  /**
   * Rotates keys and queries by the positions of their tokens, so that their products depend on the distance between
   * the tokens.
   */
  turned(x: Value, place: Value): Value {
    const positions = this.#positions;
    const angles = (this.#angles ??= anglesOf(positions));
    return this.graph.node(
      'RotaryEmbedding',
      [
        x,
        place,
        this.graph.floats('cosines', [positions, turned / 2], angles.map(Math.cos)),
        this.graph.floats('sines', [positions, turned / 2], angles.map(Math.sin)),
      ],
      { interleaved: 1, num_heads: heads, rotary_embedding_dim: turned },
    );
  }

  /** The weights of the file that are not quantised. */
  floats(name: string, dims: readonly number[]): Value {
    return this.graph.floats(name, dims, this.valuesOf(name));
  }

  valuesOf(name: string): Float32Array {
    return floatsOf(this.#file.tensor(name));
  }
}

/** A stored product of the file. Its node either quantises the rows itself or takes quantised rows. */
export function storedProduct(file: OrtFile, name: string): Product {
  const node = `${name}/MatMul_quant`;
  const weights = file.inputOf(node, 1);
  const alone = file.inputCount(node) === 5;
  const scale = floatsOf(file.inputOf(node, alone ? 2 : 3))[0] ?? 0;
  const zero = bytesOf(file.inputOf(node, alone ? 3 : 5))[0] ?? 0;
  const bias = alone ? file.optional(node, 4) : undefined;
  return { weights, scale, zero, bias: bias && floatsOf(bias) };
}

function anglesOf(positions: number): Float32Array {
  const speeds = Float32Array.from(
    { length: turned / 2 },
    (_, index) => 10_000 ** (-index / (turned / 2)),
  );
  return Float32Array.from(
    { length: (positions * turned) / 2 },
    (_, at) => Math.floor(at / (turned / 2)) * (speeds[at % (turned / 2)] ?? 0),
  );
}

/** The bytes may begin anywhere in the file, so numbers need an aligned copy. */
function floatsOf(tensor: StoredTensor | undefined): Float32Array {
  return new Float32Array(Uint8Array.from(bytesOf(tensor)).buffer);
}

function bytesOf(tensor: StoredTensor | undefined): Uint8Array {
  return tensor?.bytes ?? new Uint8Array();
}

import { Graph, type Value } from '../graph.ts';
import { floatZero, quantised, transposed, zero } from '../quantised.ts';

/** The sizes that both known models have. A file with other sizes is refused. */
export const width = 384;
const heads = 12;
const inner = 4 * width;
const places = 512;
/** Longer texts are cut, so the graph needs no further places. */
const placesKept = 256;
const kinds = 2;
const epsilon = 1e-12;

/** The published weights of an encoder, under the names that MiniLM gives them. */
export type SentenceWeights = {
  layers: number;
  /** The number of pieces of words that it knows. */
  vocabulary: number;
  /** The numbers of a tensor of exactly this shape. */
  floats(name: string, shape: readonly number[]): Float32Array;
  /** The rows of the words, if the publisher has them in four bits: two numbers in a byte, and a scale for every 32. */
  packedWords?(): { nibbles: Uint8Array; scales: Float32Array };
};

/** In words of four bits this many numbers share a scale. */
export const numbersOfScale = 32;

/**
 * A sentence encoder as a graph: the tokens of one sentence → its direction, whose length is not yet one.
 *
 *     ids [1, T] → words + places → layers of attention and two products, each with a sum and a norm → mean over T
 *
 * A sentence is never run together with others: the scale of the eight bits is that of the whole run, so a neighbour
 * would change its direction.
 */
export function sentenceGraph(weights: SentenceWeights): Uint8Array {
  const parts = new SentenceLayers(weights);
  const { graph } = parts;
  const ids = graph.input('ids', 'int64', [1, 'T']);
  let x = parts.words(ids);
  for (let layer = 0; layer < weights.layers; layer++) x = parts.layer(x, `encoder.layer.${layer}`);
  const mean = graph.node('ReduceMean', [x, graph.integers([1])], { keepdims: 0 });
  graph.output('direction', mean, [1, width]);
  return graph.finish();
}

class SentenceLayers {
  readonly graph = new Graph('sentence');
  readonly #tensors: SentenceWeights;

  constructor(weights: SentenceWeights) {
    this.#tensors = weights;
  }

  /** The words and their places. The kind of a text is always the first one, and is added to the places here. */
  words(ids: Value): Value {
    const { graph } = this;
    const packed = this.#tensors.packedWords?.();
    const found = packed ? this.#packedRows(ids, packed) : this.#rows(ids);
    const kind = this.#tensors.floats('embeddings.token_type_embeddings.weight', [kinds, width]);
    const position = this.#tensors
      .floats('embeddings.position_embeddings.weight', [places, width])
      .subarray(0, placesKept * width)
      .map((value, at) => value + (kind[at % width] ?? 0));
    const length = graph.node('Slice', [
      graph.node('Shape', [ids]),
      graph.integers([1]),
      graph.integers([2]),
    ]);
    const placed = graph.node('Slice', [
      graph.floats('places', [placesKept, width], position),
      graph.integers([0]),
      length,
    ]);
    return this.#normalised(graph.node('Add', [found, placed]), 'embeddings.LayerNorm');
  }

  #rows(ids: Value): Value {
    const { graph } = this;
    const { vocabulary } = this.#tensors;
    const name = 'embeddings.word_embeddings.weight';
    const words = this.#tensors.floats(name, [vocabulary, width]);
    // One scale for each word.
    const { weights, scales } = quantised(transposed(words, [vocabulary, width]), vocabulary);
    const rows = graph.bytes(name, [vocabulary, width], bytesTurned(weights, vocabulary));
    const scale = graph.floats(`${name}.scale`, [vocabulary, 1], scales);
    const numbers = graph.node('Sub', [
      graph.node('Cast', [graph.node('Gather', [rows, ids])], { to: 1 }),
      graph.floats(floatZero, [], Float32Array.of(zero)),
    ]);
    return graph.node('Mul', [numbers, graph.node('Gather', [scale, ids])]);
  }

  #packedRows(
    ids: Value,
    { nibbles, scales }: { nibbles: Uint8Array; scales: Float32Array },
  ): Value {
    const { graph } = this;
    const { vocabulary } = this.#tensors;
    const rows = graph.nibbles('words', [vocabulary, width], nibbles);
    const scale = graph.floats('words.scale', [vocabulary, width / numbersOfScale], scales);
    return graph.node('GatherBlockQuantized', [rows, ids, scale], { block_size: numbersOfScale });
  }

  layer(x: Value, name: string): Value {
    const { graph } = this;
    const attention = `${name}.attention`;
    const parts = ['query', 'key', 'value'].map((part) => `${attention}.self.${part}`);
    const [q = '', k = '', v = ''] = graph.nodes('Split', [this.#linear(x, parts, [width, width])], 3, { axis: 2, num_outputs: 3 }); // prettier-ignore
    const seen = graph.node('MultiHeadAttention', [q, k, v], { num_heads: heads });
    const out = this.#linear(seen, [`${attention}.output.dense`], [width, width]);
    const mixed = this.#normalised(graph.node('Add', [x, out]), `${attention}.output.LayerNorm`);
    const up = this.#linear(mixed, [`${name}.intermediate.dense`], [inner, width]);
    const down = this.#linear(graph.node('Gelu', [up]), [`${name}.output.dense`], [width, inner]);
    return this.#normalised(graph.node('Add', [mixed, down]), `${name}.output.LayerNorm`);
  }

  /** One product for all the named parts, whose results stand one after the other. */
  #linear(x: Value, names: readonly string[], [outs, ins]: readonly [number, number]): Value {
    const { graph } = this;
    const of = (part: string, shape: readonly number[]): Float32Array =>
      Float32Array.from(
        names.flatMap((name) => Array.from(this.#tensors.floats(`${name}.${part}`, shape))),
      );
    const all = outs * names.length;
    const name = names[0] ?? '';
    const { weights, scales } = quantised(transposed(of('weight', [outs, ins]), [all, ins]), all);
    const [bytes = '', scale = '', zeroOfX = ''] = graph.nodes('DynamicQuantizeLinear', [x], 3);
    return graph.node('MatMulIntegerToFloat', [
      bytes,
      graph.bytes(`${name}.weight`, [ins, all], weights),
      scale,
      graph.floats(`${name}.scale`, [all], scales),
      zeroOfX,
      graph.bytes('zero', [], Uint8Array.of(zero)),
      graph.floats(`${name}.bias`, [all], of('bias', [outs])),
    ]);
  }

  #normalised(x: Value, name: string): Value {
    const weight = this.#tensors.floats(`${name}.weight`, [width]);
    const bias = this.#tensors.floats(`${name}.bias`, [width]);
    const { graph } = this;
    return graph.node(
      'LayerNormalization',
      [x, graph.floats(`${name}.weight`, [width], weight), graph.floats(`${name}.bias`, [width], bias)],
      { axis: 2, epsilon },
    ); // prettier-ignore
  }
}

/** [width, vocabulary] → [vocabulary, width]: a word is looked up as a row. */
function bytesTurned(bytes: Uint8Array, vocabulary: number): Uint8Array {
  const turned = new Uint8Array(bytes.length);
  for (let row = 0; row < vocabulary; row++)
    for (let at = 0; at < width; at++)
      turned[row * width + at] = bytes[at * vocabulary + row] ?? zero;
  return turned;
}

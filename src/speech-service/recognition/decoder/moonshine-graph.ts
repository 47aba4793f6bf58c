import { createHash } from 'node:crypto';
import { Graph, type Value } from '../../models/graph.ts';
import type { OrtFile, StoredTensor } from './ort-file.ts';

/**
 * The decoder whose weights our own graph reads by their places in the file, and whose layer and head that look at the
 * audio were found by measuring. Both are right for one file alone, so they belong to its checksum.
 */
const knownSha256 = 'cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0';

export function isKnownDecoder(graph: Uint8Array): boolean {
  return createHash('sha256').update(graph).digest('hex') === knownSha256;
}

/** The sizes of that decoder. */
export const layers = 6;
export const heads = 8;
export const headSize = 36;
export const width = heads * headSize;
export const vocabulary = 32_768;
/** The first numbers of each head are turned by where the token stands. */
const turned = 32;
/** A text has fewer tokens than this: 6.5 for each second of at most some twelve seconds, and those that are given. */
const positions = 512;
/** The layer and the head that look at the audio of the token that is written. */
const alignmentLayer = 4;
const alignmentHead = 6;
/** So many of the likeliest tokens are told for each place. */
export const toldTokens = 8;

/** The keys and values of the audio, which all tokens of a text look at: hidden [1, T, 288] → audio.N.key, … [1, 8, T, 36]. */
export function audioGraph(file: OrtFile): Uint8Array {
  const graph = new Graph('moonshine audio');
  const hidden = graph.input('hidden', 'float', [1, 'T', width]);
  const parts = new MoonshineLayers(graph, file);
  const products = Array.from({ length: layers }, (_, layer) =>
    ['k', 'v'].map((kind) => `${attentionOf(layer, 'encoder')}/${kind}_proj`),
  ).flat();
  const each = graph.nodes('Split', [parts.products(hidden, products)], 2 * layers, {
    axis: 2,
    num_outputs: 2 * layers,
  });
  for (const [index, value] of each.entries()) {
    const rows = graph.node('Reshape', [value, graph.integers([1, -1, heads, headSize])]);
    const split = graph.node('Transpose', [rows], { perm: [0, 2, 1, 3] });
    graph.output(audioKeys[index] ?? '', split, [1, heads, 'T', headSize]);
  }
  return graph.finish();
}

export const audioKeys = keysOf('audio');
export const pastKeys = keysOf('past');
export const presentKeys = keysOf('present');

/**
 * One step of the decoder: some tokens for each text → what comes after them.
 *
 *     tokens [B, L]  place [1]  parents [B]  told [N]  past.N.key, … [A, 8, P, 36]  audio.N.key, … [1, 8, T, 36]
 *       → scores [N, 32768]  best [N, 8]  bestTokens [N, 8]  attention [B · L, T]  present.N.key, … [B, 8, P + L, 36]
 *
 * `parents` says which of the texts before each text goes on, and `told` of which tokens it is asked what comes after
 * them, counted over all texts. `scores` are log-probabilities. `attention` is that of the head that looks at the audio
 * of the token that is written. All texts look at the same audio, so they are rows of one product.
 *
 * The graph that the model comes with does the same with some thousand small nodes, most of which compute shapes. They
 * took more than half of the time of a step.
 */
export function decoderGraph(file: OrtFile): Uint8Array {
  const graph = new Graph('moonshine decoder');
  const parts = new MoonshineLayers(graph, file);
  const inputs = {
    place: graph.input('place', 'int64', [1]),
    parents: graph.input('parents', 'int64', ['B']),
    told: graph.input('told', 'int64', ['N']),
  };
  let x = parts.embedded(graph.input('tokens', 'int64', ['B', 'L']));
  for (let layer = 0; layer < layers; layer++) {
    x = ownAttention(parts, x, layer, inputs);
    const heard = audioAttention(parts, x, layer);
    if (heard.attention) graph.output('attention', heard.attention, ['R', 'T']);
    x = feedForward(parts, heard.x, layer);
  }
  const rows = graph.node('Reshape', [x, graph.integers([-1, width])]);
  const asked = graph.node('Gather', [rows, inputs.told]);
  const said = parts.normalised(asked, 'model.decoder.norm.weight', 1);
  const logits = parts.products(said, ['/proj_out']);
  graph.output('scores', graph.node('LogSoftmax', [logits], { axis: 1 }), ['N', vocabulary]);
  const told = [graph.integers([toldTokens])];
  const [best = '', tokens = ''] = graph.nodes('TopK', ['scores', ...told], 2, { axis: 1 });
  graph.output('best', best, ['N', toldTokens]);
  graph.output('bestTokens', tokens, ['N', toldTokens], 'int64');
  return graph.finish();
}

/** Each token looks at those before it in its text. */
function ownAttention(
  parts: MoonshineLayers,
  x: Value,
  layer: number,
  { place, parents }: { place: Value; parents: Value },
): Value {
  const { graph } = parts;
  const name = attentionOf(layer, 'self');
  const normal = parts.normalised(x, weightOf(layer, 'input_layernorm'));
  const all = parts.products(
    normal,
    ['q', 'k', 'v'].map((kind) => `${name}/${kind}_proj`),
  );
  const [query = '', key = '', value = ''] = graph.nodes('Split', [all], 3, {
    axis: 2,
    num_outputs: 3,
  });
  const [keys = '', values = ''] = [2 * layer, 2 * layer + 1].map((index) => {
    const past = graph.input(pastKeys[index] ?? '', 'float', ['A', heads, 'P', headSize]);
    return graph.node('Gather', [past, parents], { axis: 0 });
  });
  const [seen = '', ...present] = graph.nodes(
    'MultiHeadAttention',
    [parts.turned(query, place), parts.turned(key, place), value, '', '', '', keys, values],
    3,
    { num_heads: heads, unidirectional: 1 },
  );
  for (const [index, kept] of present.entries())
    graph.output(presentKeys[2 * layer + index] ?? '', kept, ['B', heads, 'S', headSize]);
  return graph.node('Add', [x, parts.products(seen, [`${name}/o_proj`])]);
}

/** Each token looks at the audio. */
function audioAttention(
  parts: MoonshineLayers,
  x: Value,
  layer: number,
): { x: Value; attention: Value | undefined } {
  const { graph } = parts;
  const name = attentionOf(layer, 'encoder');
  const [key = '', value = ''] = [2 * layer, 2 * layer + 1].map((index) =>
    graph.input(audioKeys[index] ?? '', 'float', [1, heads, 'T', headSize]),
  );
  const normal = parts.normalised(x, weightOf(layer, 'post_attention_layernorm'));
  const queries = graph.node('Reshape', [
    parts.products(normal, [`${name}/q_proj`]),
    graph.integers([1, -1, width]),
  ]);
  const seen = graph.node('MultiHeadAttention', [queries, key, value], { num_heads: heads });
  const rows = graph.node('Reshape', [seen, graph.node('Shape', [x])]);
  const sum = graph.node('Add', [x, parts.products(rows, [`${name}/o_proj`])]);
  if (layer !== alignmentLayer) return { x: sum, attention: undefined };
  const split = graph.node('Reshape', [queries, graph.integers([-1, heads, headSize])]);
  const chosen = graph.integers([alignmentHead]);
  const query = graph.node('Squeeze', [
    graph.node('Gather', [split, chosen], { axis: 1 }),
    graph.integers([1]),
  ]);
  const keys = graph.node('Squeeze', [
    graph.node('Gather', [key, chosen], { axis: 1 }),
    graph.integers([0, 1]),
  ]);
  const products = graph.node('MatMul', [query, graph.node('Transpose', [keys], { perm: [1, 0] })]);
  const scale = graph.floats('query scale', [], Float32Array.of(headSize ** -0.5));
  const attention = graph.node('Softmax', [graph.node('Mul', [products, scale])], { axis: 1 });
  return { x: sum, attention };
}

/** The two layers behind the attention, with what goes past them: one half of the first says how much of the other counts. */
function feedForward(parts: MoonshineLayers, x: Value, layer: number): Value {
  const { graph } = parts;
  const name = `/model/decoder/layers.${String(layer)}/mlp`;
  const normal = parts.normalised(x, weightOf(layer, 'final_layernorm'));
  const [inner = '', gate = ''] = graph.nodes(
    'Split',
    [parts.products(normal, [`${name}/fc1`])],
    2,
    {
      axis: 2,
      num_outputs: 2,
    },
  );
  const open = graph.node('Mul', [gate, graph.node('Sigmoid', [gate])]);
  return graph.node('Add', [x, parts.products(graph.node('Mul', [open, inner]), [`${name}/fc2`])]);
}

/** Nodes of a graph with the weights of the model's own file. */
class MoonshineLayers {
  readonly graph: Graph;
  readonly #file: OrtFile;

  constructor(graph: Graph, file: OrtFile) {
    this.graph = graph;
    this.#file = file;
  }

  /** What tokens mean: [B, L] → [B, L, width]. */
  embedded(tokens: Value): Value {
    const gather = '/model/decoder/embed_tokens/Gather';
    const table = this.#file.inputOf(gather, 0);
    const stored = this.graph.bytes(gather, table.dims, table.bytes);
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
   * `x` times the weights of these nodes of the file, their results side by side. They are one product: the numbers of
   * `x` are made whole once, and each column keeps its own scale.
   */
  products(x: Value, names: readonly string[]): Value {
    const stored = names.map((name) => this.#product(`${name}/MatMul_quant`));
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

  normalised(x: Value, weight: string, axis = 2): Value {
    const scale = this.#file.tensor(`${weight}_merged_0`);
    return this.graph.node(
      'LayerNormalization',
      [
        x,
        this.graph.floats(weight, [width], floatsOf(scale)),
        this.graph.floats('no bias', [width], new Float32Array(width)),
      ],
      { axis, epsilon: 1e-5 },
    );
  }

  /** Keys and queries are turned by where their tokens stand in the text, so that products know how far apart they are. */
  turned(x: Value, place: Value): Value {
    const speeds = Float32Array.from(
      { length: turned / 2 },
      (_, index) => 10_000 ** (-index / (turned / 2)),
    );
    const angles = Float32Array.from(
      { length: (positions * turned) / 2 },
      (_, at) => Math.floor(at / (turned / 2)) * (speeds[at % (turned / 2)] ?? 0),
    );
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

  /** A product of the file. Its node either makes the rows whole numbers by itself or takes them as such. */
  #product(node: string): {
    weights: StoredTensor;
    scale: number;
    zero: number;
    bias: Float32Array | undefined;
  } {
    const weights = this.#file.inputOf(node, 1);
    const alone = this.#file.inputCount(node) === 5;
    const scale = floatsOf(this.#file.inputOf(node, alone ? 2 : 3))[0] ?? 0;
    const zero = bytesOf(this.#file.inputOf(node, alone ? 3 : 5))[0] ?? 0;
    const bias = alone ? this.#file.optional(node, 4) : undefined;
    return { weights, scale, zero, bias: bias && floatsOf(bias) };
  }
}

function attentionOf(layer: number, of: 'self' | 'encoder'): string {
  return `/model/decoder/layers.${String(layer)}/${of}_attn`;
}

function weightOf(layer: number, norm: string): string {
  return `model.decoder.layers.${String(layer)}.${norm}.weight`;
}

function keysOf(of: 'audio' | 'past' | 'present'): string[] {
  return Array.from({ length: layers }, (_, layer) =>
    ['key', 'value'].map((kind) => `${of}.${String(layer)}.${kind}`),
  ).flat();
}

/** The bytes may begin anywhere in the file, numbers may not. */
function floatsOf(tensor: StoredTensor | undefined): Float32Array {
  return new Float32Array(Uint8Array.from(bytesOf(tensor)).buffer);
}

function bytesOf(tensor: StoredTensor | undefined): Uint8Array {
  return tensor?.bytes ?? new Uint8Array();
}

/** A frame of the encoder stands for so many samples; the audio of its middle begins so many samples later. */
const frameSamples = 384;
const middleSamples = 450;
/** The attention looks so far behind the beginning of a word; measured on a voice of its own. */
const delayS = 0.048;

/** The second at which a word begins whose first token was read from this frame. */
export function secondOf(frame: number): number {
  return Math.max(0, (frameSamples * frame + middleSamples) / 16000 - delayS);
}

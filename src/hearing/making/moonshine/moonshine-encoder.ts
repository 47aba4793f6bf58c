import { Graph, type Value } from '../graph.ts';
import { quantised, zero } from '../quantised.ts';
import {
  attentionOf,
  audioKeys,
  heads,
  headSize,
  layers,
  MoonshineLayers,
} from './moonshine-layers.ts';
import type { OrtFile } from './ort-file.ts';

/** The number of samples in one encoder frame, and the offset to the middle of its audio. */
const frameSamples = 384;
const middleSamples = 450;
/** The attention comes this many seconds after the start of a word, as measured with a separate voice. */
const delayS = 0.048;
/** The largest number of frames with a position: 49 s. */
const positions = 2048;

/** The three convolutions that turn samples into frames, as stored in the file. */
const first = { outs: 288, reach: 127, stride: 64 } as const;
const second = { ins: 288, outs: 576, reach: 7, stride: 3 } as const;
const third = { ins: 576, outs: 288, reach: 3, stride: 2 } as const;
type Convolution = { ins: number; outs: number; reach: number; stride: number };
/** A slice to the end of the dimension, however long it is. */
const toEnd = 2 ** 31;

/**
 * The encoder. Its outputs are the keys and values of the audio to which all tokens of a text attend:
 *
 *     audio [1, 1, N] → audio.N.key, … [1, 8, T, 36]
 *
 * The graph that comes with the model computes shapes with some hundred small nodes and convolves in whole floats. Here
 * each convolution is a matrix product, and the most expensive one uses 8-bit weights, as the layers do.
 */
export function encoderGraph(encoder: OrtFile, decoder: OrtFile): Uint8Array {
  const graph = new Graph('moonshine encoder');
  const parts = new MoonshineLayers(graph, encoder, positions);
  let x = frames(parts, graph.input('audio', 'float', [1, 1, 'N']));
  for (let layer = 0; layer < layers; layer++) {
    const name = `layers.${String(layer)}`;
    x = attention(parts, x, name);
    const normal = parts.normalised(x, `${name}.post_attention_layernorm.weight`);
    const inner = graph.node('Gelu', [parts.products(normal, [`/${name}/mlp/fc1`])]);
    x = graph.node('Add', [x, parts.products(inner, [`/${name}/mlp/fc2`])]);
  }
  const hidden = parts.normalised(x, 'layer_norm.weight');
  keysForDecoder(new MoonshineLayers(graph, decoder, positions), hidden);
  return graph.finish();
}

/** Samples → frames [1, T, width]. */
function frames(parts: MoonshineLayers, audio: Value): Value {
  const { graph } = parts;
  const weights = parts.floats('conv1.weight_add_tensor', [first.outs, 1, first.reach]);
  const waves = graph.node('Conv', [audio, weights], {
    kernel_shape: [first.reach],
    strides: [first.stride],
  });
  const bent = graph.node('Tanh', [waves]);
  // The loudness of the whole piece is normalised.
  const all = graph.node('Reshape', [bent, graph.integers([1, 1, -1])]);
  const even = graph.node(
    'InstanceNormalization',
    [
      all,
      graph.floats('one', [1], Float32Array.of(1)),
      graph.floats('none', [1], Float32Array.of(0)),
    ],
    { epsilon: 1e-5 },
  );
  const rows = graph.node(
    'Transpose',
    [graph.node('Reshape', [even, graph.integers([1, first.outs, -1])])],
    { perm: [0, 2, 1] },
  );
  const scaled = graph.node('Mul', [rows, parts.floats('onnx::Mul_2080', [first.outs])]);
  const normal = graph.node('Add', [scaled, parts.floats('onnx::Add_2081', [first.outs])]);
  const wide = graph.node('Gelu', [convolvedInBytes(parts, normal, 'conv2', second)]);
  return graph.node('Gelu', [convolved(parts, wide, 'conv3', third)]);
}

/** Lays the inputs of each output of a convolution side by side: [1, T, ins] → [1, T', reach · ins]. */
function windows(graph: Graph, x: Value, { reach, stride }: Convolution): Value {
  const each = Array.from({ length: reach }, (_, at) => {
    const end = at === reach - 1 ? toEnd : at + 1 - reach;
    return graph.node('Slice', [
      x,
      ...[at, end, 1, stride].map((value) => graph.integers([value])),
    ]);
  });
  return graph.node('Concat', each, { axis: 2 });
}

function convolved(parts: MoonshineLayers, x: Value, name: string, of: Convolution): Value {
  const { graph } = parts;
  const weights = graph.floats(name, [of.reach * of.ins, of.outs], asProduct(parts, name, of));
  const product = graph.node('MatMul', [windows(graph, x, of), weights]);
  return graph.node('Add', [product, parts.floats(`${name}.bias`, [of.outs])]);
}

/** Builds a convolution with 8-bit weights and inputs. */
function convolvedInBytes(parts: MoonshineLayers, x: Value, name: string, of: Convolution): Value {
  const { graph } = parts;
  const { weights, scales } = quantised(asProduct(parts, name, of), of.outs);
  const [whole = '', scale = '', zeroOfX = ''] = graph.nodes('DynamicQuantizeLinear', [x], 3);
  return graph.node('MatMulIntegerToFloat', [
    windows(graph, whole, of),
    graph.bytes(name, [of.reach * of.ins, of.outs], weights),
    scale,
    graph.floats(`${name} scale`, [of.outs], scales),
    zeroOfX,
    graph.bytes(`${name} zero`, [of.outs], new Uint8Array(of.outs).fill(zero)),
    parts.floats(`${name}.bias`, [of.outs]),
  ]);
}

/** Weights [outs, ins, reach] → [reach · ins, outs]. */
function asProduct(
  parts: MoonshineLayers,
  name: string,
  { ins, outs, reach }: Convolution,
): Float32Array {
  const stored = parts.valuesOf(`${name}.weight_add_tensor`);
  const rows = new Float32Array(stored.length);
  for (let out = 0; out < outs; out++)
    for (let of = 0; of < ins; of++)
      for (let at = 0; at < reach; at++)
        rows[(at * ins + of) * outs + out] = stored[(out * ins + of) * reach + at] ?? 0;
  return rows;
}

/** Each frame attends to all others. */
function attention(parts: MoonshineLayers, x: Value, name: string): Value {
  const { graph } = parts;
  const of = `/${name}/self_attn`;
  const [query = '', key = '', value = ''] = parts.productsApart(
    parts.normalised(x, `${name}.input_layernorm.weight`),
    ['q', 'k', 'v'].map((kind) => `${of}/${kind}_proj`),
  );
  const begin = graph.integers([0]);
  const seen = graph.node(
    'MultiHeadAttention',
    [parts.turned(query, begin), parts.turned(key, begin), value],
    { num_heads: heads },
  );
  return graph.node('Add', [x, parts.products(seen, [`${of}/o_proj`])]);
}

function keysForDecoder(parts: MoonshineLayers, hidden: Value): void {
  const { graph } = parts;
  const names = Array.from({ length: layers }, (_, layer) =>
    ['k', 'v'].map((kind) => `${attentionOf(layer, 'encoder')}/${kind}_proj`),
  ).flat();
  for (const [index, value] of parts.productsApart(hidden, names).entries()) {
    const rows = graph.node('Reshape', [value, graph.integers([1, -1, heads, headSize])]);
    const split = graph.node('Transpose', [rows], { perm: [0, 2, 1, 3] });
    graph.output(audioKeys[index] ?? '', split, [1, heads, 'T', headSize]);
  }
}

/** The time of a word whose first token was read from this frame, in seconds. */
export function secondOf(frame: number): number {
  return Math.max(0, (frameSamples * frame + middleSamples) / 16000 - delayS);
}

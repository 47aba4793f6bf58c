import type { Variable } from './ctranslate2.ts';
import { Graph, type Value } from '../graph.ts';
import { audioFrames, headSize, Layers, melBands, type WhisperSizes } from './layers.ts';

/**
 * The encoder: the mel spectrum of a window → the keys and values with which each layer of the decoder attends to the
 * audio.
 *
 *     mel [1, 80, 2 T] → two convolutions → layers × (attention, two layers) → for each layer of the decoder
 *         audio.N.key [heads, 64, T]   audio.N.value [heads, T, 64]
 *
 * The keys and values are made here, because they are the same for all tokens and all beams.
 */
export function encoderGraph(
  variables: ReadonlyMap<string, Variable>,
  sizes: WhisperSizes,
): Uint8Array {
  const { width, heads, layers, audio } = sizes;
  const graph = new Graph();
  const parts = new Layers(graph, variables, sizes);
  const mel = graph.input('mel', 'float', [1, melBands, sizes.mel]);
  const first = { name: 'encoder/conv1', channels: melBands, width, stride: 1 };
  const second = { name: 'encoder/conv2', channels: width, width, stride: 2 };
  let x = convolution(graph, parts, convolution(graph, parts, mel, first), second);
  x = graph.node('Transpose', [x], { perm: [0, 2, 1] });
  const rows = typeof audio === 'number' ? audio : -1;
  x = graph.node('Reshape', [x, graph.integers([rows, width])]);
  const places = parts.floats('encoder/position_encodings/encodings', [audioFrames, width]);
  x = graph.node('Add', [x, typeof audio === 'number' ? places : firstRows(graph, places, x)]);
  for (let layer = 0; layer < layers; layer++) {
    const name = `encoder/layer_${String(layer)}`;
    x = attention(graph, parts, x, `${name}/self_attention`, width);
    x = parts.feedForward(x, `${name}/ffn`);
  }
  const heard = parts.normalised(x, 'encoder/layer_norm');
  for (let layer = 0; layer < layers; layer++) {
    const name = `decoder/layer_${String(layer)}/attention/linear_1`;
    const both = parts.linear(heard, name, [2 * width, width]);
    const [key = '', value = ''] = graph.nodes('Split', [both], 2, { axis: 1, num_outputs: 2 });
    const turned = graph.node('Transpose', [parts.split(key)], { perm: [0, 2, 1] });
    graph.output(`audio.${String(layer)}.key`, turned, [heads, headSize, audio]);
    graph.output(`audio.${String(layer)}.value`, parts.split(value), [heads, audio, headSize]);
  }
  return graph.finish();
}

/** As many rows of a constant as `x` has. */
function firstRows(graph: Graph, rows: Value, x: Value): Value {
  const count = graph.node('Gather', [graph.node('Shape', [x]), graph.integers([0])]);
  return graph.node('Slice', [rows, graph.integers([0]), count, graph.integers([0])]);
}

function convolution(
  graph: Graph,
  parts: Layers,
  x: Value,
  {
    name,
    channels,
    width,
    stride,
  }: Record<'channels' | 'width' | 'stride', number> & { name: string },
): Value {
  const weights = parts.floats(`${name}/weight`, [width, channels, 3]);
  const bias = parts.floats(`${name}/bias`, [width]);
  const sums = graph.node('Conv', [x, weights, bias], {
    kernel_shape: [3],
    pads: [1, 1],
    strides: [stride],
  });
  return graph.node('Gelu', [sums]);
}

/** Each frame attends to all frames, and the result is added to the frame. */
function attention(graph: Graph, parts: Layers, x: Value, name: string, width: number): Value {
  const normal = parts.normalised(x, `${name}/layer_norm`);
  const all = parts.linear(normal, `${name}/linear_0`, [3 * width, width]);
  const [query = '', key = '', value = ''] = graph.nodes('Split', [all], 3, {
    axis: 1,
    num_outputs: 3,
  });
  const turned = graph.node('Transpose', [parts.split(key)], { perm: [0, 2, 1] });
  const products = graph.node('MatMul', [parts.scaled(parts.split(query)), turned]);
  const shares = graph.node('Softmax', [products], { axis: 2 });
  const seen = parts.join(graph.node('MatMul', [shares, parts.split(value)]));
  return graph.node('Add', [x, parts.linear(seen, `${name}/linear_1`, [width, width])]);
}

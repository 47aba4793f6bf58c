import type { Variable } from './ctranslate2.ts';
import { Graph, type Value } from '../graph.ts';
import {
  audioFrames,
  heads,
  headSize,
  Layers,
  layers,
  melBands,
  melFrames,
  width,
} from './layers.ts';

/**
 * The encoder: the mel spectrum of 30 s → the keys and values with which each layer of the decoder attends to the
 * audio.
 *
 *     mel [1, 80, 3000] → two convolutions → 4 × (attention, two layers) → for each layer of the decoder
 *         audio.N.key [6, 64, 1500]   audio.N.value [6, 1500, 64]
 *
 * The keys and values are made here, because they are the same for all tokens and all beams.
 */
export function encoderGraph(variables: ReadonlyMap<string, Variable>): Uint8Array {
  const graph = new Graph();
  const parts = new Layers(graph, variables);
  const mel = graph.input('mel', 'float', [1, melBands, melFrames]);
  let x = convolution(graph, parts, mel, { name: 'encoder/conv1', channels: melBands, stride: 1 });
  x = convolution(graph, parts, x, { name: 'encoder/conv2', channels: width, stride: 2 });
  x = graph.node('Transpose', [x], { perm: [0, 2, 1] });
  x = graph.node('Reshape', [x, graph.integers([audioFrames, width])]);
  const places = parts.floats('encoder/position_encodings/encodings', [audioFrames, width]);
  x = graph.node('Add', [x, places]);
  for (let layer = 0; layer < layers; layer++) {
    const name = `encoder/layer_${String(layer)}`;
    x = attention(graph, parts, x, `${name}/self_attention`);
    x = parts.feedForward(x, `${name}/ffn`);
  }
  const heard = parts.normalised(x, 'encoder/layer_norm');
  for (let layer = 0; layer < layers; layer++) {
    const name = `decoder/layer_${String(layer)}/attention/linear_1`;
    const both = parts.linear(heard, name, [2 * width, width]);
    const [key = '', value = ''] = graph.nodes('Split', [both], 2, { axis: 1, num_outputs: 2 });
    const turned = graph.node('Transpose', [parts.split(key)], { perm: [0, 2, 1] });
    graph.output(`audio.${String(layer)}.key`, turned, [heads, headSize, audioFrames]);
    graph.output(`audio.${String(layer)}.value`, parts.split(value), [
      heads,
      audioFrames,
      headSize,
    ]);
  }
  return graph.finish();
}

function convolution(
  graph: Graph,
  parts: Layers,
  x: Value,
  { name, channels, stride }: { name: string; channels: number; stride: number },
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
function attention(graph: Graph, parts: Layers, x: Value, name: string): Value {
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

import type { Variable } from './ctranslate2.ts';
import { Graph, type Value } from '../graph.ts';
import { alignmentHeadsOf, headSize, Layers, type WhisperSizes } from './layers.ts';

const positions = 448;

/**
 * One step of the decoder: a token for each beam → the scores after it.
 *
 *     token [B]  position [1]  past.N.key, past.N.value [B, heads, P, 64]  audio.N.key, audio.N.value
 *       → logits [B, tokens]  attention [B, T]  present.N.key, present.N.value [B, heads, P + 1, 64]
 *
 * The beams share the keys of the audio, so they are rows of one product. A product per beam would read the same keys
 * from memory again. `attention` is the mean of the heads that follow the audio of the written token.
 */
export function decoderGraph(
  variables: ReadonlyMap<string, Variable>,
  sizes: WhisperSizes,
): Uint8Array {
  const { layers, vocabulary, width } = sizes;
  const graph = new Graph();
  const parts = new Layers(graph, variables, sizes);
  let x = embedded(graph, parts, sizes);
  const looks: Value[] = [];
  for (let layer = 0; layer < layers; layer++) {
    x = ownAttention(graph, parts, x, { layer, ...sizes });
    const heard = audioAttention(graph, parts, x, { layer, ...sizes });
    x = heard.x;
    const wanted = alignmentHeadsOf(sizes, layer);
    if (wanted.length > 0)
      looks.push(graph.node('Gather', [heard.shares, graph.integers(wanted)], { axis: 0 }));
    x = parts.feedForward(x, `decoder/layer_${String(layer)}/ffn`);
  }
  const said = parts.normalised(x, 'decoder/layer_norm');
  const logits = parts.product(said, 'decoder/embeddings/weight', [vocabulary, width]);
  graph.output('logits', logits, ['B', vocabulary]);
  const all = graph.node('Concat', looks, { axis: 0 });
  const mean = graph.node('ReduceMean', [all, graph.integers([0])], { keepdims: 0 });
  graph.output('attention', mean, ['B', sizes.audio]);
  return graph.finish();
}

/** The same weights are the embeddings of tokens and, at the end, give their scores. They are stored once. */
function embedded(graph: Graph, parts: Layers, { vocabulary, width }: WhisperSizes): Value {
  const name = 'decoder/embeddings/weight';
  const token = graph.input('token', 'int64', ['B']);
  const position = graph.input('position', 'int64', [1]);
  const meaning = parts.rowsOf(name, [vocabulary, width], token);
  const places = parts.floats('decoder/position_encodings/encodings', [positions, width]);
  return graph.node('Add', [meaning, graph.node('Gather', [places, position])]);
}

type OfLayer = WhisperSizes & { layer: number };

/** Each token attends to the earlier tokens of its beam. */
function ownAttention(
  graph: Graph,
  parts: Layers,
  x: Value,
  { layer, heads, width }: OfLayer,
): Value {
  const name = `decoder/layer_${String(layer)}/self_attention`;
  const normal = parts.normalised(x, `${name}/layer_norm`);
  const all = parts.linear(normal, `${name}/linear_0`, [3 * width, width]);
  const [query = '', ...own] = graph
    .nodes('Split', [all], 3, { axis: 1, num_outputs: 3 })
    .map((value) => graph.node('Reshape', [value, graph.integers([-1, heads, 1, headSize])]));
  const [keys = '', values = ''] = ['key', 'value'].map((kind, index) => {
    const past = graph.input(`past.${String(layer)}.${kind}`, 'float', ['B', heads, 'P', headSize]);
    const present = graph.node('Concat', [past, own[index] ?? ''], { axis: 2 });
    graph.output(`present.${String(layer)}.${kind}`, present, ['B', heads, 'N', headSize]);
    return present;
  });
  const turned = graph.node('Transpose', [keys], { perm: [0, 1, 3, 2] });
  const products = graph.node('MatMul', [parts.scaled(query), turned]);
  const shares = graph.node('Softmax', [products], { axis: 3 });
  const seen = graph.node('MatMul', [shares, values]);
  const rows = graph.node('Reshape', [seen, graph.integers([-1, width])]);
  return graph.node('Add', [x, parts.linear(rows, `${name}/linear_1`, [width, width])]);
}

/** Each token attends to the audio. */
function audioAttention(
  graph: Graph,
  parts: Layers,
  x: Value,
  { layer, heads, width, audio }: OfLayer,
): { x: Value; shares: Value } {
  const name = `decoder/layer_${String(layer)}/attention`;
  const key = graph.input(`audio.${String(layer)}.key`, 'float', [heads, headSize, audio]);
  const value = graph.input(`audio.${String(layer)}.value`, 'float', [heads, audio, headSize]);
  const normal = parts.normalised(x, `${name}/layer_norm`);
  const query = parts.scaled(parts.split(parts.linear(normal, `${name}/linear_0`, [width, width])));
  const shares = graph.node('Softmax', [graph.node('MatMul', [query, key])], { axis: 2 });
  const seen = parts.join(graph.node('MatMul', [shares, value]));
  const sum = graph.node('Add', [x, parts.linear(seen, `${name}/linear_2`, [width, width])]);
  return { x: sum, shares };
}

import { Graph, type Value } from '../../models/graph.ts';
import {
  attentionOf,
  audioKeys,
  heads,
  headSize,
  keysOf,
  layers,
  MoonshineLayers,
  storedProduct,
  width,
} from './moonshine-layers.ts';
import type { OrtFile } from './ort-file.ts';
import { taughtTokens } from './taught-tokens.ts';
import type { TokenTable } from './tokens.ts';

/** A text has fewer tokens than this: 6.5 for each second of at most some twelve seconds, and those that are given. */
const positions = 512;
/** The layer and the head that look at the audio of the token that is written. */
const alignmentLayer = 4;
const alignmentHead = 6;
/** So many of the likeliest tokens are told for each place. */
export const toldTokens = 8;

const outputNode = '/proj_out';

/** The tokens that the model of a file learnt to write. */
export function taughtTokensOf(file: OrtFile, table: TokenTable): number[] {
  const { weights, zero } = storedProduct(file, outputNode);
  return taughtTokens(table, weights, zero);
}

export const pastKeys = keysOf('past');
export const presentKeys = keysOf('present');

/**
 * One step of the decoder: some tokens for each text → what comes after them.
 *
 *     tokens [B, L]  place [1]  parents [B]  told [N]  past.N.key, … [A, 8, P, 36]  audio.N.key, … [1, 8, T, 36]
 *       → scores [N, tokens]  best [N, 8]  bestTokens [N, 8]  attention [B · L, T]  present.N.key, … [B, 8, P + L, 36]
 *
 * Tokens are counted as `taught` has them, the others are none.
 *
 * `parents` says which of the texts before each text goes on, and `told` of which tokens it is asked what comes after
 * them, counted over all texts. `scores` are log-probabilities. `attention` is that of the head that looks at the audio
 * of the token that is written. All texts look at the same audio, so they are rows of one product.
 *
 * The graph that the model comes with does the same with some thousand small nodes, most of which compute shapes. They
 * took more than half of the time of a step.
 */
export function decoderGraph(file: OrtFile, taught: readonly number[]): Uint8Array {
  const graph = new Graph('moonshine decoder');
  const parts = new MoonshineLayers(graph, file, positions);
  const inputs = {
    place: graph.input('place', 'int64', [1]),
    parents: graph.input('parents', 'int64', ['B']),
    told: graph.input('told', 'int64', ['N']),
  };
  let x = parts.embedded(graph.input('tokens', 'int64', ['B', 'L']), taught);
  for (let layer = 0; layer < layers; layer++) {
    x = ownAttention(parts, x, layer, inputs);
    const heard = audioAttention(parts, x, layer);
    if (heard.attention) graph.output('attention', heard.attention, ['R', 'T']);
    x = feedForward(parts, heard.x, layer);
  }
  const rows = graph.node('Reshape', [x, graph.integers([-1, width])]);
  const asked = graph.node('Gather', [rows, inputs.told]);
  const said = parts.normalised(asked, 'model.decoder.norm.weight_merged_0', 1);
  const logits = parts.productsOf(said, outputNode, taught);
  graph.output('scores', graph.node('LogSoftmax', [logits], { axis: 1 }), ['N', taught.length]);
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
  const [query = '', key = '', value = ''] = parts.productsApart(
    normal,
    ['q', 'k', 'v'].map((kind) => `${name}/${kind}_proj`),
  );
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

function weightOf(layer: number, norm: string): string {
  return `model.decoder.layers.${String(layer)}.${norm}.weight_merged_0`;
}

import { Graph, type Value } from '../graph.ts';
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
import type { TokenTable } from '../token-table.ts';

/** A text has fewer tokens than this: 6.5 per second of at most about twelve seconds, plus the given ones. */
const positions = 512;
/** The layer and head whose attention shows which audio belongs to the token being written. */
const alignmentLayer = 4;
const alignmentHead = 6;
/** This many of the likeliest tokens are returned for each place. */
export const toldTokens = 8;

const outputNode = '/proj_out';

/** The tokens that the model in a file was trained to write. */
export function taughtTokensOf(file: OrtFile, table: TokenTable): number[] {
  const { weights, zero } = storedProduct(file, outputNode);
  return taughtTokens(table, weights, zero);
}

export const pastKeys = keysOf('past');
export const presentKeys = keysOf('present');

/**
 * One step of the decoder: some tokens for each text → the probabilities after each of them.
 *
 *     tokens [E · B, L]  place [1]  parents [E · B]  past.N.key, … [E · A, 8, P, 36]
 *     audio.N.key, … [E, 8, T, 36]  lengths [E]  shares [1, E]  asked [B · L]
 *       → scores [B · L, tokens]  best [B · L, 8]  bestTokens [B · L, 8]  askedScores [B · L, 1]
 *         attention [B · L, T]  present.N.key, … [E · B, 8, P + L, 36]
 *
 * Tokens are numbered as in `taught`; the other tokens do not exist here.
 *
 * `parents` names the earlier text that each text continues. `scores` are log-probabilities, and `asked` lists the
 * tokens whose scores are returned besides those of the likeliest. `attention` is the attention of the head that
 * follows the audio of the written token. All texts attend to the same audio, so they are rows of one product.
 *
 * Several encodings of the audio can stand side by side; `lengths` has the number of frames of each. Each text then has
 * one row for each encoding, those of the first encoding first. `scores` are the means over these rows with the weights
 * `shares`, and `attention` is that of the first encoding.
 *
 * The graph that comes with the model does the same with some thousand small nodes, most of which compute shapes. They
 * took more than half of the time of a step.
 */
export function decoderGraph(file: OrtFile, taught: readonly number[]): Uint8Array {
  const graph = new Graph('moonshine decoder');
  const parts = new MoonshineLayers(graph, file, positions);
  const inputs = {
    place: graph.input('place', 'int64', [1]),
    parents: graph.input('parents', 'int64', ['B']),
  };
  const lengths = graph.input('lengths', 'int32', ['E']);
  const encodings = graph.node('Shape', [lengths]);
  const apart = graph.node('Concat', [encodings, graph.integers([-1, width])], { axis: 0 });
  const audio = { lengths, apart };
  let x = parts.embedded(graph.input('tokens', 'int64', ['B', 'L']), taught);
  for (let layer = 0; layer < layers; layer++) {
    x = ownAttention(parts, x, layer, inputs);
    const heard = audioAttention(parts, x, layer, audio);
    if (heard.attention) graph.output('attention', heard.attention, ['N', 'T']);
    x = feedForward(parts, heard.x, layer);
  }
  const rows = graph.node('Reshape', [x, graph.integers([-1, width])]);
  const said = parts.normalised(rows, 'model.decoder.norm.weight_merged_0', 1);
  const logits = parts.productsOf(said, outputNode, taught);
  const scores = graph.node('LogSoftmax', [logits], { axis: 1 });
  graph.output('scores', meanOverEncodings(graph, scores, { encodings, tokens: taught.length }), [
    'N',
    taught.length,
  ]);
  const asked = graph.node('Reshape', [
    graph.input('asked', 'int64', ['N']),
    graph.integers([-1, 1]),
  ]);
  const askedScores = graph.node('GatherElements', ['scores', asked], { axis: 1 });
  graph.output('askedScores', askedScores, ['N', 1]);
  const told = [graph.integers([toldTokens])];
  const [best = '', tokens = ''] = graph.nodes('TopK', ['scores', ...told], 2, { axis: 1 });
  graph.output('best', best, ['N', toldTokens]);
  graph.output('bestTokens', tokens, ['N', toldTokens], 'int64');
  return graph.finish();
}

/** The mean over the rows of each encoding. */
function meanOverEncodings(
  graph: Graph,
  scores: Value,
  { encodings, tokens }: { encodings: Value; tokens: number },
): Value {
  const apart = graph.node('Concat', [encodings, graph.integers([-1])], { axis: 0 });
  const each = graph.node('Reshape', [scores, apart]);
  // The mean is written as a product, because the operator for means takes ten times as long.
  const shares = graph.input('shares', 'float', [1, 'E']);
  const mean = graph.node('MatMul', [shares, each]);
  return graph.node('Reshape', [mean, graph.integers([-1, tokens])]);
}

/** Each token attends to the tokens before it in its text. */
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

/** Each token attends to the audio. */
function audioAttention(
  parts: MoonshineLayers,
  x: Value,
  layer: number,
  { lengths, apart }: { lengths: Value; apart: Value },
): { x: Value; attention: Value | undefined } {
  const { graph } = parts;
  const name = attentionOf(layer, 'encoder');
  const [key = '', value = ''] = [2 * layer, 2 * layer + 1].map((index) =>
    graph.input(audioKeys[index] ?? '', 'float', ['E', heads, 'T', headSize]),
  );
  const normal = parts.normalised(x, weightOf(layer, 'post_attention_layernorm'));
  const queries = graph.node('Reshape', [parts.products(normal, [`${name}/q_proj`]), apart]);
  const seen = graph.node('MultiHeadAttention', [queries, key, value, '', lengths], {
    num_heads: heads,
  });
  const rows = graph.node('Reshape', [seen, graph.node('Shape', [x])]);
  const sum = graph.node('Add', [x, parts.products(rows, [`${name}/o_proj`])]);
  if (layer !== alignmentLayer) return { x: sum, attention: undefined };
  const [firstQueries = '', firstKeys = ''] = [queries, key].map((all) =>
    graph.node('Gather', [all, graph.integers([0])], { axis: 0 }),
  );
  const split = graph.node('Reshape', [firstQueries, graph.integers([-1, heads, headSize])]);
  const chosen = graph.integers([alignmentHead]);
  const query = graph.node('Squeeze', [
    graph.node('Gather', [split, chosen], { axis: 1 }),
    graph.integers([1]),
  ]);
  const keys = graph.node('Squeeze', [
    graph.node('Gather', [firstKeys, chosen], { axis: 1 }),
    graph.integers([0, 1]),
  ]);
  const products = graph.node('MatMul', [query, graph.node('Transpose', [keys], { perm: [1, 0] })]);
  const scale = graph.floats('query scale', [], Float32Array.of(headSize ** -0.5));
  const attention = graph.node('Softmax', [graph.node('Mul', [products, scale])], { axis: 1 });
  return { x: sum, attention };
}

/**
 * The two layers after the attention, with the residual sum around them. One half of the first layer weights the other
 * half.
 */
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

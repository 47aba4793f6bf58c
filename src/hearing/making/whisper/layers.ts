import { TrunklineError } from '../../../lib/errors.ts';
import type { Variable } from './ctranslate2.ts';
import type { Graph, Value } from '../graph.ts';
import { floatZero, quantised, transposed, zero } from '../quantised.ts';

export const headSize = 64;
export const melBands = 80;
/** Frames of the mel spectrum in 30 s. Two of them form one frame of the encoder. */
const melFrames = 3_000;
export const audioFrames = 1_500;
/** A model for one language has fewer tokens than this: those that name the languages are missing. */
const leastOfLanguages = 51_865;
/** A file that says it has more layers is damaged. */
const mostLayers = 32;

/** The sizes of a model. Its file determines them. */
export type WhisperSizes = {
  width: number;
  heads: number;
  layers: number;
  vocabulary: number;
  /** Frames of the mel spectrum and of the encoder. Names: the model reads windows of any length. */
  mel: number | string;
  audio: number | string;
  /** The decoder's heads that follow the audio of the token being written, as layer and head. */
  alignment: readonly (readonly [layer: number, head: number])[];
};

/** `alignment` comes from the publisher's description, because the file of the weights does not have it. */
export function sizesOf(
  variables: ReadonlyMap<string, Variable>,
  alignment: WhisperSizes['alignment'],
): WhisperSizes {
  const width = variables.get('encoder/conv1/weight')?.dims[0] ?? 0;
  const vocabulary = variables.get('decoder/embeddings/weight')?.dims[0] ?? 0;
  let layers = 0;
  while (variables.has(`decoder/layer_${String(layers)}/ffn/linear_0/weight`)) layers++;
  const heads = width / headSize;
  const sizes = `width ${String(width)}, ${String(layers)} layers, ${String(vocabulary)} tokens`;
  if (!Number.isInteger(heads) || heads < 1 || layers < 1 || layers > mostLayers || vocabulary < 1)
    throw new TrunklineError('MODEL_INVALID', `not a Whisper model: ${sizes}`);
  if (alignment.some(([layer, head]) => layer >= layers || head >= heads))
    throw new TrunklineError('MODEL_INVALID', `the description names heads beyond ${sizes}`);
  const several = vocabulary >= leastOfLanguages;
  const [mel, audio] = several ? ['M', 'T'] : [melFrames, audioFrames];
  return { width, heads, layers, vocabulary, mel, audio, alignment };
}

export function alignmentHeadsOf({ alignment }: WhisperSizes, layer: number): number[] {
  return alignment.filter(([of]) => of === layer).map(([, head]) => head);
}

/** The layers of the model as nodes of a graph, with the weights of the named variables. */
export class Layers {
  readonly #graph: Graph;
  readonly #variables: ReadonlyMap<string, Variable>;
  readonly #sizes: Pick<WhisperSizes, 'width' | 'heads'>;
  readonly #quantised = new Map<Value, [bytes: Value, scale: Value, zero: Value]>();

  constructor(
    graph: Graph,
    variables: ReadonlyMap<string, Variable>,
    sizes: Pick<WhisperSizes, 'width' | 'heads'>,
  ) {
    this.#graph = graph;
    this.#variables = variables;
    this.#sizes = sizes;
  }

  variable(name: string, dims: readonly number[]): Variable {
    const found = this.#variables.get(name);
    if (found?.dims.join() !== dims.join())
      throw new TrunklineError(
        'MODEL_INVALID',
        `${name} is ${found ? found.dims.join('×') : 'missing'} instead of ${dims.join('×')}: another model than Whisper`,
      );
    return found;
  }

  floats(name: string, dims: readonly number[]): Value {
    return this.#graph.floats(name, dims, this.variable(name, dims).values);
  }

  /** `x` [rows, in] → [rows, out]. The rows are quantised too, with a scale computed in each run. */
  linear(x: Value, name: string, [outs, ins]: readonly [outs: number, ins: number]): Value {
    const product = this.product(x, `${name}/weight`, [outs, ins]);
    return this.#graph.node('Add', [product, this.floats(`${name}/bias`, [outs])]);
  }

  product(x: Value, name: string, [outs, ins]: readonly [outs: number, ins: number]): Value {
    const graph = this.#graph;
    const { weights, scales } = this.#quantisedOf(name, [outs, ins]);
    const [bytes, scale, zeroOfX] = this.#bytesOf(x);
    const whole = graph.node('MatMulInteger', [
      bytes,
      graph.bytes(name, [ins, outs], weights),
      zeroOfX,
      graph.bytes('zero', [], Uint8Array.of(zero)),
    ]);
    const factors = graph.node('Mul', [scale, graph.floats(`${name}/scale`, [outs], scales)]);
    return graph.node('Mul', [graph.node('Cast', [whole], { to: 1 }), factors]);
  }

  /** The rows of the weights with these numbers: the embeddings of tokens. */
  rowsOf(name: string, [outs, ins]: readonly [outs: number, ins: number], chosen: Value): Value {
    const graph = this.#graph;
    const { weights, scales } = this.#quantisedOf(name, [outs, ins]);
    const stored = graph.bytes(name, [ins, outs], weights);
    const columns = graph.node('Gather', [stored, chosen], { axis: 1 });
    const numbers = graph.node('Sub', [
      graph.node('Cast', [columns], { to: 1 }),
      graph.floats(floatZero, [], Float32Array.of(zero)),
    ]);
    const rows = graph.node('Transpose', [numbers], { perm: [1, 0] });
    const scale = graph.node('Gather', [graph.floats(`${name}/scale`, [outs], scales), chosen]);
    return graph.node('Mul', [rows, graph.node('Unsqueeze', [scale, graph.integers([1])])]);
  }

  /** The file stores weights row after row, [outs, ins]. */
  #quantisedOf(name: string, dims: readonly [outs: number, ins: number]) {
    return quantised(transposed(this.variable(name, dims).values, dims), dims[0]);
  }

  normalised(x: Value, name: string): Value {
    const [gamma, beta] = ['gamma', 'beta'].map((part) =>
      this.floats(`${name}/${part}`, [this.#sizes.width]),
    );
    return this.#graph.node('LayerNormalization', [x, gamma ?? '', beta ?? ''], {
      axis: 1,
      epsilon: 1e-5,
    });
  }

  /** The two layers after the attention, with the residual sum around them. */
  feedForward(x: Value, name: string): Value {
    const { width } = this.#sizes;
    const inner = this.linear(this.normalised(x, `${name}/layer_norm`), `${name}/linear_0`, [
      4 * width,
      width,
    ]);
    const bent = this.#graph.node('Gelu', [inner]);
    return this.#graph.node('Add', [x, this.linear(bent, `${name}/linear_1`, [width, 4 * width])]);
  }

  /** [rows, width] → [heads, rows, headSize] */
  split(x: Value): Value {
    const graph = this.#graph;
    const rows = graph.node('Reshape', [x, graph.integers([-1, this.#sizes.heads, headSize])]);
    return graph.node('Transpose', [rows], { perm: [1, 0, 2] });
  }

  /** [heads, rows, headSize] → [rows, width] */
  join(x: Value): Value {
    const graph = this.#graph;
    const rows = graph.node('Transpose', [x], { perm: [1, 0, 2] });
    return graph.node('Reshape', [rows, graph.integers([-1, this.#sizes.width])]);
  }

  /** Scales the queries [heads, rows, headSize], so that the softmax of their products stays soft. */
  scaled(queries: Value): Value {
    const factor = this.#graph.floats('query scale', [], Float32Array.of(headSize ** -0.5));
    return this.#graph.node('Mul', [queries, factor]);
  }

  /** Quantises a value once, even if several layers multiply it. */
  #bytesOf(x: Value): [Value, Value, Value] {
    let found = this.#quantised.get(x);
    if (!found) {
      const [bytes = '', scale = '', zero = ''] = this.#graph.nodes(
        'DynamicQuantizeLinear',
        [x],
        3,
      );
      found = [bytes, scale, zero];
      this.#quantised.set(x, found);
    }
    return found;
  }
}

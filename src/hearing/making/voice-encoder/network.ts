import { TrunklineError } from '../../../lib/errors.ts';
import { Graph, type Value } from '../graph.ts';

/** The number of bands of the input spectrum, and the number of dimensions of the output vector. */
const bands = 80;
const directionSize = 192;

/** Planes of the convolutions over time and frequency. Three of these convolutions halve the bands. */
const planes = 32;
const bandsLeft = bands / 8;
const firstChannels = 128;
/** Each layer of a block adds this many channels to those before it. */
const growth = 32;
const squeezed = 4 * growth;
const blocks = [
  { layers: 12, dilation: 1 },
  { layers: 24, dilation: 2 },
  { layers: 16, dilation: 2 },
];
/** The epsilon used in training. It prevents a division by zero. */
const epsilon = 1e-5;

/** The properties that the engine asks of a model of this kind. */
const properties = {
  framework: '3d-speaker',
  language: 'Chinese, English',
  url: '',
  comment: '',
  sample_rate: '16000',
  output_dim: String(directionSize),
  normalize_samples: '0',
  feature_normalize_type: 'global-mean',
};

/**
 * CAM++ as a graph: the spectrum of a piece of speech → the characteristics of the voice.
 *
 *     spectrum [n, t, 80] → convolutions over time and frequency → [n, 320, t] → every second frame
 *         → three blocks of layers; each layer gets all earlier outputs, weighted by the character of the piece
 *         → mean and deviation over time → direction [n, 192]
 *
 * A piece is at most 2 s long; in longer ones the network would also treat each 2 s separately. The scales of
 * the normalisations are multiplied into the weights before them.
 */
export function voiceGraph(tensors: ReadonlyMap<string, Float32Array>): Uint8Array {
  const graph = new Graph('voice', properties);
  const parts = new VoiceLayers(graph, tensors);
  const spectrum = graph.input('spectrum', 'float', ['n', 't', bands]);
  const turned = graph.node('Transpose', [spectrum], { perm: [0, 2, 1] });
  let x = overBoth(parts, graph.node('Unsqueeze', [turned, graph.integers([1])]));
  x = graph.node('Reshape', [x, graph.integers([0, planes * bandsLeft, -1])]);
  x = parts.convolution(x, 'xvector.tdnn.linear', [firstChannels, planes * bandsLeft, 5], {
    normal: 'xvector.tdnn.nonlinear.batchnorm',
    attributes: { pads: [2, 2], strides: [2] },
  });
  let channels = firstChannels;
  for (const [index, { layers, dilation }] of blocks.entries()) {
    for (let layer = 1; layer <= layers; layer++) {
      const name = `xvector.block${String(index + 1)}.tdnnd${String(layer)}`;
      x = graph.node('Concat', [x, denseLayer(parts, x, { name, channels, dilation })], {
        axis: 1,
      });
      channels += growth;
    }
    const name = `xvector.transit${String(index + 1)}`;
    const normal = parts.normalised(x, `${name}.nonlinear.batchnorm`, channels);
    x = parts.convolution(normal, `${name}.linear`, [channels / 2, channels, 1]);
    channels /= 2;
  }
  x = parts.normalised(x, 'xvector.out_nonlinear.batchnorm', channels);
  const both = overTime(graph, x);
  x = parts.convolution(both, 'xvector.dense.linear', [directionSize, 2 * channels, 1], {
    normal: 'xvector.dense.nonlinear.batchnorm',
    isLinear: true,
  });
  x = graph.node('Reshape', [x, graph.integers([0, directionSize])]);
  graph.output('direction', x, ['n', directionSize]);
  return graph.finish();
}

/** Residual layers over time and frequency; only the bands get fewer. */
function overBoth(parts: VoiceLayers, spectrum: Value): Value {
  const around = { pads: [1, 1, 1, 1] };
  const halved = { strides: [2, 1] };
  let x = parts.convolution(spectrum, 'head.conv1', [planes, 1, 3, 3], {
    normal: 'head.bn1',
    attributes: around,
  });
  for (const name of ['layer1.0', 'layer1.1', 'layer2.0', 'layer2.1'].map((one) => `head.${one}`)) {
    const isHalved = name.endsWith('.0');
    const inner = parts.convolution(x, `${name}.conv1`, [planes, planes, 3, 3], {
      normal: `${name}.bn1`,
      attributes: isHalved ? { ...around, ...halved } : around,
    });
    const outer = parts.convolution(inner, `${name}.conv2`, [planes, planes, 3, 3], {
      normal: `${name}.bn2`,
      attributes: around,
      isLinear: true,
    });
    const past = isHalved
      ? parts.convolution(x, `${name}.shortcut.0`, [planes, planes, 1, 1], {
          normal: `${name}.shortcut.1`,
          attributes: halved,
          isLinear: true,
        })
      : x;
    x = parts.graph.node('Relu', [parts.graph.node('Add', [outer, past])]);
  }
  return parts.convolution(x, 'head.conv2', [planes, planes, 3, 3], {
    normal: 'head.bn2',
    attributes: { ...around, ...halved },
  });
}

/**
 * The addition of one layer: a convolution over time, with each channel weighed by the character of the whole piece.
 */
function denseLayer(
  parts: VoiceLayers,
  x: Value,
  { name, channels, dilation }: { name: string; channels: number; dilation: number },
): Value {
  const { graph } = parts;
  const normal = parts.normalised(x, `${name}.nonlinear1.batchnorm`, channels);
  const narrow = parts.convolution(normal, `${name}.linear1`, [squeezed, channels, 1], {
    normal: `${name}.nonlinear2.batchnorm`,
  });
  const cam = `${name}.cam_layer`;
  const local = parts.convolution(narrow, `${cam}.linear_local`, [growth, squeezed, 3], {
    attributes: { pads: [dilation, dilation], dilations: [dilation] },
  });
  // The mean of the whole piece serves as the mean of its 2 s blocks too, because a piece has only one.
  const mean = meanOf(graph, narrow);
  const context = graph.node('Add', [mean, mean]);
  const half = squeezed / 2;
  const inner = parts.convolution(context, `${cam}.linear1`, [half, squeezed, 1], {
    hasBias: true,
  });
  const weights = parts.convolution(
    graph.node('Relu', [inner]),
    `${cam}.linear2`,
    [growth, half, 1],
    {
      hasBias: true,
    },
  );
  return graph.node('Mul', [local, graph.node('Sigmoid', [weights])]);
}

/** The mean and deviation of each channel. The deviation divides by the number of frames minus one. */
function overTime(graph: Graph, x: Value): Value {
  const mean = meanOf(graph, x);
  const away = graph.node('Sub', [x, mean]);
  const squares = graph.node('ReduceSum', [graph.node('Mul', [away, away]), graph.integers([2])]);
  const frames = graph.node('Slice', [
    graph.node('Shape', [x]),
    graph.integers([2]),
    graph.integers([3]),
  ]);
  const allButOne = graph.node('Sub', [frames, graph.integers([1])]);
  const variance = graph.node('Div', [squares, graph.node('Cast', [allButOne], { to: 1 })]);
  return graph.node('Concat', [mean, graph.node('Sqrt', [variance])], { axis: 1 });
}

function meanOf(graph: Graph, x: Value): Value {
  return graph.node('ReduceMean', [x, graph.integers([2])]);
}

type VoiceConvolution = {
  /** The normalisation that follows. */
  normal?: string;
  attributes?: Record<string, readonly number[]>;
  /** True if values below zero stay. They always stay without a normalisation. */
  isLinear?: boolean;
  hasBias?: boolean;
};

/** The layers of the network as nodes of a graph, built from the named tensors. */
class VoiceLayers {
  readonly graph: Graph;
  readonly #tensors: ReadonlyMap<string, Float32Array>;

  constructor(graph: Graph, tensors: ReadonlyMap<string, Float32Array>) {
    this.graph = graph;
    this.#tensors = tensors;
  }

  convolution(x: Value, name: string, dims: readonly number[], how: VoiceConvolution = {}): Value {
    const { normal, attributes = {}, isLinear = normal === undefined, hasBias = false } = how;
    const [outs = 0] = dims;
    const each = dims.slice(1).reduce((product, dim) => product * dim, 1);
    const weights = this.#tensor(`${name}.weight`, outs * each);
    const inputs = [x];
    if (normal === undefined) inputs.push(this.graph.floats(`${name}.weight`, dims, weights));
    else {
      const { scale, offset } = this.#normal(normal, outs);
      const scaled = weights.map((value, at) => value * (scale[Math.floor(at / each)] ?? 0));
      inputs.push(this.graph.floats(`${name}.weight`, dims, scaled));
      inputs.push(this.graph.floats(`${normal}.offset`, [outs], offset));
    }
    if (hasBias)
      inputs.push(this.graph.floats(`${name}.bias`, [outs], this.#tensor(`${name}.bias`, outs)));
    const sums = this.graph.node('Conv', inputs, attributes);
    return isLinear ? sums : this.graph.node('Relu', [sums]);
  }

  /** Normalises each channel as in training, and sets values below zero to zero. */
  normalised(x: Value, name: string, channels: number): Value {
    const { graph } = this;
    const { scale, offset } = this.#normal(name, channels);
    const dims = [1, channels, 1];
    const scaled = graph.node('Mul', [x, graph.floats(`${name}.scale`, dims, scale)]);
    return graph.node('Relu', [
      graph.node('Add', [scaled, graph.floats(`${name}.offset`, dims, offset)]),
    ]);
  }

  #normal(name: string, channels: number): { scale: Float32Array; offset: Float32Array } {
    const mean = this.#tensor(`${name}.running_mean`, channels);
    const variance = this.#tensor(`${name}.running_var`, channels);
    // The last normalisation has neither weights nor biases.
    const has = this.#tensors.has(`${name}.weight`);
    const weight = has ? this.#tensor(`${name}.weight`, channels) : mean.map(() => 1);
    const bias = has ? this.#tensor(`${name}.bias`, channels) : mean.map(() => 0);
    const scale = weight.map((value, at) => value / Math.sqrt((variance[at] ?? 0) + epsilon));
    const offset = bias.map((value, at) => value - (mean[at] ?? 0) * (scale[at] ?? 0));
    return { scale, offset };
  }

  #tensor(name: string, length: number): Float32Array {
    const found = this.#tensors.get(name);
    if (found?.length !== length)
      throw new TrunklineError(
        'MODEL_INVALID',
        `${name} has ${found ? `${String(found.length)} numbers` : 'no numbers'} instead of ${String(length)}: the voice encoder's file is another model than CAM++`,
      );
    return found;
  }
}

import onnxProto from 'onnx-proto'; // a CommonJS module whose only export has no name here
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const { onnx } = onnxProto;

/**
 * A recognition model of a few kilobytes. Each word is a tone, so the expected result is known exactly. Everything from
 * the socket to the native engine runs as with real weights.
 *
 *   mel energies (80 bands) → mean of 4 frames → band of each word minus the mean of all → softmax
 *
 * A tone must exceed the bias of the blank; silence, line noise and speech stay below it.
 */
const fixtureWords = [
  'hello', 'thanks', 'one', 'two', 'three', 'four', 'five', 'my', 'refund', 'card', 'lost',
  'is', 'great', 'terrible', 'the', 'order', 'paris', 'monday', 'please', 'goodbye',
] as const; // prettier-ignore
export type FixtureWord = (typeof fixtureWords)[number];

const cacheFolder = new URL('../../../node_modules/.cache/trunkline', import.meta.url).pathname;
const melBands = 80;
const firstBand = 13;
const bandsPerWord = 2;
const framesPerToken = 4;
const blankBias = 7;

/**
 * The frequency of a word's tone: the middle of its band on the engine's mel scale (20 Hz to 7600 Hz, 80 triangles).
 */
function toneHz(word: FixtureWord): number {
  const mel = (hz: number) => 1127 * Math.log(1 + hz / 700);
  const step = (mel(7600) - mel(20)) / (melBands + 1);
  const middle = mel(20) + step * (bandOf(word) + 1);
  return 700 * (Math.exp(middle / 1127) - 1);
}

function bandOf(word: FixtureWord): number {
  return firstBand + bandsPerWord * fixtureWords.indexOf(word);
}

export type TonesOptions = {
  sampleRate?: number;
  /** The length of a word's tone. The model needs about 120 ms. */
  wordS?: number;
  gapS?: number;
  /** The silence before the first word and after the last one. */
  leadS?: number;
  tailS?: number;
  amplitude?: number;
};

/** Audio that says these words to the fixture model: `tones('my card is lost')`. */
export function tones(
  words: string | readonly FixtureWord[],
  options: TonesOptions = {},
): Int16Array {
  const { sampleRate = 8000, wordS = 0.2, gapS = 0.08, leadS = 0.2, tailS = 0.8 } = options;
  const list = typeof words === 'string' ? words.split(/\s+/).filter(Boolean) : words;
  const said = list.map((word) => {
    const known = fixtureWords.find((one) => one === word);
    if (!known) throw new Error(`the fixture model does not know "${word}"`);
    return known;
  });
  const at = (index: number) => Math.round((leadS + index * (wordS + gapS)) * sampleRate);
  const spoken = said.length === 0 ? 0 : said.length * (wordS + gapS) - gapS;
  const samples = new Int16Array(Math.round((leadS + spoken + tailS) * sampleRate));
  for (const [index, word] of said.entries())
    addTone(samples, at(index), Math.round(wordS * sampleRate), toneHz(word) / sampleRate, options);
  return samples;
}

function addTone(
  samples: Int16Array,
  from: number,
  length: number,
  cyclesPerSample: number,
  { amplitude = 0.3 }: TonesOptions,
): void {
  for (let i = 0; i < length && from + i < samples.length; i++) {
    // Tones fade in and out, because a sudden edge is a click, which is heard in every band.
    const fade = Math.min(1, i / 80, (length - 1 - i) / 80);
    const wave = Math.sin(2 * Math.PI * cyclesPerSample * i);
    samples[from + i] = Math.round(32767 * amplitude * fade * wave);
  }
}

/** The folder of the model, made once for each content. Tests and processes that run at the same time share it. */
export async function fixtureModel(): Promise<string> {
  const files: Record<string, Uint8Array | string> = {
    'model.onnx': modelBytes(),
    'tokens.txt': [...fixtureWords.map((word) => `▁${word}`), '<blk>']
      .map((token, index) => `${token} ${String(index)}\n`)
      .join(''),
    'model.json': JSON.stringify({
      kind: 'streaming-nemo-ctc',
      files: { model: 'model.onnx', tokens: 'tokens.txt' },
      languages: ['en'],
      sampleRate: 16000,
    }),
  };
  const hash = createHash('sha256');
  for (const [name, content] of Object.entries(files)) hash.update(name).update(content);
  const folder = join(cacheFolder, `fixture-model-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(join(folder, 'model.json'))) return folder;
  const draft = `${folder}.${String(process.pid)}.${Math.random().toString(36).slice(2)}`;
  await mkdir(draft, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(draft, name), content);
  try {
    await rename(draft, folder);
  } catch {
    await rm(draft, { recursive: true }); // another process has already made the same files
  }
  return folder;
}

function modelBytes(): Uint8Array {
  const words = fixtureWords.length;
  const weights = new Float32Array(melBands * (words + 1)).fill(-1 / melBands);
  for (const [index, word] of fixtureWords.entries())
    weights[bandOf(word) * (words + 1) + index]! += 1;
  for (let band = 0; band < melBands; band++) weights[band * (words + 1) + words] = 0;
  const bias = new Float32Array(words + 1);
  bias[words] = blankBias;

  const { FLOAT, INT64 } = onnx.TensorProto.DataType;
  const cache = [1, 1, 1, 1];
  const metadata = {
    vocab_size: words, // the blank is not counted
    subsampling_factor: framesPerToken,
    normalize_type: '',
    window_size: 2 * framesPerToken,
    chunk_shift: 2 * framesPerToken,
    cache_last_channel_dim1: 1,
    cache_last_channel_dim2: 1,
    cache_last_channel_dim3: 1,
    cache_last_time_dim1: 1,
    cache_last_time_dim2: 1,
    cache_last_time_dim3: 1,
  };
  const model = onnx.ModelProto.create({
    irVersion: 8,
    opsetImport: [{ domain: '', version: 13 }],
    metadataProps: Object.entries(metadata).map(([key, value]) => ({ key, value: String(value) })),
    graph: {
      name: 'tones',
      initializer: [
        tensor('weights', [melBands, words + 1], weights),
        tensor('bias', [words + 1], bias),
      ],
      input: [
        value('audio_signal', FLOAT, ['B', melBands, 'T']),
        value('length', INT64, ['B']),
        value('cache_last_channel', FLOAT, ['B', ...cache.slice(1)]),
        value('cache_last_time', FLOAT, ['B', ...cache.slice(1)]),
        value('cache_last_channel_len', INT64, ['B']),
      ],
      output: [
        value('logprobs', FLOAT, ['B', 'F', words + 1]),
        value('encoded_lengths', INT64, ['B']),
        value('cache_last_channel_next', FLOAT, ['B', ...cache.slice(1)]),
        value('cache_last_time_next', FLOAT, ['B', ...cache.slice(1)]),
        value('cache_last_channel_next_len', INT64, ['B']),
      ],
      node: [
        node('AveragePool', ['audio_signal'], 'pooled', [
          ints('kernel_shape', [framesPerToken]),
          ints('strides', [framesPerToken]),
        ]),
        node('Transpose', ['pooled'], 'frames', [ints('perm', [0, 2, 1])]),
        node('MatMul', ['frames', 'weights'], 'contrast'),
        node('Add', ['contrast', 'bias'], 'logits'),
        node('LogSoftmax', ['logits'], 'logprobs', [
          { name: 'axis', type: onnx.AttributeProto.AttributeType.INT, i: -1 },
        ]),
        node('Identity', ['length'], 'encoded_lengths'),
        node('Identity', ['cache_last_channel'], 'cache_last_channel_next'),
        node('Identity', ['cache_last_time'], 'cache_last_time_next'),
        node('Identity', ['cache_last_channel_len'], 'cache_last_channel_next_len'),
      ],
    },
  });
  return onnx.ModelProto.encode(model).finish();
}

function tensor(name: string, dims: number[], data: Float32Array): onnxProto.onnx.ITensorProto {
  return {
    name,
    dims,
    dataType: onnx.TensorProto.DataType.FLOAT,
    rawData: new Uint8Array(data.buffer),
  };
}

function value(
  name: string,
  elemType: number,
  shape: (number | string)[],
): onnxProto.onnx.IValueInfoProto {
  const dim = shape.map((size) =>
    typeof size === 'number' ? { dimValue: size } : { dimParam: size },
  );
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}

function node(
  opType: string,
  input: string[],
  output: string,
  attribute: onnxProto.onnx.IAttributeProto[] = [],
): onnxProto.onnx.INodeProto {
  return { opType, input, output: [output], name: output, attribute };
}

function ints(name: string, list: number[]): onnxProto.onnx.IAttributeProto {
  return { name, type: onnx.AttributeProto.AttributeType.INTS, ints: list };
}

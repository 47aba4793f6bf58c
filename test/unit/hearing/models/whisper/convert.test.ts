import onnxProto from 'onnx-proto'; // CommonJS: its one export has no name here
import { expect, test } from 'vitest';
import {
  type Variable,
  variablesOf,
} from '../../../../../src/hearing/making/whisper/ctranslate2.ts';
import { Graph } from '../../../../../src/hearing/making/graph.ts';
import {
  alignmentHeadsOf,
  Layers,
  sizesOf,
} from '../../../../../src/hearing/making/whisper/layers.ts';
import { quantised, transposed } from '../../../../../src/hearing/making/quantised.ts';
import { Message } from '../../../../../src/hearing/making/protobuf.ts';
import { whisperTokens } from '../../../../../src/hearing/making/whisper/whisper-tokens.ts';
import { loadOnnx, type Onnx } from '../../../../../src/hearing/decoder/onnx.ts';
import { noise } from '../../../../support/speech/made-up-voice.ts';

const u16 = (value: number) => Buffer.from(Uint16Array.of(value).buffer);
const u32 = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const name = (text: string) => Buffer.concat([u16(text.length + 1), Buffer.from(`${text}\0`)]);

/** A file of one variable of numbers of 16 bits, and one of another type. */
function fileOf(halves: readonly number[], dims: readonly number[], specification = 'WhisperSpec') {
  return Buffer.concat([
    u32(6), name(specification), u32(3, 2),
    name('layer/weight'), Buffer.of(dims.length), u32(...dims), Buffer.of(4), u32(2 * halves.length),
    ...halves.map(u16),
    name('heads'), Buffer.of(0, 2), u32(2), u16(6),
    u32(0),
  ]); // prettier-ignore
}

test('numbers of 16 bits are read exactly, variables of other types are left out', () => {
  const halves = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x7c00];
  const found = variablesOf(fileOf(halves, [2, 3]));
  expect([...found.keys()]).toEqual(['layer/weight']);
  expect(found.get('layer/weight')?.dims).toEqual([2, 3]);
  expect([...(found.get('layer/weight')?.values ?? [])]).toEqual([
    1, -2, 65504, 2 ** -24, -0, Infinity,
  ]); // prettier-ignore
});

test('a file that is cut short, of another kind or with a wrong length is refused, and says how', () => {
  const whole = fileOf([1, 2, 3], [3]);
  for (const length of [3, 10, 30, whole.length - 10])
    expect(() => variablesOf(whole.subarray(0, length))).toThrow(/inside a variable/);
  expect(() => variablesOf(fileOf([1], [1], 'OtherSpec'))).toThrow('"OtherSpec"');
  expect(() => variablesOf(fileOf([1, 2, 3], [4]))).toThrow('6 bytes for 4 numbers');
  const many = Buffer.from(whole);
  many.writeUInt32LE(1_000_000, 22);
  expect(() => variablesOf(many)).toThrow('1000000 variables');
});

test('a message is what another reader of protocol buffers takes it for', () => {
  const { NodeProto } = onnxProto.onnx;
  const attribute = new Message()
    .text(1, 'epsilon')
    .float(2, 0.25)
    .number(3, 2 ** 40)
    .number(20, 1);
  const node = new Message().text(1, 'in').text(1, 'ünder').text(4, 'Add').message(5, attribute);
  expect(node.finish()).toHaveLength(node.length);
  const read = NodeProto.decode(node.finish());
  expect(read.input).toEqual(['in', 'ünder']);
  expect(read.opType).toBe('Add');
  expect(read.attribute[0]).toMatchObject({ name: 'epsilon', f: 0.25 });
  expect(Number(read.attribute[0]?.i)).toBe(2 ** 40);
  expect(() => new Message().number(1, -1)).toThrow('-1');
});

/** Weights [outs, ins] that any program can make again, and a row without any. */
function weightsOf(outs: number, ins: number): Variable {
  const next = noise(3);
  const values = Float32Array.from({ length: outs * ins }, (_, i) => (i < ins ? 0 : next()));
  return { dims: [outs, ins], values };
}

test('weights of eight bits are less than half a step away from what they were', () => {
  const variable = weightsOf(5, 8);
  const { weights, scales } = quantised(transposed(variable.values, [5, 8]), 5);
  for (let out = 0; out < 5; out++)
    for (let i = 0; i < 8; i++) {
      const back = ((weights[i * 5 + out] ?? NaN) - 128) * (scales[out] ?? NaN);
      const away = Math.abs(back - (variable.values[out * 8 + i] ?? NaN));
      expect(away).toBeLessThanOrEqual((scales[out] ?? 0) / 2 + 1e-7);
    }
});

test('a graph that the runtime reads multiplies as the weights of the file do', async () => {
  const onnx = loadOnnx() as Onnx;
  const [outs, ins] = [6, 384];
  const weight = weightsOf(outs, ins);
  const graph = new Graph();
  const layers = new Layers(graph, new Map([['w', weight]]), { width: 384, heads: 6 });
  const x = graph.input('x', 'float', ['rows', ins]);
  graph.output('product', layers.product(x, 'w', [outs, ins]), ['rows', outs]);
  const chosen = graph.input('chosen', 'int64', ['n']);
  graph.output('rows', layers.rowsOf('w', [outs, ins], chosen), ['n', ins]);
  const session = await onnx.open(graph.finish());
  const next = noise(5);
  const rows = Float32Array.from({ length: 2 * ins }, () => next());
  const out = session.run(
    { x: onnx.floats(rows, [2, ins]), chosen: onnx.integers(BigInt64Array.of(4n), [1]) },
    ['product', 'rows'],
  );
  for (let row = 0; row < 2; row++)
    for (let o = 0; o < outs; o++) {
      let wanted = 0;
      for (let i = 0; i < ins; i++)
        wanted += (rows[row * ins + i] ?? 0) * (weight.values[o * ins + i] ?? 0);
      expect(Number(out['product']?.data[row * outs + o])).toBeCloseTo(wanted, 0);
    }
  for (let i = 0; i < ins; i++)
    expect(Number(out['rows']?.data[i])).toBeCloseTo(weight.values[4 * ins + i] ?? NaN, 2);
  expect(() => layers.variable('w', [1, 1])).toThrow(/w is 6×384 instead of 1×1/);
  expect(() => layers.variable('v', [1])).toThrow(/v is missing/);
});

test('the letters of the vocabulary are bytes again', () => {
  const list = whisperTokens('!\nĠthe\nĊ\nÃ©\n');
  const tokens = list.trimEnd().split('\n');
  expect(tokens.map((line) => Buffer.from(line.split(' ')[0] ?? '', 'base64').toString())).toEqual([
    '!',
    ' the',
    '\n',
    'é',
  ]);
  expect(tokens.map((line) => line.split(' ')[1])).toEqual(['0', '1', '2', '3']);
  expect(() => whisperTokens('€')).toThrow('€');
});

test('the sizes of a model are those of its file, and a description of another model is refused', () => {
  const empty = (...dims: number[]): Variable => ({ dims, values: new Float32Array(0) });
  const fileWith = (width: number, layers: number, tokens: number) =>
    new Map<string, Variable>([
      ['encoder/conv1/weight', empty(width, 80, 3)],
      ['decoder/embeddings/weight', empty(tokens, width)],
      ...Array.from({ length: layers }, (_, layer): [string, Variable] => [
        `decoder/layer_${String(layer)}/ffn/linear_0/weight`,
        empty(4 * width, width),
      ]),
    ]);
  const heads: [number, number][] = [[1, 0], [3, 2], [3, 5]]; // prettier-ignore
  const one = sizesOf(fileWith(384, 4, 51_864), heads);
  expect(one).toMatchObject({ width: 384, heads: 6, layers: 4, mel: 3_000, audio: 1_500 });
  expect([0, 1, 3].map((layer) => alignmentHeadsOf(one, layer))).toEqual([[], [0], [2, 5]]);
  const several = sizesOf(fileWith(512, 6, 51_865), heads);
  expect(several, 'windows of any length').toMatchObject({ heads: 8, layers: 6, mel: 'M' });
  expect(() => sizesOf(fileWith(384, 3, 51_864), heads)).toThrow(
    /heads beyond width 384, 3 layers/,
  );
  expect(() => sizesOf(fileWith(400, 4, 51_864), heads)).toThrow('not a Whisper model');
  expect(() => sizesOf(new Map(), heads)).toThrow('not a Whisper model');
});

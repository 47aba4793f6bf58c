import onnxProto from 'onnx-proto'; // CommonJS: its one export has no name here
import { expect, test } from 'vitest';
import { Graph } from '../../../../src/hearing/making/graph.ts';
import { floatZero, zero } from '../../../../src/hearing/making/quantised.ts';
import { giveSigns } from '../../../../src/hearing/making/signs.ts';

/** A graph with weights of eight bits, their zero, floats, and the zero for weights that are read as floats. */
function written(): Uint8Array {
  const graph = new Graph('signs');
  const x = graph.input('x', 'float', ['B', 3]);
  const weights = graph.bytes('weights', [3, 1], Uint8Array.of(0, 128, 255));
  const scale = graph.floats('scale', [], Float32Array.of(0.5));
  const product = graph.node('DynamicQuantizeMatMul', [
    x,
    weights,
    scale,
    graph.bytes('zero', [], Uint8Array.of(zero)),
  ]);
  const zeroOf = graph.floats(floatZero, [], Float32Array.of(zero));
  graph.output('y', graph.node('Add', [product, zeroOf]), ['B', 1]);
  return graph.finish();
}

test('weights get their signs where they stand; floats stay, but for the zero of weights read as floats', () => {
  const graph = written();
  const { length } = graph;
  giveSigns(graph);
  expect(graph).toHaveLength(length);
  const model = onnxProto.onnx.ModelProto.decode(graph);
  const stored = Object.fromEntries(
    (model.graph?.initializer ?? []).map(({ name, dataType, rawData }) => [
      name,
      [dataType, [...(rawData ?? [])]],
    ]),
  );
  const [float, int8] = [1, 3];
  expect(stored['weights']).toEqual([int8, [0x80, 0, 0x7f]]); // -128, 0, 127
  expect(stored['zero']).toEqual([int8, [0]]);
  expect(stored['scale']).toEqual([float, [...Buffer.from(Float32Array.of(0.5).buffer)]]);
  expect(stored[floatZero]).toEqual([float, [0, 0, 0, 0]]);
});

test('a file that is no graph is refused instead of being read beyond its end', () => {
  const graph = written();
  for (const cut of [1, 3, graph.length >> 1, graph.length - 1])
    expect(() => {
      giveSigns(graph.slice(0, cut));
    }, String(cut)).toThrow(RangeError);
  expect(() => {
    giveSigns(new Uint8Array(64).fill(0xff));
  }).toThrow(RangeError);
});

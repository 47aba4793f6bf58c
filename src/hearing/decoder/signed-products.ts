import { Graph } from '../making/graph.ts';
import { giveSigns } from '../making/signs.ts';

/**
 * The number of products that reveals an overflow, and row counts for the runtime's two ways to multiply: a single row,
 * and several.
 */
const ins = 64;
const outs = 16;
const rows = [1, 8] as const;
/** The largest weight in its unsigned form. */
const most = 255;
const zero = 128;

/** The functions of an opened graph that this test needs. */
type TriedGraph<Tensor> = {
  run(feeds: Record<string, Tensor>, outputs: readonly string[]): Record<string, Tensor>;
};

/**
 * True if the runtime multiplies signed weights exactly on this processor. A processor without special instructions
 * adds pairs of products in 16 bits. The largest products overflow there, which changes the result.
 */
export async function multipliesSigned<Tensor extends { data: unknown }>(
  load: (graph: Uint8Array) => Promise<TriedGraph<Tensor>>,
  floats: (data: Float32Array, dims: readonly number[]) => Tensor,
): Promise<boolean> {
  const graph = new Graph('signed products');
  const product = graph.node('DynamicQuantizeMatMul', [
    graph.input('x', 'float', ['B', ins]),
    graph.bytes('weights', [ins, outs], new Uint8Array(ins * outs).fill(most)),
    graph.floats('scale', [], Float32Array.of(1)),
    graph.bytes('zero', [], Uint8Array.of(zero)),
  ]);
  graph.output('y', product, ['B', outs]);
  const written = graph.finish();
  giveSigns(written);
  const session = await load(written);
  const exact = ins * (most - zero);
  return rows.every((count) => {
    const x = floats(new Float32Array(count * ins).fill(1), [count, ins]);
    const { y } = session.run({ x }, ['y']);
    // A one is quantised to 255 and back, which is exact up to the last bits of a float.
    return y?.data instanceof Float32Array && y.data.every((is) => Math.abs(is - exact) < 1);
  });
}

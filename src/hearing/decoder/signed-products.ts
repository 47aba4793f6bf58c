import { Graph } from '../making/graph.ts';
import { giveSigns } from '../making/signs.ts';

/** As many products as make a difference, and rows for both ways in which the runtime multiplies: one alone, several. */
const ins = 64;
const outs = 16;
const rows = [1, 8] as const;
/** The largest weight, as it is written without a sign. */
const most = 255;
const zero = 128;

/** A graph that was opened, as far as the try needs it. */
type TriedGraph<Tensor> = {
  run(feeds: Record<string, Tensor>, outputs: readonly string[]): Record<string, Tensor>;
};

/**
 * Whether the runtime multiplies weights with a sign exactly on this processor. One that has no instructions for it
 * adds pairs of products in 16 bits, where the largest ones overflow: such a product tells.
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
    // Ones are written as 255 and back, which is exact but for the last bits of a float.
    return y?.data instanceof Float32Array && y.data.every((is) => Math.abs(is - exact) < 1);
  });
}

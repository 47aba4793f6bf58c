import type { Onnx, Tensor } from './onnx.ts';

export function floatsOf(tensor: Tensor | undefined): Float32Array {
  if (!(tensor?.data instanceof Float32Array)) throw new Error('the decoder gave no such output');
  return tensor.data;
}

/** The rows of a tensor, one per beam, in the order of the beams that continue them. */
export function rowsOf(onnx: Onnx, tensor: Tensor, parents: readonly number[]): Tensor {
  const [rows = 1, ...rest] = tensor.dims;
  if (parents.length === rows && parents.every((parent, row) => parent === row)) return tensor;
  const all = floatsOf(tensor);
  const size = all.length / rows;
  const chosen = new Float32Array(parents.length * size);
  for (const [row, parent] of parents.entries())
    chosen.set(all.subarray(parent * size, (parent + 1) * size), row * size);
  return onnx.floats(chosen, [parents.length, ...rest]);
}

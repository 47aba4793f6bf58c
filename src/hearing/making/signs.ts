import { floatZero } from './quantised.ts';
import { tensorsOf } from './graph-tensors.ts';

/** Numbers of the types in ONNX's format. */
const unsigned = 2;
const signed = 3;
const signBit = 0x80;

/**
 * Makes the weights of a graph signed. Our own graphs store 8-bit weights unsigned, as their distance from -128. Signed
 * weights give the same products in half the time, if the processor has instructions for them.
 *
 * The graph is changed in place: its length stays the same, and most of a graph is weights.
 */
export function giveSigns(graph: Uint8Array): void {
  for (const { name, type, content } of tensorsOf(graph))
    if (type[0] === unsigned) {
      type.set([signed]);
      for (let at = 0; at < content.length; at++) content[at] = (content[at] ?? 0) ^ signBit;
    } else if (name === floatZero) content.fill(0);
}

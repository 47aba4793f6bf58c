import { floatZero } from './quantised.ts';
import { tensorsOf } from './graph-tensors.ts';

/** Numbers of the types in ONNX's format. */
const unsigned = 2;
const signed = 3;
const signBit = 0x80;

/**
 * Gives the weights of a graph signs. Our own graphs store 8-bit weights as their distance from -128, without a sign.
 * With a sign they are the same weights and give the same products, in half the time where a processor has instructions
 * for it.
 *
 * The graph is changed in place: the numbers keep their length, and most of a graph are weights.
 */
export function giveSigns(graph: Uint8Array): void {
  for (const { name, type, content } of tensorsOf(graph))
    if (type[0] === unsigned) {
      type.set([signed]);
      for (let at = 0; at < content.length; at++) content[at] = (content[at] ?? 0) ^ signBit;
    } else if (name === floatZero) content.fill(0);
}

/**
 * The meaning of a sentence, as a direction of 384 numbers. Each is kept in eight bits: that is how directions are stored,
 * so rules judge the same numbers live and on a stored call.
 */
export type SentenceDirection = Int8Array;

export const directionSize = 384;
/** Numbers of a direction are hardly ever above 0.4. */
const steps = 127 * 2.5;

/** The direction of these numbers, whatever their length. */
export function directionFrom(numbers: ArrayLike<number>): SentenceDirection {
  const values = Array.from(numbers);
  const length = Math.hypot(...values) || 1;
  return Int8Array.from(values, (value) =>
    Math.max(-127, Math.min(127, Math.round((value / length) * steps))),
  );
}

/** The numbers of a direction again. Their length is one, but for the rounding. */
export function numbersOf(direction: SentenceDirection): Float32Array {
  return Float32Array.from(direction, (value) => value / steps);
}

/** 1 for the same meaning, about 0 for sentences that have nothing to do with each other. */
export function cosine(one: SentenceDirection, other: SentenceDirection): number {
  let [product, ofOne, ofOther] = [0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    const [a = 0, b = 0] = [one[at], other[at]];
    product += a * b;
    ofOne += a * a;
    ofOther += b * b;
  }
  return product / (Math.sqrt(ofOne * ofOther) || 1);
}

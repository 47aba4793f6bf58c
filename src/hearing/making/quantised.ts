/** The weights of a column are spread over 127 steps on both sides of zero. Zero is written as 128. */
const highest = 127;
export const zero = 128;
/** The name of the constant that a graph subtracts from 8-bit weights: 128 for unsigned ones, 0 for signed ones. */
export const floatZero = 'zero as float';

/**
 * Weights [ins, outs] as 8-bit numbers with one scale per output. They are unsigned: processors without special
 * instructions add two products of a signed and an unsigned number in 16 bits, which overflows. With signed weights,
 * 9.5 % of the words in noise were wrong on such a processor instead of 5.5 %. On a processor that multiplies exactly,
 * the weights become signed when they are loaded (`signs.ts`).
 */
export function quantised(
  values: Float32Array,
  outs: number,
): { weights: Uint8Array; scales: Float32Array } {
  const scales = new Float64Array(outs);
  for (const [at, value] of values.entries())
    scales[at % outs] = Math.max(scales[at % outs] ?? 0, Math.abs(value) / highest);
  const weights = new Uint8Array(values.length);
  for (const [at, value] of values.entries()) {
    const scale = scales[at % outs] ?? 0;
    weights[at] = zero + (scale === 0 ? 0 : Math.round(value / scale));
  }
  return { weights, scales: Float32Array.from(scales) };
}

/** [outs, ins] → [ins, outs], because a graph multiplies from the left. */
export function transposed(
  values: Float32Array,
  [outs, ins]: readonly [outs: number, ins: number],
): Float32Array {
  const turned = new Float32Array(values.length);
  for (let out = 0; out < outs; out++)
    for (let i = 0; i < ins; i++) turned[i * outs + out] = values[out * ins + i] ?? 0;
  return turned;
}

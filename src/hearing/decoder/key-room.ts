import type { Feeds, Onnx } from './onnx.ts';

/**
 * Memory for the keys and values of one reading. A step writes into one side and reads the other, which the previous
 * step wrote. All readings reuse this memory: new arrays of a megabyte per step caused two thirds of the work of the
 * garbage collector.
 */
export class KeyRoom {
  readonly #onnx: Onnx;
  readonly #names: readonly string[];
  readonly #sides: [Float32Array[], Float32Array[]] = [[], []];
  #side: 0 | 1 = 0;

  constructor(onnx: Onnx, names: readonly string[]) {
    this.#onnx = onnx;
    this.#names = names;
  }

  /** Returns arrays of this size for the next step. They overwrite the output of the step before the last one. */
  next(dims: readonly number[]): Feeds {
    this.#side = this.#side === 0 ? 1 : 0;
    const arrays = this.#sides[this.#side];
    const length = dims.reduce((product, one) => product * one, 1);
    return Object.fromEntries(
      this.#names.map((name, index) => {
        let room = arrays[index];
        // A text grows by one token per step. With half as much memory to spare, few steps need new memory.
        if (!room || room.length < length)
          arrays[index] = room = new Float32Array(Math.ceil(1.5 * length));
        return [name, this.#onnx.floats(room.subarray(0, length), dims)];
      }),
    );
  }
}

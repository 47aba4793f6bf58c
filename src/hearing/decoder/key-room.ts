import type { Feeds, Onnx } from './onnx.ts';

/**
 * Memory for the keys and values of one reading. A step writes into one side and reads what the step before wrote into
 * the other. The next reading uses the same memory: new arrays of a megabyte for each step caused two thirds of the
 * garbage collector's work.
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

  /** Arrays of this size for the next step to write into. They overwrite what the step before the last one wrote. */
  next(dims: readonly number[]): Feeds {
    this.#side = this.#side === 0 ? 1 : 0;
    const arrays = this.#sides[this.#side];
    const length = dims.reduce((product, one) => product * one, 1);
    return Object.fromEntries(
      this.#names.map((name, index) => {
        let room = arrays[index];
        // A text grows by a token with each step. With half as much room to spare, few steps need new memory.
        if (!room || room.length < length)
          arrays[index] = room = new Float32Array(Math.ceil(1.5 * length));
        return [name, this.#onnx.floats(room.subarray(0, length), dims)];
      }),
    );
  }
}

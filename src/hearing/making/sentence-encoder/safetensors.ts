import { TrunklineError } from '../../../lib/errors.ts';
import type { SentenceWeights } from './sentence-network.ts';

/** A header longer than this is none: the one of the known file has 10 KB. */
const maxHeaderBytes = 1_000_000;

/** The file's name for a float of 32 bits. */
const floatType = ['F', 32].join('');

type TensorPlace = { dtype: string; shape: number[]; data_offsets: [number, number] };

/** The tensors of a safetensors file: a length in 8 bytes, a table of contents in JSON, and then the numbers. */
export class Safetensors implements SentenceWeights {
  /** Those of the one known model. */
  readonly layers = 6;
  readonly vocabulary = 30_522;
  readonly #bytes: Buffer;
  readonly #places: ReadonlyMap<string, TensorPlace>;
  readonly #from: number;

  constructor(bytes: Buffer) {
    const length = bytes.length < 8 ? NaN : Number(bytes.readBigUInt64LE(0));
    if (!(length <= maxHeaderBytes) || 8 + length > bytes.length)
      throw invalid('it has no table of contents');
    this.#bytes = bytes;
    this.#from = 8 + length;
    this.#places = placesIn(bytes.toString('utf8', 8, 8 + length));
  }

  /** The numbers of a tensor of exactly this shape. */
  floats(name: string, shape: readonly number[]): Float32Array {
    const place = this.#places.get(name);
    if (place?.shape.join('×') !== shape.join('×') || place.dtype !== floatType)
      throw invalid(
        `${name} is ${place ? `${place.dtype} ${place.shape.join('×')}` : 'missing'} instead of ${floatType} ${shape.join('×')}`,
      );
    const [from, to] = place.data_offsets;
    const count = shape.reduce((product, size) => product * size, 1);
    if (to - from !== 4 * count || this.#from + to > this.#bytes.length)
      throw invalid(`it ends inside ${name}`);
    // A copy, because the numbers may not begin at a multiple of four.
    const copy = Uint8Array.from(this.#bytes.subarray(this.#from + from, this.#from + to));
    return new Float32Array(copy.buffer);
  }
}

function placesIn(header: string): Map<string, TensorPlace> {
  try {
    return new Map(Object.entries(JSON.parse(header) as Record<string, TensorPlace>));
  } catch {
    throw invalid('its table of contents is no JSON');
  }
}

function invalid(how: string): TrunklineError {
  return new TrunklineError(
    'MODEL_INVALID',
    `the sentence encoder's file is not the known model: ${how}`,
  );
}

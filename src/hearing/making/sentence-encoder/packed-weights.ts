import { TrunklineError } from '../../../lib/errors.ts';
import { numbersOfScale, width, type SentenceWeights } from './sentence-network.ts';

/** The sizes of the one known file, in the order in which it names them. */
const sizes = { version: 1, width, layers: 12, heads: 12, inner: 4 * width, vocabulary: 250_037, places: 512, kinds: 2 }; // prettier-ignore
/** The file says it in the least precise form: the nearest 32-bit number to 1e-12. */
const epsilon = Math.fround(1e-12);
/** A scale of 16 bits, and then 32 numbers in 16 bytes. */
const blockBytes = 2 + numbersOfScale / 2;
const inFull = 0;
const inBlocks = 1;

type PackedPlace = { type: number; count: number; from: number };

/** MiniLM's names of the parts of a layer, with this file's. */
const partNames: readonly [theirs: string, here: string][] = [
  ['attention.self.query', 'q'],
  ['attention.self.key', 'k'],
  ['attention.self.value', 'v'],
  ['attention.output.dense', 'ao'],
  ['attention.output.LayerNorm', 'aln'],
  ['intermediate.dense', 'fi'],
  ['output.dense', 'fo'],
  ['output.LayerNorm', 'oln'],
];

/**
 * A sentence encoder of many languages as it is published: sizes, pieces of words with their scores, a table of letters,
 * a directory, and then the numbers, most of them in four bits.
 */
export class PackedWeights implements SentenceWeights {
  readonly layers = sizes.layers;
  readonly vocabulary = sizes.vocabulary;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #places = new Map<string, PackedPlace>();
  /** The place of the pieces of words: they end where the directory begins. */
  readonly #pieces: readonly [from: number, to: number];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    try {
      this.#pieces = this.#readHead();
      this.#readDirectory(this.#pieces[1]);
    } catch (error) {
      // A number behind the end of a file that was cut short.
      throw error instanceof RangeError ? invalid('it ends too early') : error;
    }
  }

  /** The part of the file that tells how a text is cut into pieces. */
  get pieces(): Uint8Array {
    return this.#bytes.subarray(...this.#pieces);
  }

  floats(name: string, shape: readonly number[]): Float32Array {
    const count = shape.reduce((product, size) => product * size, 1);
    const place = this.#placeOf(nameHere(name), count);
    return place.type === inFull ? this.#inFull(place) : this.#ofBlocks(place);
  }

  packedWords(): { nibbles: Uint8Array; scales: Float32Array } {
    const { from, count } = this.#placeOf('emb.word', sizes.vocabulary * width);
    const blocks = count / numbersOfScale;
    const nibbles = new Uint8Array(count / 2);
    const scales = new Float32Array(blocks);
    const half = numbersOfScale / 2;
    for (let block = 0; block < blocks; block++) {
      const at = from + block * blockBytes;
      scales[block] = this.#halfFloat(at);
      // A byte holds two numbers that are 16 apart here, and two neighbours there. There zero is 0 and here it is 8.
      for (let pair = 0; pair < half; pair++) {
        const [one, other] = [this.#number(at, 2 * pair), this.#number(at, 2 * pair + 1)];
        nibbles[block * half + pair] = (one & 15) | ((other & 15) << 4);
      }
    }
    return { nibbles, scales };
  }

  #readHead(): readonly [number, number] {
    const view = this.#view;
    if (this.#bytes.toString('latin1', 0, 4) !== 'E5S1') throw invalid('it does not begin as it');
    let at = 4;
    for (const [name, size] of Object.entries(sizes)) {
      if (view.getInt32(at, true) !== size) throw invalid(`its ${name} is another one`);
      at += 4;
    }
    if (view.getFloat32(at, true) !== epsilon || view.getInt32(at + 4, true) !== numbersOfScale)
      throw invalid('its numbers are of another form');
    const from = at + 8;
    const count = view.getInt32(from, true);
    const blobBytes = Number(view.getBigUint64(from + 20, true));
    const letters = from + 28 + 4 * (count + 1) + 4 * count + blobBytes;
    return [from, letters + 8 + view.getUint32(letters + 4, true)];
  }

  #readDirectory(from: number): void {
    const view = this.#view;
    let at = from + 4;
    for (let left = view.getInt32(from, true); left > 0; left--) {
      const end = at + 2 + view.getUint16(at, true);
      const name = this.#bytes.toString('latin1', at + 2, end);
      const place = { type: view.getUint8(end), count: view.getUint32(end + 1, true), from: Number(view.getBigUint64(end + 5, true)) }; // prettier-ignore
      this.#places.set(name, place);
      at = end + 21;
    }
  }

  #placeOf(name: string, count: number): PackedPlace {
    const place = this.#places.get(name);
    if (place?.count !== count) throw invalid(`${name} is missing or has another size`);
    const bytes = place.type === inBlocks ? (count / numbersOfScale) * blockBytes : 4 * count;
    if (place.from + bytes > this.#bytes.length) throw invalid(`it ends inside ${name}`);
    return place;
  }

  #inFull({ from, count }: PackedPlace): Float32Array {
    return Float32Array.from({ length: count }, (_, at) =>
      this.#view.getFloat32(from + 4 * at, true),
    );
  }

  #ofBlocks({ from, count }: PackedPlace): Float32Array {
    const values = new Float32Array(count);
    for (let block = 0; block < count / numbersOfScale; block++) {
      const at = from + block * blockBytes;
      const scale = this.#halfFloat(at);
      for (let one = 0; one < numbersOfScale; one++)
        values[block * numbersOfScale + one] = scale * this.#number(at, one);
    }
    return values;
  }

  /** One of the 32 numbers of a block, from -8 to 7. */
  #number(block: number, one: number): number {
    const half = numbersOfScale / 2;
    const byte = this.#bytes[block + 2 + (one % half)] ?? 0;
    return (one < half ? byte & 15 : byte >> 4) - 8;
  }

  #halfFloat(at: number): number {
    const bits = this.#view.getUint16(at, true);
    const sign = bits & 0x8000 ? -1 : 1;
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
  }
}

function nameHere(name: string): string {
  const layer = /^encoder\.layer\.(\d+)\.(.+)\.(weight|bias)$/.exec(name);
  if (layer) {
    const [, number = '', part, kind = ''] = layer;
    const here = partNames.find(([theirs]) => theirs === part)?.[1] ?? '';
    return `l${number}.${here}.${kind.slice(0, 1)}`;
  }
  const others: Record<string, string> = {
    'embeddings.position_embeddings.weight': 'emb.pos',
    'embeddings.token_type_embeddings.weight': 'emb.type',
    'embeddings.LayerNorm.weight': 'emb.ln.w',
    'embeddings.LayerNorm.bias': 'emb.ln.b',
  };
  return others[name] ?? name;
}

function invalid(how: string): TrunklineError {
  return new TrunklineError(
    'MODEL_INVALID',
    `the multilingual sentence encoder's file is not the known model: ${how}`,
  );
}

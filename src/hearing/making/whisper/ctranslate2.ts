import { TrunklineError } from '../../../lib/errors.ts';

/** A variable of the file, with its numbers row after row. */
export type Variable = { dims: readonly number[]; values: Float32Array };

const knownVersion = 6;
const knownSpecification = 'WhisperSpec';
const halfType = 4;
/** A file with more variables is damaged. Its count would otherwise decide how long the reader runs. */
const mostVariables = 4_096;

/**
 * Reads the variables of a model in CTranslate2's form; 16-bit numbers become floats. Variables of other types describe
 * the model (the number of heads, the activation). They are skipped, because the graphs have these facts already.
 *
 *     version  "WhisperSpec"  revision  count
 *     count ×  name  rank  dims…  type  bytes  data
 *     pairs of names that mean the same variable
 */
export function variablesOf(file: Buffer): Map<string, Variable> {
  const reader = new FileReader(file);
  const version = reader.number(4);
  const specification = reader.name();
  reader.number(4);
  if (version !== knownVersion || specification !== knownSpecification)
    throw invalid(`it is version ${String(version)} of "${specification.slice(0, 40)}"`);
  const variables = new Map<string, Variable>();
  const count = reader.number(4);
  if (count > mostVariables) throw invalid(`it says that it has ${String(count)} variables`);
  for (let index = 0; index < count; index++) {
    const name = reader.name();
    const rank = reader.number(1);
    const dims = Array.from({ length: rank }, () => reader.number(4));
    const type = reader.number(1);
    const data = reader.bytes(reader.number(4));
    if (type !== halfType) continue;
    const size = dims.reduce((product, dim) => product * dim, 1);
    if (data.length !== 2 * size)
      throw invalid(`${name} has ${String(data.length)} bytes for ${String(size)} numbers`);
    variables.set(name, { dims, values: floatsOf(data) });
  }
  return variables;
}

class FileReader {
  readonly #file: Buffer;
  #at = 0;

  constructor(file: Buffer) {
    this.#file = file;
  }

  number(bytes: 1 | 2 | 4): number {
    return this.bytes(bytes).readUIntLE(0, bytes);
  }

  /** The length includes a zero byte at the end. */
  name(): string {
    return this.bytes(this.number(2)).toString('latin1').replace(/\0$/, '');
  }

  bytes(count: number): Buffer {
    if (this.#at + count > this.#file.length)
      throw invalid(`it ends after ${String(this.#file.length)} bytes, inside a variable`);
    this.#at += count;
    return this.#file.subarray(this.#at - count, this.#at);
  }
}

/** There are only 65,536 16-bit numbers, so their values are computed once. */
let halves: Float32Array | undefined;

function floatsOf(data: Buffer): Float32Array {
  halves ??= Float32Array.from({ length: 65_536 }, (_, bits) => halfOf(bits));
  const values = new Float32Array(data.length / 2);
  for (let i = 0; i < values.length; i++) values[i] = halves[data.readUInt16LE(2 * i)] ?? 0;
  return values;
}

/** Converts a 16-bit float: one bit of sign, five of exponent, ten of fraction. */
function halfOf(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15));
}

function invalid(how: string): TrunklineError {
  return new TrunklineError('MODEL_INVALID', `not a Whisper model in CTranslate2's form: ${how}`);
}

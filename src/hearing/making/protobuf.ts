/** The encodings of a field: a number of one to ten bytes, four bytes, or a sequence of bytes after its length. */
const varintWire = 0;
const bytesWire = 2;
const fourBytesWire = 5;

/**
 * A protocol buffer message, the format of a graph. This class supports only what a graph needs: non-negative numbers,
 * floats, strings, bytes and nested messages. Bytes are kept as given and joined once, because most of them are
 * weights.
 */
export class Message {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  number(field: number, value: number): this {
    return this.#add(varint(field * 8 + varintWire), varint(value));
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#add(varint(field * 8 + fourBytesWire), bytes);
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#add(varint(field * 8 + bytesWire), varint(value.length), value);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  message(field: number, value: Message): this {
    return this.#add(varint(field * 8 + bytesWire), varint(value.length), ...value.#parts);
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts, this.#length);
  }

  #add(...parts: Uint8Array[]): this {
    for (const part of parts) {
      this.#parts.push(part);
      this.#length += part.length;
    }
    return this;
  }
}

/** Writes a number with seven bits in each byte, lowest first. The eighth bit says that more follow. */
function varint(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${String(value)} cannot be written as a number of a graph`);
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

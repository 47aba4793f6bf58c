import { Message } from './protobuf.ts';

/** Numbers of the types in the format of graphs. */
const types = { float: 1, uint8: 2, int32: 6, int64: 7, int4: 22 } as const;

/** The name of a value inside a graph. One node computes the value and other nodes use it. */
export type Value = string;
type Attribute = number | readonly number[];
/** A dimension has a name if its size is known only in a run. */
type Dimension = number | string;

const formatVersion = 9;
/** The version of the operator definitions: the first one that has the exact Gelu as one operator. */
const operatorsVersion = 20;

/** Operators that are not in the standard format. The runtime adds them, and each does several steps at once. */
const ofRuntime = new Set([
  'DynamicQuantizeMatMul',
  'GatherBlockQuantized',
  'MatMulIntegerToFloat',
  'MultiHeadAttention',
  'RotaryEmbedding',
]);
const runtimeDomain = 'com.microsoft';

/** Builds a graph node by node and writes it in ONNX's format. The same calls give the same bytes. */
export class Graph {
  readonly #graph = new Message();
  readonly #known = new Set<string>();
  readonly #name: string;
  readonly #properties: Readonly<Record<string, string>>;
  #nodes = 0;
  #needsRuntime = false;

  /** The properties are those that an engine expects of this kind of model. */
  constructor(name = 'whisper', properties: Readonly<Record<string, string>> = {}) {
    this.#name = name;
    this.#properties = properties;
  }

  input(name: string, type: 'float' | 'int32' | 'int64', dims: readonly Dimension[]): Value {
    this.#graph.message(11, valueInfo(name, type, dims));
    return name;
  }

  output(
    name: string,
    value: Value,
    dims: readonly Dimension[],
    type: 'float' | 'int64' = 'float',
  ): void {
    this.#node('Identity', [value], [name]);
    this.#graph.message(12, valueInfo(name, type, dims));
  }

  floats(name: string, dims: readonly number[], values: Float32Array): Value {
    return this.#constant(name, 'float', dims, values);
  }

  bytes(name: string, dims: readonly number[], values: Uint8Array): Value {
    return this.#constant(name, 'uint8', dims, values);
  }

  /** Signed numbers of four bits, two in each byte, the lower half first. */
  nibbles(name: string, dims: readonly number[], values: Uint8Array): Value {
    return this.#constant(name, 'int4', dims, values);
  }

  /** Adds whole numbers as an operator's input: a shape or indexes. Equal lists are stored only once. */
  integers(values: readonly number[]): Value {
    const list = BigInt64Array.from(values, BigInt);
    return this.#constant(`integers:${values.join(',')}`, 'int64', [values.length], list);
  }

  /** Adds a node and returns the name of its only output. */
  node(operator: string, inputs: readonly Value[], attributes?: Record<string, Attribute>): Value {
    return this.nodes(operator, inputs, 1, attributes)[0] ?? '';
  }

  /** Adds a node with several outputs. */
  nodes(
    operator: string,
    inputs: readonly Value[],
    count: number,
    attributes: Record<string, Attribute> = {},
  ): Value[] {
    const name = `${operator}.${String(this.#nodes++)}`;
    const outputs = Array.from({ length: count }, (_, index) => `${name}.${String(index)}`);
    this.#node(operator, inputs, outputs, attributes);
    return outputs;
  }

  finish(): Uint8Array {
    const operators = new Message().text(1, '').number(2, operatorsVersion);
    this.#graph.text(2, this.#name);
    const whole = new Message()
      .number(1, formatVersion)
      .text(2, 'trunkline')
      .message(7, this.#graph)
      .message(8, operators);
    if (this.#needsRuntime) whole.message(8, new Message().text(1, runtimeDomain).number(2, 1));
    for (const [key, value] of Object.entries(this.#properties))
      whole.message(14, new Message().text(1, key).text(2, value));
    return whole.finish();
  }

  #node(
    operator: string,
    inputs: readonly Value[],
    outputs: readonly Value[],
    attributes: Record<string, Attribute> = {},
  ): void {
    const node = new Message();
    for (const input of inputs) node.text(1, input);
    for (const output of outputs) node.text(2, output);
    node.text(3, outputs[0] ?? '').text(4, operator);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    if (ofRuntime.has(operator)) {
      node.text(7, runtimeDomain);
      this.#needsRuntime = true;
    }
    this.#graph.message(1, node);
  }

  #constant(
    name: string,
    type: keyof typeof types,
    dims: readonly number[],
    values: Float32Array | Uint8Array | BigInt64Array,
  ): Value {
    if (this.#known.has(name)) return name;
    this.#known.add(name);
    const tensor = new Message();
    for (const dim of dims) tensor.number(1, dim);
    tensor.number(2, types[type]).text(8, name);
    tensor.bytes(9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    this.#graph.message(5, tensor);
    return name;
  }
}

function attribute(name: string, value: Attribute): Message {
  const message = new Message().text(1, name);
  const [float, integer, integers] = [1, 2, 7];
  if (typeof value === 'object') {
    for (const one of value) message.number(8, one);
    return message.number(20, integers);
  }
  // A whole number is written as an integer. No operator used here has a float attribute that could be whole.
  return Number.isInteger(value)
    ? message.number(3, value).number(20, integer)
    : message.float(2, value).number(20, float);
}

function valueInfo(name: string, type: keyof typeof types, dims: readonly Dimension[]): Message {
  const shape = new Message();
  for (const dim of dims) {
    const one = new Message();
    shape.message(1, typeof dim === 'number' ? one.number(1, dim) : one.text(2, dim));
  }
  const tensor = new Message().number(1, types[type]).message(2, shape);
  return new Message().text(1, name).message(2, new Message().message(1, tensor));
}

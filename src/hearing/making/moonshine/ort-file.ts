/** A number array of a graph, as stored in its file. */
export type StoredTensor = { dims: readonly number[]; bytes: Uint8Array };

/** The positions of the fields in the table of an object of the format. */
const fields = {
  file: { model: 1 },
  model: { graph: 7 },
  graph: { initializers: 0, nodes: 2 },
  tensor: { name: 0, dims: 2, bytes: 4 },
  node: { name: 0, inputs: 8, attributes: 10 },
  attribute: { graph: 7 },
} as const;

/** The limit for graphs inside graphs. A damaged file could nest them without end. */
const deepest = 4;

/**
 * Reads the weights inside a graph of the runtime's own format. Its objects are tables: each begins with the distance
 * back to a list of its fields' positions, and an absent field has the position 0.
 *
 * Weights are found through the node that uses them, because only nodes have meaningful names.
 */
export class OrtFile {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #tensors = new Map<string, StoredTensor>();
  readonly #inputs = new Map<string, readonly string[]>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const model = this.#follow(this.#u32(0), fields.file.model);
    const graph = this.#follow(model, fields.model.graph);
    if (graph !== undefined) this.#readGraph(graph, 0);
  }

  /** A tensor by its own name. */
  tensor(name: string): StoredTensor {
    const found = this.#tensors.get(name);
    if (!found) throw new Error(`the graph has no weights ${name}`);
    return found;
  }

  /** The tensor that a node takes as one of its inputs. */
  inputOf(node: string, index: number): StoredTensor {
    return this.tensor(this.#inputs.get(node)?.[index] ?? `of ${node}`);
  }

  /** Returns a tensor that a node takes as an optional input. Undefined if the node does not have this input. */
  optional(node: string, index: number): StoredTensor | undefined {
    return this.#tensors.get(this.#inputs.get(node)?.[index] ?? '');
  }

  inputCount(node: string): number {
    return this.#inputs.get(node)?.length ?? 0;
  }

  #readGraph(graph: number, depth: number): void {
    for (const tensor of this.#list(graph, fields.graph.initializers)) {
      const name = this.#text(this.#follow(tensor, fields.tensor.name));
      this.#tensors.set(name, {
        dims: this.#integers(this.#follow(tensor, fields.tensor.dims)),
        bytes: this.#run(this.#follow(tensor, fields.tensor.bytes)),
      });
    }
    for (const node of this.#list(graph, fields.graph.nodes)) {
      const inputs = this.#list(node, fields.node.inputs).map((input) => this.#text(input));
      this.#inputs.set(this.#text(this.#follow(node, fields.node.name)), inputs);
      if (depth === deepest) continue;
      for (const attribute of this.#list(node, fields.node.attributes)) {
        const inner = this.#follow(attribute, fields.attribute.graph);
        if (inner !== undefined) this.#readGraph(inner, depth + 1);
      }
    }
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  /** The position that a field of a table points to. */
  #follow(table: number | undefined, field: number): number | undefined {
    if (table === undefined) return undefined;
    const places = table - this.#view.getInt32(table, true);
    const place = 4 + 2 * field;
    if (place >= this.#view.getUint16(places, true)) return undefined;
    const offset = this.#view.getUint16(places + place, true);
    if (offset === 0) return undefined;
    return table + offset + this.#u32(table + offset);
  }

  /** The objects of a list that a field points to. */
  #list(table: number, field: number): number[] {
    const list = this.#follow(table, field);
    if (list === undefined) return [];
    return Array.from({ length: this.#u32(list) }, (_, index) => {
      const at = list + 4 + 4 * index;
      return at + this.#u32(at);
    });
  }

  #run(at: number | undefined): Uint8Array {
    return at === undefined
      ? new Uint8Array()
      : this.#bytes.subarray(at + 4, at + 4 + this.#u32(at));
  }

  #text(at: number | undefined): string {
    return Buffer.from(this.#run(at)).toString();
  }

  #integers(at: number | undefined): number[] {
    if (at === undefined) return [];
    return Array.from({ length: this.#u32(at) }, (_, index) =>
      Number(this.#view.getBigInt64(at + 4 + 8 * index, true)),
    );
  }
}

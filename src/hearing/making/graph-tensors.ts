/** A tensor stored in a graph. Its bytes are views: writing to them changes the graph. */
export type GraphTensor = { name: string; type: Uint8Array; content: Uint8Array };

/** The numbers of the fields on the path to the tensors, in ONNX's format. */
const fields = { graph: 7, tensor: 5, type: 2, name: 8, content: 9 } as const;
/** The encodings of a field, as in `protobuf.ts`. Every other field is a number. */
const wires = { bytes: 2, four: 5 } as const;

/** The tensors of a graph whose numbers are stored as bytes. Other fields of the format are skipped. */
export function* tensorsOf(graph: Uint8Array): Generator<GraphTensor> {
  for (const model of fieldsOf(graph)) {
    if (model.field !== fields.graph) continue;
    for (const { field, bytes } of fieldsOf(model.bytes)) {
      if (field !== fields.tensor) continue;
      const stored = new Map(Array.from(fieldsOf(bytes), (one) => [one.field, one.bytes]));
      const content = stored.get(fields.content);
      if (!content) continue;
      const name = Buffer.from(stored.get(fields.name) ?? []).toString();
      yield { name, type: stored.get(fields.type) ?? new Uint8Array(0), content };
    }
  }
}

type Field = { field: number; bytes: Uint8Array };

/** The fields of a message, each as a view of its bytes. */
function* fieldsOf(message: Uint8Array): Generator<Field> {
  for (let at = 0; at < message.length;) {
    const key = varintAt(message, at);
    const wire = key.value % 8;
    let from = key.end;
    if (wire === wires.bytes) {
      const length = varintAt(message, from);
      from = length.end;
      at = from + length.value;
    } else at = wire === wires.four ? from + 4 : varintAt(message, from).end;
    if (at > message.length) throw new RangeError('the graph ends inside a field');
    yield { field: Math.floor(key.value / 8), bytes: message.subarray(from, at) };
  }
}

/** Reads a number with seven bits in each byte, lowest first. The eighth bit says that more follow. */
function varintAt(message: Uint8Array, from: number): { value: number; end: number } {
  let value = 0;
  for (let at = from; at < message.length; at++) {
    const byte = message[at] ?? 0;
    value += (byte % 128) * 128 ** (at - from);
    if (byte < 128) return { value, end: at + 1 };
  }
  throw new RangeError('the graph ends inside a number');
}

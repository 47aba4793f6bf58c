import { createRequire } from 'node:module';
import { reasonOf } from '../../lib/errors.ts';
import { giveSigns } from '../making/signs.ts';
import { multipliesSigned } from './signed-products.ts';

/**
 * The types of those parts of the runtime that we call. The runtime's public interface answers every run with a
 * promise, although the run itself blocks. A text of forty tokens would be interrupted forty times by other work of the
 * process. The binding below the public interface runs at once, so we call the binding; the version of the package is
 * pinned for that.
 */
export type Tensor = {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: Float32Array | BigInt64Array | Int32Array;
};

export type Feeds = Record<string, Tensor>;

type NativeSession = {
  loadModel(
    model: ArrayBufferLike,
    offset: number,
    length: number,
    options: RuntimeOptions,
  ): unknown;
  run(
    feeds: Feeds,
    outputs: Record<string, Tensor | null>,
    options: object,
  ): Record<string, Tensor>;
};

type RuntimeOptions = { intraOpNumThreads: 1; interOpNumThreads: 1; logSeverityLevel: 3 };

type Package = {
  Tensor: {
    new (type: 'float32', data: Float32Array, dims: readonly number[]): Tensor;
    new (type: 'int64', data: BigInt64Array, dims: readonly number[]): Tensor;
    new (type: 'int32', data: Int32Array, dims: readonly number[]): Tensor;
  };
};

type Binding = { initOrt(): void; binding: { InferenceSession: new () => NativeSession } };

export type Onnx = {
  floats(data: Float32Array, dims: readonly number[]): Tensor;
  integers(data: BigInt64Array, dims: readonly number[]): Tensor;
  lengths(values: readonly number[]): Tensor;
  /**
   * Opens one of our own graphs. Its 8-bit weights get signs where that is exact and faster, so `graph` is changed.
   */
  open(graph: Uint8Array): Promise<OnnxSession>;
};

/** A loaded graph. All inputs and outputs are copied: the graph keeps none of the caller's memory. */
export class OnnxSession {
  readonly #native: NativeSession;

  constructor(native: NativeSession) {
    this.#native = native;
  }

  /**
   * Blocks until the run is done. Outputs that are not named are not copied. The outputs of `into` are written into
   * those tensors, which must have the sizes of the outputs and must not be inputs of the same run.
   */
  run(feeds: Feeds, outputs: readonly string[], into: Feeds = {}): Record<string, Tensor> {
    const copied = Object.fromEntries(outputs.map((name) => [name, null]));
    return this.#native.run(feeds, { ...copied, ...into }, {});
  }
}

const runtimeOptions: RuntimeOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  logSeverityLevel: 3,
};

/** Loads the runtime. On a platform without a library in the package, the answer is the reason instead. */
export function loadOnnx(): Onnx | { missing: string } {
  try {
    const require = createRequire(import.meta.url);
    const { Tensor } = require('onnxruntime-node') as Package;
    const native = require('onnxruntime-node/dist/binding.js') as Binding;
    native.initOrt();
    const load = async (graph: Uint8Array) => {
      const session = new native.binding.InferenceSession();
      await session.loadModel(graph.buffer, graph.byteOffset, graph.byteLength, runtimeOptions);
      return new OnnxSession(session);
    };
    const floats = (data: Float32Array, dims: readonly number[]) =>
      new Tensor('float32', data, dims);
    let isExact: Promise<boolean> | undefined;
    return {
      floats,
      integers: (data, dims) => new Tensor('int64', data, dims),
      lengths: (values) => new Tensor('int32', Int32Array.from(values), [values.length]),
      async open(graph) {
        // Weights without signs work on every processor, and also where this trial itself fails.
        isExact ??= multipliesSigned(load, floats).catch(() => false);
        if (await isExact) giveSigns(graph);
        return load(graph);
      },
    };
  } catch (error) {
    return { missing: reasonOf(error).split('\n')[0] ?? '' };
  }
}

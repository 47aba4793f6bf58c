import { createRequire } from 'node:module';
import { reasonOf } from '../../lib/errors.ts';
import { giveSigns } from '../making/signs.ts';
import { multipliesSigned } from './signed-products.ts';

/**
 * Types for the functions of the runtime that we call. Its public interface returns a promise for every run although
 * the run itself blocks, so other work would interrupt a text of forty tokens forty times. We call the binding below
 * that interface, which runs at once, and pin the version of the package.
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
   * Opens one of our own graphs. Its 8-bit weights are made signed where that is exact and faster, which changes
   * `graph`.
   */
  open(graph: Uint8Array): Promise<OnnxSession>;
};

/** A loaded graph. All inputs and outputs are copied, so the graph keeps none of the caller's memory. */
export class OnnxSession {
  readonly #native: NativeSession;

  constructor(native: NativeSession) {
    this.#native = native;
  }

  /**
   * Blocks until the run is done. Only the named outputs are copied. Outputs in `into` are written to those tensors,
   * which must have the right size and must not be inputs of the same run.
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

/** Loads the runtime. If the package has no library for the platform, returns the reason instead. */
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
        // Unsigned weights work on every processor, so they are used if this test fails.
        isExact ??= multipliesSigned(load, floats).catch(() => false);
        if (await isExact) giveSigns(graph);
        return load(graph);
      },
    };
  } catch (error) {
    return { missing: reasonOf(error).split('\n')[0] ?? '' };
  }
}

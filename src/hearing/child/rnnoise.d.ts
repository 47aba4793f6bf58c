declare module '@echogarden/rnnoise-wasm' {
  /** The part of the module that we call; pointers are byte positions in its memory. */
  export type RNNoise = {
    _rnnoise_create(model: 0): number;
    _rnnoise_destroy(state: number): void;
    _rnnoise_process_frame(state: number, output: number, input: number): number;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    HEAPU8: Uint8Array;
  };
  const load: () => Promise<RNNoise>;
  // eslint-disable-next-line no-restricted-exports -- the package has no other
  export default load;
}

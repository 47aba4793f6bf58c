declare module 'alawmulaw' {
  type Codec = {
    encodeSample(sample: number): number;
    decodeSample(code: number): number;
    encode(samples: Int16Array): Uint8Array;
    decode(codes: Uint8Array): Int16Array;
  };
  const codecs: { alaw: Codec; mulaw: Codec };
  export default codecs;
}

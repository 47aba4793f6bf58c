import alawmulaw from 'alawmulaw';

// The package defines the codec. Every frame of every call passes here, so its answers are kept in tables.
function table(decode: (code: number) => number): Int16Array {
  return Int16Array.from({ length: 256 }, (_, code) => decode(code));
}

export const mulawToLinear: Int16Array = table((code) => alawmulaw.mulaw.decodeSample(code));
export const alawToLinear: Int16Array = table((code) => alawmulaw.alaw.decodeSample(code));

/** encodeSample answers -1 to -256 for some inputs: the low byte is the code. */
export const linearToMulaw = (sample: number): number => alawmulaw.mulaw.encodeSample(sample) & 255;
export const linearToAlaw = (sample: number): number => alawmulaw.alaw.encodeSample(sample) & 255;

export const mulawSilence = 0xff;
export const alawSilence = 0xd5;

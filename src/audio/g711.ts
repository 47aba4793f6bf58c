import alawmulaw from 'alawmulaw';

// Tables made with the package's codec. Every frame of every call is converted with them.
function table(decode: (code: number) => number): Int16Array {
  return Int16Array.from({ length: 256 }, (_, code) => decode(code));
}

export const mulawToLinear: Int16Array = table((code) => alawmulaw.mulaw.decodeSample(code));
export const alawToLinear: Int16Array = table((code) => alawmulaw.alaw.decodeSample(code));

/** encodeSample returns -1 to -256 for some inputs. Their low byte is the code. */
export const linearToMulaw = (sample: number): number => alawmulaw.mulaw.encodeSample(sample) & 255;
export const linearToAlaw = (sample: number): number => alawmulaw.alaw.encodeSample(sample) & 255;

export const mulawSilence = 0xff;
export const alawSilence = 0xd5;

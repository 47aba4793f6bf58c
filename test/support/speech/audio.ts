/** One frame of telephone audio: 20 ms of mu-law at 8 kHz. */
export const frameBytes = 160;

/** A frame that contains its own number, so that the audio that the service heard can be read as text. */
export function numberedFrame(number: number): Buffer {
  const frame = Buffer.alloc(frameBytes, number & 0x7f);
  frame.writeUInt32LE(number, 0);
  frame.writeUInt32LE((number * 2_654_435_761) >>> 0, 4);
  return frame;
}

/** Audio from a seed in which no two seconds are alike. */
export function seededAudio(bytes: number, seed: number): Buffer {
  const audio = Buffer.alloc(bytes);
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    audio[at] = state >>> 24;
  }
  return audio;
}

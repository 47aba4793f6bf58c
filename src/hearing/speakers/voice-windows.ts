import type { Encoder } from './voice-encoder.ts';
import { sampleRate, type SpeechSegment } from './segments.ts';

/** The samples of a window. The network reads at most 2 s. */
export const windowLength = 1.6 * sampleRate;
/** If more than this is left of a segment, the rest gets its own window. */
const longestRest = 0.1 * sampleRate;

/** A window of a segment, in which one voice is assumed. */
export type VoiceWindow = {
  /** The samples that the window represents: those nearest to its centre. */
  from: number;
  to: number;
  seconds: number;
  embedding: Float32Array;
};

type Cut = { at: number; length: number };

/**
 * The windows of a segment. Each has 1.6 s, and the last one ends with the segment. A shorter segment is one window.
 */
export function cutsOf(length: number, hop: number): Cut[] {
  if (length <= windowLength) return [{ at: 0, length }];
  const cuts: Cut[] = [];
  for (let at = 0; at + windowLength <= length; at += hop) cuts.push({ at, length: windowLength });
  const last = (cuts.at(-1)?.at ?? 0) + windowLength;
  if (length - last > longestRest) cuts.push({ at: length - windowLength, length: windowLength });
  return cuts;
}

/** The windows of a segment with their directions, at this distance in seconds. */
export function voiceWindows(
  { from, to }: SpeechSegment,
  samples: Float32Array,
  { encoder, hopS }: { encoder: Encoder; hopS: number },
): VoiceWindow[] {
  const cuts = cutsOf(samples.length, Math.round(hopS * sampleRate));
  const centre = ({ at, length }: Cut): number => at + length / 2;
  return cuts.map((cut, index) => {
    const before = cuts[index - 1];
    const after = cuts[index + 1];
    return {
      from: before ? from + Math.round((centre(before) + centre(cut)) / 2) : from,
      to: after ? from + Math.round((centre(cut) + centre(after)) / 2) : to,
      seconds: cut.length / sampleRate,
      embedding: encoder.directionOf(filled(samples.subarray(cut.at, cut.at + cut.length))),
    };
  });
}

/** Repeats audio that is too short, because directions of equally long windows compare best. */
function filled(piece: Float32Array): Float32Array {
  if (piece.length >= windowLength) return piece;
  return Float32Array.from({ length: windowLength }, (_, at) => piece[at % piece.length] ?? 0);
}

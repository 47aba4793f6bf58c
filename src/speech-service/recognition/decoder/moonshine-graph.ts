import { createHash } from 'node:crypto';

/**
 * Where the audio of a token lies is known inside the decoder only: in the attention that one head of its fifth layer
 * pays to the frames. The graph does not give that out, and outputs cannot be added to a graph of this format. But the
 * branch for every token after the first has an output that its callers do not need, because it repeats an input. The
 * number of that output's value is four bytes of the file. They are changed in memory to the number of the attention's
 * value; the file on disk stays as it was fetched.
 *
 * The bytes are right for one file alone, so they belong to its checksum.
 */
type Attention = {
  sha256: string;
  /** Where the number stands, and the place of the value's name that it points to from there. */
  at: number;
  name: number;
  /** The output that carries the attention from then on, and the head that is to be looked at. */
  output: string;
  head: number;
};

const known: readonly Attention[] = [
  {
    sha256: 'cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0',
    at: 633_748,
    name: 1_309_080,
    output: 'present.5.encoder.value',
    head: 6,
  },
];

export type AttentionOutput = Pick<Attention, 'output' | 'head'>;

/**
 * Changes a decoder's graph so that it gives out its attention; undefined for a file that is not known, which stays
 * as it is.
 */
export function revealAttention(graph: Buffer): AttentionOutput | undefined {
  const sha256 = createHash('sha256').update(graph).digest('hex');
  const found = known.find((one) => one.sha256 === sha256);
  if (!found) return undefined;
  graph.writeUInt32LE(found.name - found.at, found.at);
  return { output: found.output, head: found.head };
}

/** A frame of the encoder stands for so many samples; the audio of its middle begins so many samples later. */
const frameSamples = 384;
const middleSamples = 450;
/** The attention looks so far behind the beginning of a word; measured on a voice of its own. */
const delayS = 0.048;

/** The second at which a word begins whose first token was read from this frame. */
export function secondOf(frame: number): number {
  return Math.max(0, (frameSamples * frame + middleSamples) / 16000 - delayS);
}

/** The decoder counts the length of its audio in samples, with so many of them to a frame. */
export const samplesOfFrame = frameSamples;

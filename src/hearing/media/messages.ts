export type MediaFacts = { durationS: number; channels: number; codec: string };

export type DecodedMedia = {
  durationS: number;
  channels: number;
  /** Groups of identical channels, by their first channel. Each file is headerless 16-bit little-endian mono at 16 kHz. */
  distinct: { channels: number[]; path: string; samples: number }[];
};

/** The order of the process of one file. It holds every limit that the process must keep. */
export type MediaOrder = {
  task: 'probe' | 'decode';
  path: string;
  /** The folder of decoded channels; not used by a probe. */
  folder: string;
  maxSeconds: number;
  /** Seconds of CPU for each program that is started. */
  cpuSeconds: number;
  /** True where the process asks before it writes: it sends a `RoomQuestion` and waits for any message. */
  asksForRoom: boolean;
};

/** One answer allows this much for each channel: half a minute of audio. */
export const grantedBytes = 1_048_576;

/**
 * The present size of the channel files, and the size that they may have before the next question, all channels
 * distinct.
 */
export type RoomQuestion = { question: 'room'; writtenBytes: number; reachBytes: number };

export type MediaAnswer =
  | { outcome: 'facts'; facts: MediaFacts }
  | { outcome: 'decoded'; decoded: DecodedMedia }
  | { outcome: 'failed'; status: number; message: string };

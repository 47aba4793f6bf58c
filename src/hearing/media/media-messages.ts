export type MediaFacts = { durationS: number; channels: number; codec: string };

export type DecodedMedia = {
  durationS: number;
  channels: number;
  /**
   * Groups of identical channels, by their first channel. Each file is headerless 16-bit little-endian mono at 16 kHz.
   */
  distinct: { channels: number[]; path: string; samples: number }[];
};

/** The order for the process of one file, with every limit that it must keep. */
export type MediaOrder = {
  task: 'probe' | 'decode';
  path: string;
  /** The folder for decoded channels. A probe does not use it. */
  folder: string;
  maxSeconds: number;
  /** The processor seconds for each program that is started. */
  cpuSeconds: number;
  /** True if the process must ask before it writes: it sends a `RoomQuestion` and waits for a message. */
  asksForRoom: boolean;
};

/** One answer grants this much for each channel: half a minute of audio. */
export const grantedBytes = 1_048_576;

/**
 * The current size of the channel files, and the size they may reach before the next question if all channels are
 * distinct.
 */
export type RoomQuestion = { question: 'room'; writtenBytes: number; reachBytes: number };

export type MediaAnswer =
  | { outcome: 'facts'; facts: MediaFacts }
  | { outcome: 'decoded'; decoded: DecodedMedia }
  | { outcome: 'failed'; status: number; message: string };

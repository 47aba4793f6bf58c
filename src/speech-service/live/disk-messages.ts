/** One batch for the disk thread: the bytes of all files in one buffer, in the order of the calls. */
export type DiskBatch = {
  /** Files that the thread has not seen: what they hold already is not touched. */
  opens: { file: number; path: string; size: number }[];
  /** Pairs of file and length; each length is the next piece of `bytes`. */
  pieces: Uint32Array;
  bytes: Uint8Array<ArrayBuffer>;
  /** Forgotten after the pieces. */
  closes: number[];
};

/** By the index of the piece; everything that is not named is in its file. */
export type DiskReply = { failed: { piece: number; code: string; message: string }[] };

import { FileError } from './file-error.ts';

/** The room that one file takes, from its first byte until the file is kept or given up. */
export type Place = {
  /** Counts bytes that have come. Throws when they do not fit. */
  take(bytes: number): void;
  /** The file stays: exactly its bytes are taken from now on. */
  keep(): void;
  /** The file is not kept. Does nothing after `keep`. */
  [Symbol.dispose](): void;
};

/** Whose room it is, for the sentence that tells that there is none. */
type RoomName = { where: string; setting: string };

const ofDisk = { where: 'on the disk of this node', setting: 'TRUNKLINE_JOBS_STORED_BYTES' };

/**
 * The bytes that stored files may take together in one place: on the disk of this node, or in the bucket. What is under way counts from its beginning with the
 * length that was announced, so that many uploads at once do not all fail shortly before their ends.
 */
export class FileRoom {
  readonly #maxBytes: number;
  readonly #name: RoomName;
  #keptBytes: number;
  /** The bytes of files that are under way. */
  #heldBytes = 0;

  constructor(maxBytes: number, keptBytes: number, name: RoomName = ofDisk) {
    this.#maxBytes = maxBytes;
    this.#name = name;
    this.#keptBytes = keptBytes;
  }

  get takenBytes(): number {
    return this.#keptBytes + this.#heldBytes;
  }

  /** Throws when what is announced does not fit. */
  open(announcedBytes = 0): Place {
    let heldBytes = 0;
    let cameBytes = 0;
    const hold = (bytes: number): void => {
      if (this.takenBytes + bytes > this.#maxBytes) throw this.#full();
      this.#heldBytes += bytes;
      heldBytes += bytes;
    };
    const letGo = (): void => {
      this.#heldBytes -= heldBytes;
      heldBytes = 0;
    };
    hold(announcedBytes);
    return {
      take: (bytes) => {
        cameBytes += bytes;
        if (cameBytes > heldBytes) hold(cameBytes - heldBytes);
      },
      keep: () => {
        letGo();
        this.#keptBytes += cameBytes;
      },
      [Symbol.dispose]: letGo,
    };
  }

  /** A kept file was deleted, or has left this place. */
  free(bytes: number): void {
    this.#keptBytes = Math.max(0, this.#keptBytes - bytes);
  }

  /** The kept files were counted anew. */
  recount(keptBytes: number): void {
    this.#keptBytes = keptBytes;
  }

  #full(): FileError {
    const { where, setting } = this.#name;
    return new FileError(
      507,
      `no room for this file: stored files may take ${this.#maxBytes} bytes together ${where} (${setting}); delete jobs, or wait until unused uploads expire`,
    );
  }
}

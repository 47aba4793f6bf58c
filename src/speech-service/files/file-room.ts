import { FileError } from './file-error.ts';

/** What one file takes of the room, from its first byte until it is kept or given up. */
export type Place = {
  /** Counts bytes that have come. Throws when they do not fit. */
  take(bytes: number): void;
  /** The file stays: exactly its bytes are taken from now on. */
  keep(): void;
  /** The file is not kept. Does nothing after `keep`. */
  [Symbol.dispose](): void;
};

/**
 * The bytes that all stored files of this node may take together. What is under way counts from its beginning with the
 * length that was announced, so that many uploads at once do not all fail shortly before their ends.
 */
export class FileRoom {
  readonly #maxBytes: number;
  #takenBytes: number;

  constructor(maxBytes: number, takenBytes: number) {
    this.#maxBytes = maxBytes;
    this.#takenBytes = takenBytes;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Throws when what is announced does not fit. */
  open(announcedBytes = 0): Place {
    let heldBytes = 0;
    let cameBytes = 0;
    const hold = (bytes: number): void => {
      if (this.#takenBytes + bytes > this.#maxBytes) throw this.#full();
      this.#takenBytes += bytes;
      heldBytes += bytes;
    };
    hold(announcedBytes);
    return {
      take: (bytes) => {
        cameBytes += bytes;
        if (cameBytes > heldBytes) hold(cameBytes - heldBytes);
      },
      keep: () => {
        this.#takenBytes -= heldBytes - cameBytes;
        heldBytes = 0;
      },
      [Symbol.dispose]: () => {
        this.#takenBytes -= heldBytes;
        heldBytes = 0;
      },
    };
  }

  /** A kept file was deleted. */
  free(bytes: number): void {
    this.#takenBytes = Math.max(0, this.#takenBytes - bytes);
  }

  #full(): FileError {
    return new FileError(
      507,
      `no room for this file: the stored files of this installation may take ${this.#maxBytes} bytes together (TRUNKLINE_JOBS_STORED_BYTES); delete jobs, or wait until unused uploads expire`,
    );
  }
}

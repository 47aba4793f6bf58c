import { FileError } from './file-error.ts';

/** Disk space for one file, from its first byte until the file is kept or given up. */
export type Place = {
  /** Counts received bytes. Throws if they do not fit. */
  take(bytes: number): void;
  /** Marks the file as kept. From now on exactly its bytes are counted. */
  keep(): void;
  /** Gives the space back unless the file was kept. */
  [Symbol.dispose](): void;
};

/** The place and its setting, as the error message names them. */
type RoomName = { where: string; setting: string };

const ofDisk = { where: 'on the disk of this node', setting: 'TRUNKLINE_JOBS_STORED_BYTES' };

/**
 * The space for stored files in one place: on this node's disk or in the bucket. A file under way counts from its
 * beginning with its announced length. Otherwise many uploads at once would all fail shortly before their ends.
 */
export class FileRoom {
  readonly #maxBytes: number;
  readonly #name: RoomName;
  #keptBytes: number;
  /** Number of bytes promised to files that are being received. */
  #heldBytes = 0;

  constructor(maxBytes: number, keptBytes: number, name: RoomName = ofDisk) {
    this.#maxBytes = maxBytes;
    this.#name = name;
    this.#keptBytes = keptBytes;
  }

  get takenBytes(): number {
    return this.#keptBytes + this.#heldBytes;
  }

  /** Reserves space. Throws if the announced bytes do not fit. */
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

  /** Gives back the space of a kept file that was deleted or moved away. */
  free(bytes: number): void {
    this.#keptBytes = Math.max(0, this.#keptBytes - bytes);
  }

  /** Replaces the count after the kept files were counted again. */
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

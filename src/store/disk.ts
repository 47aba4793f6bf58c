import { open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { within, type Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import { DiskRooms } from './disk-room.ts';
import { diskFree, diskLow } from './metrics.ts';

/*
 * A full disk refuses deletes as well as inserts, so the disk must never become full:
 *
 *   plenty ── low-water mark: no new calls, not ready ── full: the ballast file is given back,
 *   and what was begun can be finished in its room. With space again the ballast is made anew.
 */
type DiskOptions = {
  dataDir: string;
  lowWaterBytes: number;
  ballastBytes: number;
  log: Logger;
  clock: Clock;
  /** Returns the free bytes in place of the file system, for tests. */
  freeBytes?: () => Promise<number>;
};

const checkEveryMs = 5_000;
/** With less room than this, opening the database and the journal would fail. */
const startBytes = 4_194_304;
const maxCloseMs = 500;

/** Watches the room on the data disk and keeps a reserve file (the ballast) for the calls that already run. */
export class DiskWatch {
  readonly #options: DiskOptions;
  readonly #ballastPath: string;
  /** The bytes that are promised to work that can wait. */
  readonly rooms: DiskRooms;
  #freeBytes = Number.POSITIVE_INFINITY;
  #hasBallast = false;
  readonly #clock: Clock;
  #checks: Loop | undefined;
  #checking: Promise<void> | undefined;
  #closed = false;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#ballastPath = join(options.dataDir, 'ballast');
    this.rooms = new DiskRooms(options.lowWaterBytes);
  }

  async start(): Promise<void> {
    this.#hasBallast = await exists(this.#ballastPath);
    await this.check();
    // An earlier run may have been killed on its full disk, before it gave the reserve back.
    if (this.#hasBallast && this.#freeBytes < startBytes) await this.releaseBallast();
    this.#checks = every(this.#clock, checkEveryMs, () => this.check(), {
      failed: (error) => this.#options.log.warn({ err: error }, 'the disk check failed'),
    });
  }

  /** Measures now, or joins a measurement that is in progress. */
  check(): Promise<void> {
    this.#checking ??= this.#measure().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  get isLow(): boolean {
    return this.#freeBytes < this.#options.lowWaterBytes;
  }

  health(): Health {
    if (!this.isLow) return { state: 'ok' };
    const free = Math.max(0, Math.round(this.#freeBytes / 1048576));
    const mark = Math.round(this.#options.lowWaterBytes / 1048576);
    return {
      state: 'down',
      detail: `${free} MiB free on the data disk, under the mark of ${mark} MiB`,
    };
  }

  /** Called when the database met a full disk. The reserve file is deleted, so that running calls can finish. */
  async releaseBallast(): Promise<void> {
    this.#freeBytes = 0;
    this.rooms.measuring()(0);
    if (!this.#hasBallast) return;
    this.#hasBallast = false;
    await rm(this.#ballastPath, { force: true });
    this.#options.log.error(
      'the data disk is full: no new calls until space is freed; running calls got the reserve',
    );
    await this.check();
  }

  async close(): Promise<void> {
    this.#closed = true;
    void this.#checks?.stop();
    // A file system that hangs never answers, so the measurement is abandoned.
    const checking = this.#checking?.catch(() => undefined);
    if (checking) await within(this.#clock, maxCloseMs, checking);
  }

  async #measure(): Promise<void> {
    const wasLow = this.isLow;
    const measured = this.rooms.measuring();
    this.#freeBytes = await this.#freeOrNone();
    measured(this.#freeBytes);
    diskFree.set(this.#freeBytes);
    diskLow.set(this.isLow ? 1 : 0);
    if (this.isLow !== wasLow) {
      const fields = { freeBytes: this.#freeBytes, lowWaterBytes: this.#options.lowWaterBytes };
      if (this.isLow)
        this.#options.log.error(fields, 'disk under the low-water mark: no new calls');
      else this.#options.log.info(fields, 'disk has room again');
    }
    // The reserve file must not itself bring the disk below the mark.
    const room = this.#options.lowWaterBytes + 2 * this.#options.ballastBytes;
    if (!this.#hasBallast && !this.#closed && this.#freeBytes > room) await this.#makeBallast();
  }

  /**
   * Returns the free bytes. A folder that cannot be read (unmounted, no permission) has none, because no call could be
   * stored there.
   */
  async #freeOrNone(): Promise<number> {
    try {
      return await this.#free();
    } catch (error) {
      if (!this.isLow)
        this.#options.log.error(
          { err: error },
          'the free space of the data disk could not be read',
        );
      return 0;
    }
  }

  async #free(): Promise<number> {
    if (this.#options.freeBytes) return this.#options.freeBytes();
    const { bavail, bsize } = await statfs(this.#options.dataDir);
    return bavail * bsize;
  }

  /** Writes the reserve file with real bytes, because a sparse file would reserve nothing. */
  async #makeBallast(): Promise<void> {
    if (this.#options.ballastBytes === 0) return;
    try {
      const file = await open(this.#ballastPath, 'w', 0o600);
      const block = Buffer.alloc(1 << 20, 0x54);
      try {
        for (let left = this.#options.ballastBytes; left > 0; left -= block.length)
          await file.write(block, 0, Math.min(left, block.length));
      } finally {
        await file.close();
      }
      this.#hasBallast = true;
    } catch (error) {
      await rm(this.#ballastPath, { force: true }).catch(() => undefined); // half a reserve is useless
      this.#options.log.warn({ err: error }, 'the ballast file could not be made');
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

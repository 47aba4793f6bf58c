import { stat } from 'node:fs/promises';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';

/** The log is kept near 4 MB; far beyond that a reader holds it and the disk fills unseen. */
const alarmBytes = 67_108_864;
const lookEveryMs = 10_000;

export type WalWatchOptions = {
  path: string;
  log: Logger;
  /** A checkpoint that also cuts the file; it cannot while a reader holds an old state. */
  shrink: () => Promise<void>;
  alarmBytes?: number;
  lookEveryMs?: number;
};

/** Watches the size of the log beside the database: a reader that hangs on starves the checkpoint (F54). */
export class WalWatch {
  readonly #options: WalWatchOptions;
  readonly #alarmBytes: number;
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;
  #looking = false;

  constructor(options: WalWatchOptions) {
    this.#options = options;
    this.#alarmBytes = options.alarmBytes ?? alarmBytes;
    this.#timer = setInterval(() => void this.#look(), options.lookEveryMs ?? lookEveryMs);
    this.#timer.unref();
  }

  health(): Health {
    if (this.#bytes <= this.#alarmBytes) return { state: 'ok' };
    const megabytes = Math.round(this.#bytes / 1048576);
    return {
      state: 'degraded',
      detail: `the database's log has grown to ${megabytes} MiB: another program holds an old state of it`,
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return; // a checkpoint that waits for the reader
    this.#looking = true;
    const { path, log, shrink } = this.#options;
    const was = this.health().state;
    try {
      this.#bytes = (await stat(path)).size;
      if (this.#bytes > this.#alarmBytes) {
        await shrink();
        this.#bytes = (await stat(path)).size;
      }
    } catch (error) {
      log.warn({ err: error }, 'the log of the database could not be shortened');
    } finally {
      this.#looking = false;
    }
    const is = this.health();
    if (was === 'ok' && is.state !== 'ok')
      log.error({ bytes: this.#bytes }, is.detail ?? 'the log of the database grows');
    if (was !== 'ok' && is.state === 'ok')
      log.info({ bytes: this.#bytes }, 'the log of the database is short again');
  }
}

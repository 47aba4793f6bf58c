import { wait, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { backOffMs } from './back-off.ts';
import { speechTotals } from './metrics.ts';

/** A request that is under way has its answer within its own deadline. Until then no session counts as an orphan. */
const settleMs = 15_000;
/** The service itself ends a session that nobody connects to. Only then can it be erased. */
const attempts = 24;
const delays = { firstMs: 15_000, maxMs: 300_000 };

export type OrphanSearch = {
  /** The metadata with which the sessions of this leg, and no others, were created. */
  metadata: Record<string, unknown>;
  /** Called late, because the leg may learn of the session meanwhile. */
  isKnown: (sessionId: string) => boolean;
};

/** All nodes of the service together. */
export type OrphanKeepers = {
  /** Undefined if a node that may have some gives no answer. */
  find(metadata: Record<string, unknown>): Promise<string[] | undefined>;
  erase(sessionId: string): Promise<'erased' | 'unknown' | 'unfinished' | 'failed'>;
};

/**
 * A request whose answer was lost may have created a session that nobody uses. Such sessions are found by their
 * metadata and erased as soon as the service permits it. This runs in the background, and no leg waits for it.
 */
export class Orphans {
  readonly #api: OrphanKeepers;
  readonly #clock: Clock;
  readonly #log: Logger;
  #closed = false;

  constructor(api: OrphanKeepers, clock: Clock, log: Logger) {
    this.#api = api;
    this.#clock = clock;
    this.#log = log;
  }

  cancel(search: OrphanSearch): void {
    this.#run(search).catch((error: unknown) =>
      this.#log.error({ err: error }, 'orphaned sessions could not be searched for'),
    );
  }

  close(): void {
    this.#closed = true;
  }

  async #run({ metadata, isKnown }: OrphanSearch): Promise<void> {
    await wait(this.#clock, settleMs);
    for (let attempt = 0; attempt < attempts && !this.#closed; attempt++) {
      const found = await this.#api.find(metadata);
      if (found !== undefined && (await this.#eraseAll(found.filter((id) => !isKnown(id))))) return;
      await wait(this.#clock, backOffMs(attempt, delays));
    }
  }

  async #eraseAll(orphans: readonly string[]): Promise<boolean> {
    let gone = true;
    for (const id of orphans) {
      const result = await this.#api.erase(id);
      if (result === 'erased') {
        speechTotals.orphansErased++;
        this.#log.warn(
          { sessionId: id },
          'the speech service never answered the creation of a session, which is erased there now',
        );
      }
      gone &&= result === 'erased' || result === 'unknown';
    }
    return gone;
  }
}

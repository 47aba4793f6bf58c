import { wait, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { backOffMs } from './back-off.ts';
import { speechTotals } from './metrics.ts';

/** The answer to a request that is under way now comes within its own deadline: until then no session is an orphan. */
const settleMs = 15_000;
/** A session that nobody ever connects to is ended by the service itself; only then can it be erased. */
const attempts = 24;
const delays = { firstMs: 15_000, maxMs: 300_000 };

export type OrphanSearch = {
  /** The metadata with which the sessions of this leg were created, and no others. */
  metadata: Record<string, unknown>;
  /** Asked late: by then the leg may have got to know the session. */
  isKnown: (sessionId: string) => boolean;
};

/** All nodes of the service together. */
export type OrphanKeepers = {
  /** Undefined when a node that may have some does not say. */
  find(metadata: Record<string, unknown>): Promise<string[] | undefined>;
  erase(sessionId: string): Promise<'erased' | 'unknown' | 'unfinished' | 'failed'>;
};

/**
 * A request whose answer was lost may have made a session that nobody will use. It is looked for by its
 * metadata and erased once the service lets go of it, in the background: no leg waits for it.
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
      this.#log.error({ err: error }, 'sessions without an owner could not be looked for'),
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
        this.#log.warn({ sessionId: id }, 'erased a session whose creation was never answered');
      }
      gone &&= result === 'erased' || result === 'unknown';
    }
    return gone;
  }
}

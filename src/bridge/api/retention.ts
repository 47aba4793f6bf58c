import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';
import type { BridgeConfig } from '../config.ts';
import type { Eraser } from './erasure.ts';
import type { Journal } from '../journal/journal.ts';

export type RetentionOptions = {
  store: Store;
  journal: Journal;
  eraser: Eraser;
  clock: Clock;
  log: Logger;
  days: BridgeConfig['retentionDays'];
};

const dayMs = 24 * 3_600_000;
const sweepMs = 3_600_000;
const batch = 100;

/**
 * Lets go of what is older than the configured days: recordings, then whole calls. Events before their call are the
 * outbox's to remove.
 */
export class Retention {
  readonly #options: RetentionOptions;
  #stopWaiting: () => void = () => undefined;
  #working: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#wait();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopWaiting();
    await this.#working;
  }

  /** One pass over everything that is due. */
  async sweep(): Promise<{ calls: number; recordings: number }> {
    const { days, log } = this.#options;
    const done = {
      recordings: await this.#recordings(this.#before(days.recordings)),
      calls: await this.#calls(this.#before(days.calls)),
    };
    if (done.calls + done.recordings > 0) log.info(done, 'retention swept');
    return done;
  }

  #before(days: number): number {
    return this.#options.clock.now() - days * dayMs;
  }

  async #calls(endedBefore: number): Promise<number> {
    const { store, eraser } = this.#options;
    let erased = 0;
    for (;;) {
      const rows = await store.db
        .selectFrom('calls')
        .select('id')
        .where('state', '=', 'ended')
        .where('ended_at', '<', endedBefore)
        .limit(batch)
        .execute();
      for (const { id } of rows)
        if (!this.#stopped && (await eraser.erase(id)) === 'erased') erased++;
      if (rows.length < batch || this.#stopped) return erased;
    }
  }

  async #recordings(endedBefore: number): Promise<number> {
    const { store, journal } = this.#options;
    const rows = await store.db
      .selectFrom('calls')
      .innerJoin('legs', 'legs.call_id', 'calls.id')
      .select(['calls.id as callId', 'legs.id as legId'])
      .where('calls.state', '=', 'ended')
      .where('calls.has_recording', '=', 1)
      .where('calls.ended_at', '<', endedBefore)
      .limit(10 * batch)
      .execute();
    for (const { legId } of rows) await journal.erase(legId);
    const ids = [...new Set(rows.map((row) => row.callId))];
    if (ids.length > 0)
      await store.db
        .updateTable('calls')
        .set({ has_recording: 0 })
        .where('id', 'in', ids)
        .execute();
    return ids.length;
  }

  #wait(): void {
    if (this.#stopped) return;
    this.#stopWaiting = this.#options.clock.after(sweepMs, () => {
      this.#working = this.sweep()
        .then(() => undefined)
        .catch((error: unknown) =>
          this.#options.log.warn({ err: error }, 'retention sweep failed; tried again'),
        )
        .finally(() => this.#wait());
    });
  }
}

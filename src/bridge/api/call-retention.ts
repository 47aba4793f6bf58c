import { sql } from 'kysely';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Store } from '../../store/store.ts';
import type { BridgeConfig } from '../config.ts';
import { bridgeMetrics } from '../metrics.ts';
import type { Eraser } from './erasure.ts';
import type { StreamTokens } from './stream-tokens.ts';
import type { Recordings } from '../recordings/recordings.ts';

type RetentionOptions = {
  store: Store;
  recordings: Recordings;
  eraser: Eraser;
  tokens: StreamTokens;
  clock: Clock;
  log: Logger;
  days: BridgeConfig['retentionDays'];
};

const dayMs = 24 * 3_600_000;
const sweepMs = 3_600_000;
/**
 * The first sweep runs one minute after the start. A process that is restarted every day must sweep too, but the sweep
 * must not compete with the recovery of its calls.
 */
const firstSweepMs = 60_000;
/**
 * Number of calls that one step deletes. A sweep repeats steps until nothing is due, and calls can use the database
 * between two steps.
 */
const batch = 100;
/** A sweep that fails at this many calls is given up. */
const maxFailures = 20;
/** Number of rows that one step deletes from tables that no other table refers to. */
const smallRows = 500;
/** Digests of erased calls are kept this many days. Carriers repeat a callback for hours at most. */
const erasedCallsDays = 90;
/**
 * Ids of erased legs are kept this many days. A disk that was disconnected for longer must be emptied before it is used
 * again: nobody knows any more which of its legs were erased.
 */
const erasedLegsDays = 90;

/**
 * Removes data that is older than the configured number of days: first recordings, then whole calls. The outbox
 * removes events that expire before their call.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #settled: SettledTime;
  readonly #sweeps: Loop;
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#settled = new SettledTime(options.clock);
    const { clock, log } = options;
    const sweep = (): Promise<void> => this.sweep().then(() => undefined);
    this.#sweeps = every(clock, sweepMs, sweep, {
      firstMs: firstSweepMs,
      failed: (error) => log.warn({ err: error }, 'retention sweep failed; tried again'),
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await within(this.#options.clock, maxDatabaseWaitMs, this.#sweeps.stop());
  }

  /** Deletes everything whose time is over, in as many steps as needed. */
  async sweep(): Promise<{ calls: number; recordings: number }> {
    const { days, log, store, tokens } = this.#options;
    const done = {
      recordings: await this.#recordings(this.#before(days.recordings)),
      calls: await this.#calls(this.#before(days.calls)),
    };
    await this.#statuses(this.#before(days.calls));
    await this.#erased('erased_calls', this.#before(erasedCallsDays));
    await this.#erased('erased_legs', this.#before(erasedLegsDays));
    await tokens.sweep();
    if (done.calls + done.recordings === 0) return done;
    await store.forgetDeleted();
    log.info(done, 'retention swept');
    return done;
  }

  #before(days: number): number {
    return this.#settled.now() - Math.round(days * dayMs);
  }

  /** The next calls, in the order of their ids, that ended before that time. */
  #ended(endedBefore: number, after: string) {
    return this.#options.store.db
      .selectFrom('calls')
      .select(['id', 'ended_at'])
      .where('state', '=', 'ended')
      .where('ended_at', '<', endedBefore)
      .where('id', '>', after)
      .orderBy('id')
      .limit(batch);
  }

  async #calls(endedBefore: number): Promise<number> {
    const { eraser } = this.#options;
    return this.#steps(
      'calls',
      endedBefore,
      (after) => this.#ended(endedBefore, after).execute(),
      async (id) => ((await eraser.eraseCall(id, 'retention')) === 'erased' ? 1 : 0),
    );
  }

  async #recordings(endedBefore: number): Promise<number> {
    const { store, recordings } = this.#options;
    return this.#steps(
      'recordings',
      endedBefore,
      (after) => this.#ended(endedBefore, after).where('has_recording', '=', 1).execute(),
      async (id) => {
        const legs = await store.db
          .selectFrom('legs')
          .select('id')
          .where('call_id', '=', id)
          .execute();
        const legIds = legs.map((leg) => leg.id);
        // The flag is cleared last. If a sweep is interrupted before that, the next sweep finds the call again.
        await recordings.eraseHere(legIds);
        await store.transaction(async (tx) => {
          await tx.updateTable('calls').set({ has_recording: 0 }).where('id', '=', id).execute();
          await recordings.eraseStored(tx, legIds);
        });
        return 1;
      },
    );
  }

  /**
   * Removes callbacks of calls that never came, or whose record was deleted before the callback came. They hold
   * telephone numbers.
   */
  async #statuses(receivedBefore: number): Promise<void> {
    const { db } = this.#options.store;
    for (let after = { received_at: -1, id: '' }; !this.#stopped;) {
      // Callbacks of calls that still exist stay in the table, so each step continues after the last row of the
      // previous step.
      const { rows } = await sql<{ id: string; received_at: number; stays: unknown }>`
        with looked as (
          select id, carrier, carrier_call_id, received_at from call_statuses
          where received_at < ${receivedBefore} and (received_at, id) > (${after.received_at}, ${after.id})
          order by received_at, id limit ${smallRows}
        )
        select id, received_at, exists (select 1 from calls where calls.carrier = looked.carrier
          and calls.carrier_call_id = looked.carrier_call_id) as stays
        from looked order by received_at, id`.execute(db);
      const due = rows.filter(({ stays }) => stays !== true && stays !== 1).map(({ id }) => id);
      if (due.length > 0) await db.deleteFrom('call_statuses').where('id', 'in', due).execute();
      const last = rows.at(-1);
      if (last === undefined || rows.length < smallRows) return;
      after = last;
    }
  }

  async #erased(table: 'erased_calls' | 'erased_legs', erasedBefore: number): Promise<void> {
    const key = sql.ref(table === 'erased_calls' ? 'digest' : 'leg_id');
    const name = sql.table(table);
    for (let gone = BigInt(smallRows); gone === BigInt(smallRows) && !this.#stopped;) {
      const { numAffectedRows = 0n } = await sql`delete from ${name} where ${key} in (
        select ${key} from ${name} where erased_at < ${erasedBefore} order by erased_at limit ${smallRows})`.execute(
        this.#options.store.db,
      );
      gone = numAffectedRows;
    }
  }

  /**
   * Runs a step repeatedly and visits each row once per sweep. Rows that stay in the table must not be read again by
   * every step. A row that cannot be deleted keeps no other one, and its lag is told until a later sweep deletes it.
   */
  async #steps(
    what: 'calls' | 'recordings',
    endedBefore: number,
    due: (after: string) => Promise<{ id: string; ended_at: number | null }[]>,
    work: (id: string) => Promise<number>,
  ): Promise<number> {
    const { retired, retentionLag } = bridgeMetrics;
    retired.inc({ what }, 0);
    let total = 0;
    let failed = 0;
    let oldestLeft = endedBefore;
    for (let after = ''; ;) {
      const rows = await due(after);
      retentionLag.set({ what }, Math.max(0, endedBefore - (rows[0]?.ended_at ?? endedBefore)) / 1_000); // prettier-ignore
      for (const { id, ended_at: endedAt } of rows) {
        if (this.#stopped) return total;
        after = id;
        try {
          const done = await work(id);
          retired.inc({ what }, done);
          total += done;
        } catch (error) {
          // The database answers nobody.
          if (++failed === maxFailures) throw error;
          this.#options.log.error({ callId: id, what, reason: reasonOf(error) }, 'a call is past its days and could not be deleted; tried again in an hour'); // prettier-ignore
          oldestLeft = Math.min(oldestLeft, endedAt ?? endedBefore);
        }
      }
      if (rows.length < batch) break;
    }
    retentionLag.set({ what }, (endedBefore - oldestLeft) / 1_000);
    return total;
  }
}

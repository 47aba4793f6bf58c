import type { Selectable, Transaction } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Database, ObjectErasuresTable, ObjectsTable } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { BucketError } from './bucket.ts';
import { objectMetrics } from './metrics.ts';

type ErasuresOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  remove: (key: string) => Promise<void>;
};

/**
 * This is longer than the copy of one part may take. An object that was being copied when it was erased is deleted
 * again after this time.
 */
const arrivesWithinMs = 6 * 3_600_000;
const batch = 100;
const retryDelayMs = (tries: number): number => Math.min(3_600_000, 5_000 * 2 ** tries);
const lookAgainMs = (tries: number): number => 60_000 * 2 ** Math.min(tries, 10);

/**
 * Holds the rows of objects that are still to be deleted from the bucket. The rows are written together with the
 * deletion of their owners.
 */
export class Erasures {
  readonly #options: ErasuresOptions;
  #waiting = 0;
  #running: Promise<number> | undefined;

  constructor(options: ErasuresOptions) {
    this.#options = options;
  }

  /** The number of objects that wait for deletion, for all nodes, as last counted. */
  get waiting(): number {
    return this.#waiting;
  }

  async list(
    tx: Transaction<Database>,
    keys: readonly string[],
    partKeysOf: (row: Selectable<ObjectsTable>) => string[],
  ): Promise<void> {
    if (keys.length === 0) return;
    const gone = await tx
      .deleteFrom('objects')
      .where('key', 'in', [...keys])
      .returningAll()
      .execute();
    await this.#list(tx, gone, partKeysOf);
  }

  /** Lists these objects for deletion, but only those whose copy this node registered and did not finish. */
  async listOf(
    tx: Transaction<Database>,
    keys: readonly string[],
    node: string,
    partKeysOf: (row: Selectable<ObjectsTable>) => string[],
  ): Promise<void> {
    const gone = await tx
      .deleteFrom('objects')
      .where('key', 'in', [...keys])
      .where('node', '=', node)
      .where('state', '=', 'copying')
      .returningAll()
      .execute();
    await this.#list(tx, gone, partKeysOf);
  }

  async #list(
    tx: Transaction<Database>,
    gone: readonly Selectable<ObjectsTable>[],
    partKeysOf: (row: Selectable<ObjectsTable>) => string[],
  ): Promise<void> {
    const now = this.#options.clock.now();
    for (const row of gone)
      for (const key of partKeysOf(row))
        await tx
          .insertInto('object_erasures')
          .values({
            key,
            requested_at: now,
            until_at: row.state === 'copying' ? now + arrivesWithinMs : now,
            next_at: now,
            tries: 0,
          })
          .onConflict((conflict) => conflict.column('key').doNothing())
          .execute();
  }

  /** Notes that no further part of these objects will arrive, so the next deletion is the last. */
  async arrived(keys: readonly string[]): Promise<void> {
    await this.#options.store.db
      .updateTable('object_erasures')
      .set({ until_at: 0, next_at: 0 })
      .where('key', 'in', [...keys])
      .execute();
    await this.run();
  }

  /**
   * Deletes the objects that are due. Resolves with the number that could not be deleted. Callers that come during a
   * run share the next one.
   */
  async run(): Promise<number> {
    await this.#running?.catch(() => 0);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<number> {
    const { store, clock, signal, log, remove } = this.#options;
    let failed = 0;
    for (;;) {
      const due = await store.db
        .selectFrom('object_erasures')
        .selectAll()
        .where('next_at', '<=', clock.now())
        .orderBy('next_at')
        .limit(batch)
        .execute();
      for (const row of due) {
        if (signal.aborted) return due.length;
        try {
          await remove(row.key);
        } catch (error) {
          failed++;
          if (!(error instanceof BucketError))
            log.warn(
              { reason: reasonOf(error) },
              'an object was not deleted; the deletion is tried again',
            );
          if (error instanceof BucketError && error.trouble === 'refused') {
            await this.#later(row.tries, [row.key]);
            continue;
          }
          // The remaining objects wait too, so that an unreachable store is not asked once for each object.
          await this.#later(
            row.tries,
            due.map(({ key }) => key),
          );
          await this.#count();
          return failed;
        }
        await this.#done(row);
      }
      if (due.length < batch) break;
    }
    await this.#count();
    return failed;
  }

  async #later(tries: number, keys: readonly string[]): Promise<void> {
    const { store, clock } = this.#options;
    await store.db
      .updateTable('object_erasures')
      .set((eb) => ({ tries: eb('tries', '+', 1), next_at: clock.now() + retryDelayMs(tries) }))
      .where('key', 'in', [...keys])
      .where('next_at', '<=', clock.now())
      .execute();
  }

  /**
   * Repeats the deletion as long as parts may still arrive. The node that was copying may be paused, or may have died
   * with its last request on the way. Nothing else shows when that request has arrived.
   */
  async #done({ key, until_at, tries }: Selectable<ObjectErasuresTable>): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    if (now >= until_at)
      await store.db.deleteFrom('object_erasures').where('key', '=', key).where('until_at', '=', until_at).execute(); // prettier-ignore
    else
      await store.db
        .updateTable('object_erasures')
        .set({ next_at: Math.min(until_at, now + lookAgainMs(tries)), tries: tries + 1 })
        .where('key', '=', key)
        .where('until_at', '=', until_at)
        .execute();
  }

  async #count(): Promise<void> {
    const row = await this.#options.store.db
      .selectFrom('object_erasures')
      .select(({ fn }) => fn.countAll<number | string>().as('count'))
      .executeTakeFirst();
    this.#waiting = Number(row?.count ?? 0);
    objectMetrics.erasuresWaiting.set(this.#waiting);
  }
}

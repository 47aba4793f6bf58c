import type { Transaction } from 'kysely';
import { reasonOf } from '../../lib/errors.ts';
import { timeOfId } from '../../lib/ids.ts';
import { within, type Clock } from '../../lib/clock.ts';
import { every, type Loop, type Next } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { writtenOf } from './written-backlog.ts';

const callsAtOnce = 20;
/** A step ends after the call that brings it to this many rows, because live calls need the store's writer. */
const rowsOfStep = 500;
/** Rows of one statement. */
const rowsAtOnce = 100;
/** The pause between two steps, so that live calls can use the database. */
const pauseMs = 50;
const afterTroubleMs = 10_000;

/** Times of starts of calls, in ms since 1970. */
export type IndexingProgress = { from: number; reached: number; oldest: number };

type BacklogOptions = { store: Store; clock: Clock; log: Logger };

/**
 * Adds calls from before the search existed to its index, newest first. Each step is one transaction that also stores
 * how far it came. The next process continues there after a kill. If several nodes try the same step, only one takes
 * it.
 */
export class SearchBacklog implements AsyncDisposable {
  readonly #options: BacklogOptions;
  readonly #steps: Loop;

  constructor(options: BacklogOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#steps = every(clock, pauseMs, () => this.#work(), {
      firstMs: 0,
      failed: (error) => {
        log.warn(
          { reason: reasonOf(error) },
          'older calls could not be added to the search; will retry',
        );
        return { inMs: afterTroubleMs };
      },
    });
  }

  async #work(): Promise<Next> {
    const { log } = this.#options;
    const step = await this.#step();
    if (step === 'finished') log.info('older calls were added to the search');
    if (step === 'more') return;
    const written = await this.#writtenStep();
    if (written === 'finished') log.info('what was written about older calls was added to the search'); // prettier-ignore
    if (written !== 'more') return 'over';
  }

  /** Runs one step. `done`: nothing was left. `finished`: this step was the last. */
  async #step(): Promise<'more' | 'finished' | 'done'> {
    const { store } = this.#options;
    return store.transaction(async (tx) => {
      const place = await lockedPlace(store.kind, tx, 'calls');
      if (place === undefined) return 'done';
      let found = tx
        .selectFrom('calls')
        .select(['id', 'notes', 'summary'])
        .where('id', '<', place.before_call)
        .orderBy('id', 'desc')
        .limit(callsAtOnce);
      // An erasure of one of the calls either waits until the new rows can be erased, or is already finished.
      if (store.kind === 'postgres') found = found.forShare();
      const calls = await found.execute();
      let reached: string | undefined;
      let stored = 0;
      let id = place.next_id;
      for (const call of calls) {
        const results = await tx
          .selectFrom('leg_results')
          .select(['leg_id', 'session_id', 'key', 'role', 'start_s', 'end_s', 'text'])
          .where('call_id', '=', call.id)
          .where('kind', '=', 'call.transcript')
          .where('text', '<>', '')
          .orderBy('start_s', 'desc')
          .execute();
        const written = (kind: 'note' | 'summary', text: string) => ({ ...beside, key: '', kind, text }); // prettier-ignore
        const rows = [
          ...results.map((result) => ({ ...result, kind: 'turn' as const })),
          ...[written('note', call.notes ?? ''), written('summary', textOfSummary(call.summary))],
        ].filter(({ text }) => text !== '');
        for (let at = 0; at < rows.length; at += rowsAtOnce)
          await tx
            .insertInto('said')
            .values(
              rows.slice(at, at + rowsAtOnce).map(({ key, ...row }) => ({
                id: id--,
                call_id: call.id,
                result_key: key,
                ...row,
              })),
            )
            .onConflict((conflict) => conflict.doNothing())
            .execute();
        reached = call.id;
        stored += rows.length;
        if (stored >= rowsOfStep) break;
      }
      const isOver = calls.length < callsAtOnce && reached === calls.at(-1)?.id;
      await tx
        .updateTable('said_backlog')
        .set({
          next_id: id,
          done: isOver ? 1 : 0,
          before_call: reached,
        })
        .where('name', '=', 'calls')
        .execute();
      return isOver ? 'finished' : 'more';
    });
  }

  /**
   * Runs one step of what was written about calls from before that was searchable. Their rows have smaller ids than all
   * others, and words come first.
   */
  async #writtenStep(): Promise<'more' | 'finished' | 'done'> {
    const { store } = this.#options;
    return store.transaction(async (tx) => {
      const place = await lockedPlace(store.kind, tx, 'written');
      if (place === undefined) return 'done';
      let found = tx
        .selectFrom('calls')
        .select(['id', 'tags', 'custom_metadata', 'summary'])
        .where('id', '<', place.before_call)
        .orderBy('id', 'desc')
        .limit(callsAtOnce);
      if (store.kind === 'postgres') found = found.forShare();
      const calls = await found.execute();
      let id = place.next_id < 0 ? place.next_id : await freeIdBelow(tx);
      for (const call of calls)
        for (const { kind, text } of await writtenOf(tx, store.kind, call))
          await tx
            .insertInto('said')
            .values({ id: id--, call_id: call.id, result_key: '', ...beside, kind, text })
            .onConflict((conflict) => conflict.doNothing())
            .execute();
      const isOver = calls.length < callsAtOnce;
      const reached = calls.at(-1)?.id ?? place.before_call;
      await tx
        .updateTable('said_backlog')
        .set({ next_id: id, done: isOver ? 1 : 0, before_call: reached })
        .where('name', '=', 'written')
        .execute();
      return isOver ? 'finished' : 'more';
    });
  }

  /**
   * The progress of indexing the calls of before the search, or undefined if all are. Times are given and no number,
   * because a count would read the whole table.
   */
  async progress(): Promise<IndexingProgress | undefined> {
    const { db } = this.#options.store;
    const place = await db
      .selectFrom('said_backlog')
      .selectAll()
      .where('done', '=', 0)
      .orderBy('name')
      .limit(1)
      .executeTakeFirst();
    if (place === undefined) return undefined;
    const oldest = await db
      .selectFrom('calls')
      .select('id')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    // Rows of older calls have negative ids, and the newest of these calls was indexed first.
    const first = await db
      .selectFrom('said')
      .select('call_id')
      .where('id', '<', 0)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    const oldestMs = timeOfId(oldest?.id ?? place.before_call);
    // No call has an id without a time: nothing was reached yet.
    const reached = Math.max(oldestMs, timeOfId(place.before_call));
    return {
      from: first === undefined ? reached : Math.max(reached, timeOfId(first.call_id)),
      reached,
      oldest: oldestMs,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await within(this.#options.clock, maxDatabaseWaitMs, this.#steps.stop());
  }
}

/** The place that a backlog has reached, held until the step is stored. Undefined if nothing is left. */
async function lockedPlace(
  kind: Store['kind'],
  tx: Transaction<Database>,
  name: 'calls' | 'written',
) {
  const select = tx.selectFrom('said_backlog').selectAll().where('name', '=', name);
  const place = await (kind === 'postgres' ? select.forUpdate() : select).executeTakeFirst();
  return place?.done === 1 ? undefined : place;
}

/** Columns of all rows that stand beside a call. */
const beside = { leg_id: '', session_id: '', role: '', start_s: 0, end_s: 0 };

async function freeIdBelow(tx: Transaction<Database>): Promise<number> {
  const least = await tx.selectFrom('said').select('id').orderBy('id').limit(1).executeTakeFirst();
  return Math.min(0, least?.id ?? 0) - 1;
}

function textOfSummary(summary: string | null): string {
  if (summary === null) return '';
  const { text } = JSON.parse(summary) as { text?: unknown };
  return typeof text === 'string' ? text : '';
}

import { sql, type Selectable, type Transaction } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop, type Next } from '../../lib/every.ts';
import { timeOfId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { SentenceDirection } from '../../meaning/directions.ts';
import type { Meaning } from '../../meaning/meaning.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { IndexingProgress } from './search-backlog.ts';

/** Rows of one step. Their sentences take a second at most, and a kill loses no more than that. */
const rowsAtOnce = 32;
/** The pause between two steps: the recognisers have the processor first, and calls the database. */
const pauseMs = 20;
/** Words of running calls are found after this time. */
const idleMs = 3_000;
/** Somebody may install the model. */
const lookMs = 5_000;
const afterTroubleMs = 10_000;
/** A node that was lost in its work leaves it to the others after this time. */
const takenMs = 60_000;
/** The texts that have a meaning. Tags and parameters are names and numbers, which words find. */
const kinds = ['turn', 'note', 'summary', 'wrap-up'] as const;
/** "Yes, please" is near to every other "yes, please". */
const leastWords = 3;
const firstPlace = Number.MAX_SAFE_INTEGER;

type SaidText = { id: number; text: string };
type SaidMeaning = Selectable<Database['said_meaning']>;

type SaidDirectionsOptions = {
  store: Store;
  meaning: Pick<Meaning, 'direction' | 'isThere'>;
  node: string;
  clock: Clock;
  log: Logger;
};

/**
 * Gives the words of all calls their directions, in the background: those of running calls first, then those of before,
 * the newest first. Each step is one transaction that also stores how far it came, so a kill leaves nothing out and
 * nothing twice. One node does it for all. A direction belongs to the very text: words that were changed or erased
 * meanwhile get none from the text before.
 */
export class SaidDirections implements AsyncDisposable {
  readonly #options: SaidDirectionsOptions;
  readonly #steps: Loop;
  #isStopped = false;
  /** A text at which the model was lost. */
  #suspect: number | undefined;

  constructor(options: SaidDirectionsOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#steps = every(clock, pauseMs, () => this.#work(), {
      firstMs: 0,
      failed: (error) => {
        if (this.#isStopped) return 'over';
        log.warn({ reason: reasonOf(error) }, 'words got no directions for the search; will retry');
        return { inMs: afterTroubleMs };
      },
    });
  }

  async #work(): Promise<Next> {
    const { store, meaning, node } = this.#options;
    if (!(await meaning.isThere())) return { inMs: lookMs };
    const nowMs = await store.databaseNow();
    let place: SaidMeaning | undefined = await store.db.selectFrom('said_meaning').selectAll().executeTakeFirst(); // prettier-ignore
    if (!isTakenBy(place, node, nowMs))
      place = await store.transaction((tx) => take(store.kind, tx, node, nowMs));
    if (place === undefined) return { inMs: lookMs };
    const wanting = await this.#wanting();
    if (wanting.length > 0) return this.#give(wanting, undefined);
    if (place.before_id === null) return { inMs: idleMs };
    const earlier = await this.#earlier(place.before_id);
    return this.#give(earlier, place);
  }

  /** Rows that came since the model is there, the newest first. */
  async #wanting(): Promise<SaidText[]> {
    const { rows } = await sql<SaidText>`select w.id, coalesce(s.text, '') as text from
      (select id from said_wanting order by id desc limit ${rowsAtOnce}) w left join said s on s.id = w.id`.execute(
      this.#options.store.db,
    );
    return rows;
  }

  async #earlier(before: number): Promise<SaidText[]> {
    return this.#options.store.db
      .selectFrom('said')
      .select(['id', 'text'])
      .where('id', '<', before)
      .where('kind', 'in', kinds)
      .orderBy('id', 'desc')
      .limit(rowsAtOnce)
      .execute();
  }

  /** `place`: the rows are earlier ones, and the step moves on. */
  async #give(rows: readonly SaidText[], place: SaidMeaning | undefined): Promise<Next> {
    const { store, node, log } = this.#options;
    const known: (SaidText & { direction?: SentenceDirection })[] = [];
    for (const row of rows) {
      if (row.text.split(/\s+/).filter(Boolean).length < leastWords) {
        known.push(row);
        continue;
      }
      const direction = await this.#directionOf(row);
      // The model was lost. What is known by now is stored, and the rest waits.
      if (direction === 'lost') break;
      known.push(direction === undefined ? row : { ...row, direction });
    }
    if (known.length === 0 && rows.length > 0) return { inMs: afterTroubleMs };
    const nowMs = await store.databaseNow();
    const isOurs = await store.transaction(async (tx) => {
      if ((await take(store.kind, tx, node, nowMs)) === undefined) return false;
      for (const row of known) await keep(store.kind, tx, row);
      if (place === undefined) return true;
      const last = known.at(-1);
      const isOver = rows.length < rowsAtOnce && known.length === rows.length;
      await tx
        .updateTable('said_meaning')
        .set({
          before_id: isOver ? null : (last?.id ?? place.before_id),
          first_id: place.first_id ?? known[0]?.id ?? null,
        })
        .execute();
      if (isOver) log.info('all words have directions for the search by meaning');
      return true;
    });
    return isOurs ? undefined : { inMs: lookMs };
  }

  /** Undefined for a text at which the model fails again, while it answers another one. */
  async #directionOf({ id, text }: SaidText): Promise<SentenceDirection | undefined | 'lost'> {
    const { meaning } = this.#options;
    const isSuspect = this.#suspect === id;
    if (isSuspect && (await meaning.direction('Is anybody there?')) === undefined) return 'lost';
    const direction = await meaning.direction(text);
    if (direction !== undefined) return direction;
    this.#suspect = id;
    return isSuspect ? undefined : 'lost';
  }

  /** The progress of giving earlier words their directions. Undefined if all have them. */
  async progress(): Promise<IndexingProgress | undefined> {
    const { db } = this.#options.store;
    const place = await db.selectFrom('said_meaning').selectAll().executeTakeFirst();
    if (place?.is_on !== 1 || place.before_id === null) return undefined;
    const timeAt = async (id: number | null, order: 'asc' | 'desc'): Promise<number> => {
      const row = await db
        .selectFrom('said')
        .select('call_id')
        .where('id', order === 'asc' ? '>=' : '<=', id ?? firstPlace)
        .orderBy('id', order)
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? this.#options.clock.now() : timeOfId(row.call_id);
    };
    const oldest = await timeAt(-firstPlace, 'asc');
    const reached = Math.max(oldest, await timeAt(place.before_id, 'desc'));
    return { from: Math.max(reached, await timeAt(place.first_id, 'desc')), reached, oldest };
  }

  /** Waits for nothing: a step that is under way is stored as a whole, or done again by the next process. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    void this.#steps.stop();
    return Promise.resolve();
  }
}

/**
 * Takes the work for this node, or renews that. Undefined if another node has it. The row's lock lets one node write
 * at a time, so rows become visible in the order of their numbers.
 */
async function take(
  kind: Store['kind'],
  tx: Transaction<Database>,
  node: string,
  nowMs: number,
): Promise<SaidMeaning | undefined> {
  let select = tx.selectFrom('said_meaning').selectAll();
  if (kind === 'postgres') select = select.forUpdate();
  const place = await select.executeTakeFirstOrThrow();
  if (place.taken_by !== node && place.taken_until > nowMs) return undefined;
  if (isTakenBy(place, node, nowMs)) return place;
  const taken = { taken_by: node, taken_until: nowMs + takenMs };
  if (place.is_on === 1) {
    await tx.updateTable('said_meaning').set(taken).execute();
    return place;
  }
  // Words that a transaction is writing right now would be neither among the earlier ones nor listed.
  if (kind === 'postgres') {
    await sql`set local lock_timeout = '1500ms'`.execute(tx);
    await sql`lock table said in share mode`.execute(tx);
  }
  const begun = { is_on: 1, before_id: firstPlace };
  await tx.updateTable('said_meaning').set({ ...taken, ...begun }).execute(); // prettier-ignore
  return { ...place, ...taken, ...begun };
}

/** Renewed rarely: a step that finds nothing to do costs no write. */
function isTakenBy(place: SaidMeaning | undefined, node: string, nowMs: number): boolean {
  return place?.is_on === 1 && place.taken_by === node && place.taken_until > nowMs + takenMs / 2;
}

/**
 * Stores the direction of a text, if the row still has this very text, and takes the row off the list. A row that is
 * being changed by another transaction is waited for.
 */
async function keep(
  kind: Store['kind'],
  tx: Transaction<Database>,
  { id, text, direction }: SaidText & { direction?: SentenceDirection },
): Promise<void> {
  let same = tx.selectFrom('said').select(['id', 'call_id', 'role']).where('id', '=', id).where('text', '=', text); // prettier-ignore
  if (kind === 'postgres') same = same.forShare();
  const row = await same.executeTakeFirst();
  if (row !== undefined && direction !== undefined)
    await tx
      .insertInto('said_directions')
      .values({ ...row, direction: bytesOf(direction) })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  // A text that is another one by now stays listed.
  await sql`delete from said_wanting where id = ${id}
    and not exists (select 1 from said where said.id = ${id} and said.text <> ${text})`.execute(tx);
}

function bytesOf(direction: SentenceDirection): Buffer {
  return Buffer.from(direction.buffer, direction.byteOffset, direction.byteLength);
}

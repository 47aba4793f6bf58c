import {
  sql,
  type ExpressionBuilder,
  type Selectable,
  type Transaction,
  type Updateable,
} from 'kysely';
import { newId } from '../../lib/ids.ts';
import type { Database, SecondPassesTable } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { recordingKeys } from '../recordings/recordings.ts';
import { piecesIn } from './pieces.ts';
import type { PassRedaction } from './revision.ts';

export type PassRow = Selectable<SecondPassesTable>;
type PassState = PassRow['state'];

/** The result of a request to read the recording again. `already`: it is in progress. */
export type OrderedAgain = 'ordered' | 'already' | 'no-recording';

/**
 * The rows of `second_passes`: calls whose recording still has to be recognised again, and the data that the service
 * has of each.
 */
export class PassRows {
  readonly #store: Store;
  readonly #node: string;

  constructor(store: Store, node: string) {
    this.#store = store;
    this.#node = node;
  }

  /** Each node works on its own rows, so the row names the node whose disk has the recording. */
  async orderAgain(
    tx: Transaction<Database>,
    callId: string,
    redaction: PassRedaction,
    now: number,
  ): Promise<OrderedAgain> {
    const call = await tx
      .selectFrom('calls')
      .select(['has_recording', 'node'])
      .where('id', '=', callId)
      .executeTakeFirst();
    if (call?.has_recording !== 1) return 'no-recording';
    const row = await tx
      .insertInto('second_passes')
      .values(newPass(callId, call.node, redaction, now))
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return row === undefined ? 'already' : 'ordered';
  }

  /** Orders a pass only for a call that has a recording. */
  async order(
    tx: Transaction<Database>,
    callId: string,
    redaction: PassRedaction,
    now: number,
  ): Promise<void> {
    const call = await tx
      .selectFrom('calls')
      .select('has_recording')
      .where('id', '=', callId)
      .executeTakeFirst();
    if (call?.has_recording !== 1) return;
    await tx
      .insertInto('second_passes')
      .values(newPass(callId, this.#node, redaction, now))
      .execute();
  }

  /** Marks the pass of an erased call. The node that sent its data to the service deletes that data there. */
  async erase(tx: Transaction<Database>, callId: string): Promise<void> {
    await tx
      .updateTable('second_passes')
      .set({ state: 'cleaning', call_id: null, due_at: 0, tries: 0, last_trouble: null })
      .where('call_id', '=', callId)
      .execute();
  }

  /**
   * Takes over the passes of lost nodes that do not need that node's disk: the service has the data, or the object
   * store has the recording. A pass that waits for its upload is taken only after its node has been lost for so long
   * that its disk is no longer expected back.
   */
  async takeOver(lost: readonly string[], lostForLong: readonly string[]): Promise<number> {
    const taken = await this.#store.db
      .updateTable('second_passes')
      .set({ node: this.#node, due_at: 0 })
      .where((each) =>
        each.or([
          each.and([each('node', 'in', [...lost]), needsNoDisk(each)]),
          ...(lostForLong.length === 0 ? [] : [each('node', 'in', [...lostForLong])]),
        ]),
      )
      .returning('id')
      .execute();
    return taken.length;
  }

  /**
   * Hands passes to another node while this one shuts down. The other node continues the passes that do not need this
   * disk.
   */
  async handOver(to: string): Promise<string[]> {
    const given = await this.#store.db
      .updateTable('second_passes')
      .set({ node: to, due_at: 0 })
      .where('node', '=', this.#node)
      .where((each) => needsNoDisk(each))
      .returning('id')
      .execute();
    return given.map(({ id }) => id);
  }

  async due(states: readonly PassState[], now: number, limit: number): Promise<PassRow[]> {
    return this.#store.db
      .selectFrom('second_passes')
      .selectAll()
      .where('node', '=', this.#node)
      .where('due_at', '<=', now)
      .where('state', 'in', states)
      .orderBy('due_at')
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /**
   * Reads the row again and returns it if it is due. By the time a list of rows has been worked through, its last rows
   * are out of date.
   */
  async current(id: string, now: number): Promise<PassRow | undefined> {
    return this.#store.db
      .selectFrom('second_passes')
      .selectAll()
      .where('id', '=', id)
      .where('node', '=', this.#node)
      .where('due_at', '<=', now)
      .executeTakeFirst();
  }

  /** Ids of passes whose recording is at the service. */
  async begun(): Promise<string[]> {
    const rows = await this.#store.db
      .selectFrom('second_passes')
      .select('id')
      .where('node', '=', this.#node)
      .where('state', 'in', ['uploaded', 'reading'])
      .execute();
    return rows.map(({ id }) => id);
  }

  async nextDueAt(): Promise<number | undefined> {
    const row = await this.#store.db
      .selectFrom('second_passes')
      .select((eb) => eb.fn.min('due_at').as('at'))
      .where('node', '=', this.#node)
      .executeTakeFirst();
    return row?.at ?? undefined;
  }

  /** Returns false if the row has another state by now, because the call was erased. */
  async change(
    row: Pick<PassRow, 'id' | 'state'>,
    changes: Updateable<SecondPassesTable>,
    tx: Pick<Transaction<Database>, 'updateTable'> = this.#store.db,
  ): Promise<boolean> {
    const changed = await tx
      .updateTable('second_passes')
      .set(changes)
      .where('id', '=', row.id)
      // A stalled node must not change passes that another node has taken.
      .where('node', '=', this.#node)
      .where('state', '=', row.state)
      .returning('id')
      .executeTakeFirst();
    return changed !== undefined;
  }

  /**
   * Notes the data that the service has of a call that was erased meanwhile. Returns false if the row belongs to
   * another node: that node has its own upload and job, which must not be overwritten.
   */
  async note(
    id: string,
    held: Pick<Updateable<SecondPassesTable>, 'file_id' | 'job_id' | 'service'>,
  ): Promise<boolean> {
    const noted = await this.#store.db
      .updateTable('second_passes')
      .set({ ...held, due_at: 0 })
      .where('id', '=', id)
      .where('node', '=', this.#node)
      .where('state', '=', 'cleaning')
      .returning('id')
      .executeTakeFirst();
    return noted !== undefined;
  }

  /** True if the pass, on any node, uses this job or has not chosen a job yet. */
  async mayUse(id: string, jobId: string): Promise<boolean> {
    const row = await this.#store.db
      .selectFrom('second_passes')
      .select(['state', 'job_id', 'pieces'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (row === undefined || row.state === 'cleaning') return false;
    if (piecesIn(row).some((piece) => piece.jobId === jobId)) return true;
    return row.job_id === jobId || (row.job_id === null && row.state === 'uploaded');
  }

  async remove(id: string): Promise<void> {
    await this.#store.db
      .deleteFrom('second_passes')
      .where('id', '=', id)
      .where('node', '=', this.#node)
      .execute();
  }
}

/**
 * True if the service has everything that is to be uploaded, or if the object store has the recording, so that every
 * node can upload it.
 */
function needsNoDisk(each: ExpressionBuilder<Database, 'second_passes'>) {
  const stored = each
    .selectFrom('legs')
    .innerJoin('objects', (join) =>
      join.on('objects.key', '=', sql<string>`cast(${recordingKeys} as text) || legs.id`),
    )
    .select('legs.id')
    .whereRef('legs.call_id', '=', 'second_passes.call_id')
    .where('objects.state', '=', 'stored');
  const missing = each
    .selectFrom('legs')
    .select('legs.id')
    .whereRef('legs.call_id', '=', 'second_passes.call_id')
    .where('legs.received', '>', 0)
    .where((leg) =>
      leg.not(
        leg.exists(
          leg
            .selectFrom('objects')
            .select('objects.key')
            .where('objects.key', '=', sql<string>`cast(${recordingKeys} as text) || legs.id`)
            .where('objects.state', '=', 'stored'),
        ),
      ),
    );
  return each.or([
    each('state', '=', 'cleaning'),
    each.and([each('state', '<>', 'waiting'), each('piece_end_s', 'is', null)]),
    each.and([each.exists(stored), each.not(each.exists(missing))]),
  ]);
}

function newPass(callId: string, node: string, redaction: PassRedaction, now: number) {
  return {
    id: newId('pass'),
    call_id: callId,
    node,
    state: 'waiting' as const,
    redaction: JSON.stringify(redaction),
    created_at: now,
    due_at: now,
    tries: 0,
    rounds: 0,
    asked: 0,
    audio_url: null,
    file_id: null,
    job_id: null,
    last_trouble: null,
    service: null,
    pieces: null,
    piece_end_s: null,
    piece_limit_s: null,
  };
}

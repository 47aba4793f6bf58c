import { sql } from 'kysely';
import { bytesPerSecondOf } from '../records/leg-record.ts';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import type { Objects } from '../../objects/objects.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Store } from '../../store/store.ts';
import { silenceOf } from '../session/session-request.ts';
import { legRecordFrom, lengthOfRecording } from '../events/call-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { recordingKeys, tailKeys } from './recordings.ts';
import { canFetchTail, fetchTail } from './tails.ts';

type LostRecordingsOptions = {
  objects: Objects;
  store: Store;
  journal: Journal;
  node: string;
  /**
   * Time after which a silent node counts as gone. A node that restarts after a crash is back earlier and delivers the
   * whole recording.
   */
  goneMs: number;
  clock: Clock;
  log: Logger;
};

type Lacking = { node: string; sinceMs: number };

const lookMs = 5_000;
/** A running node that has not delivered the recording after this time will not do so any more. */
const lateMs = 600_000;
const keptMs = 86_400_000;
const roles = ['customer', 'agent'] as const;

/**
 * Recordings of legs that had finished when their call was taken over. They are complete on the former node's disk, and
 * that node sends them to the object store when it runs. If the node is gone, the pieces in the store become the
 * recording.
 */
export class LostRecordings implements AsyncDisposable {
  readonly #options: LostRecordingsOptions;
  readonly #lacking = new Map<string, Lacking>();
  readonly #ofEarlier: Promise<void>;
  readonly #looks: Loop;
  #isClosed = false;

  constructor(options: LostRecordingsOptions) {
    this.#options = options;
    const failed = (error: unknown): void => this.#failed(error);
    this.#ofEarlier = this.#ofEarlierRun().catch(failed);
    this.#looks = every(options.clock, lookMs, () => this.#look(), { failed });
  }

  /** Notes that the leg's recording is on the disk of that node. */
  lacks(legId: string, node: string): void {
    this.#lacking.set(legId, { node, sinceMs: this.#options.clock.monotonicMs() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const working = Promise.all([this.#ofEarlier, this.#looks.stop()]);
    await within(this.#options.clock, maxDatabaseWaitMs, working);
  }

  #failed(error: unknown): void {
    const { log } = this.#options;
    log.warn({ reason: reasonOf(error) }, 'recordings of lost nodes could not be searched for; will retry'); // prettier-ignore
  }

  async #look(): Promise<void> {
    const { clock, goneMs } = this.#options;
    for (const [legId, lacking] of this.#lacking) {
      if (this.#isClosed) return;
      if (clock.monotonicMs() - lacking.sinceMs < goneMs) continue;
      if (await this.#isSettled(legId, lacking)) this.#lacking.delete(legId);
    }
  }

  /** Returns true if the leg needs nothing more. */
  async #isSettled(legId: string, { node, sinceMs }: Lacking): Promise<boolean> {
    const { objects, store, journal, clock, log } = this.#options;
    const leg = await store.db
      .selectFrom('legs')
      .innerJoin('calls', 'calls.id', 'legs.call_id')
      .selectAll('legs')
      .select(['calls.node', 'calls.has_recording', 'calls.summary_due', 'calls.state as at'])
      .where('legs.id', '=', legId)
      .executeTakeFirst();
    if (leg?.node !== this.#options.node) return true; // the leg was erased or taken over again
    if (leg.at !== 'ended' || leg.summary_due === 1) return false;
    if (leg.has_recording === 0 || leg.received === 0) return true;
    if (await objects.stored(recordingKeys + legId)) return true;
    if (await journal.recordingOf(legId)) return true; // the recording is from a time when this node had the call before
    const before = await store.db
      .selectFrom('nodes')
      .select('node')
      .where('node', '=', node)
      .where('lost_at', 'is', null)
      .where('left_at', 'is', null)
      .executeTakeFirst();
    if (before !== undefined && clock.monotonicMs() - sinceMs < lateMs) return false;
    if (!(await canFetchTail(objects, legId))) return false; // the store is unreachable
    const record = legRecordFrom(leg, roles);
    const file = journal.newFile(legId, silenceOf(record.encoding), true);
    await fetchTail(objects, legId, file, 0, clock);
    await file.release();
    const missing = lengthOfRecording(leg) - file.end;
    if (missing > 0)
      log.warn(
        { callId: leg.call_id, legId, seconds: missing / bytesPerSecondOf(record) },
        'the end of a recording is missing: it is on the disk of a lost node',
      );
    return true;
  }

  /** Finds legs of calls that this node took over before it was restarted. */
  async #ofEarlierRun(): Promise<void> {
    const { store, clock, node } = this.#options;
    const rows = await store.db
      .selectFrom('legs')
      .innerJoin('calls', 'calls.id', 'legs.call_id')
      .innerJoin('objects', (join) =>
        join.on(
          sql<boolean>`objects.key >= ${tailKeys} || legs.id || '/' and objects.key < ${tailKeys} || legs.id || '/~'`,
        ),
      )
      .select(['legs.id', (eb) => eb.fn.max('objects.node').as('node')])
      .where('calls.node', '=', node)
      .where('calls.fence', '>', 0)
      .where('calls.has_recording', '=', 1)
      .where('calls.ended_at', '>', clock.now() - keptMs)
      .groupBy('legs.id')
      .execute();
    for (const { id, node: of } of rows) if (of !== node) this.lacks(id, of);
  }
}

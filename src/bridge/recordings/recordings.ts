import type { Transaction } from 'kysely';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { LocalFiles, LocalAudio, Objects, NamedObject } from '../../objects/objects.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { hiddenOf, legRecordFrom, legsOf, lengthOfRecording } from '../events/call-rows.ts';
import type { Journal, LegRecording } from '../journal/journal.ts';
import { isMissing } from '../../lib/is-missing.ts';
import { coverWithTone } from './tone.ts';

type RecordingsOptions = {
  store: Store;
  journal: Journal;
  node: string;
  clock: Clock;
  log: Logger;
  /** The object store. Without one, recordings stay on this disk. */
  objects: Objects | undefined;
};

/** The prefix of legs' audio in the object store: complete recordings of ended calls, pieces of running ones. */
export const recordingKeys = 'recordings/';
export const tailKeys = 'tails/';
const folder = recordingKeys;
/** A node that has not delivered a recording within this time no longer has it. */
const copiedWithinMs = 3_600_000;
const batch = 100;
/** The number of calls whose covered audio is remembered. */
const maxCovered = 10_000;
const lookMs = { next: 600_000, afterTrouble: 30_000 };

/** The kept audio of legs: on this disk until the call has ended, then in the object store, if there is one. */
export class Recordings {
  readonly #options: RecordingsOptions;
  /** Calls whose audio on this disk already has its tones. */
  readonly #covered = new Set<string>();

  constructor(options: RecordingsOptions) {
    this.#options = options;
    options.objects?.attach({
      kind: 'recordings',
      ready: () => this.#ready(),
      waiting: () => options.journal.finishedRecordings().then(({ files, bytes }) => ({ files: files.length, bytes })), // prettier-ignore
      owned: (objects) => this.#owned(objects),
    } satisfies LocalFiles);
  }

  /** The recording of one leg. Undefined if there is none, or if it is on another node's disk. */
  async of(legId: string): Promise<LegRecording | undefined> {
    const { journal, objects } = this.#options;
    const local = await journal.recordingOf(legId);
    if (objects === undefined) return local;
    const read = (from: number, to: number) => this.#fromStore(legId, from, to);
    if (local !== undefined)
      return { bytes: local.bytes, read: (from, to) => orElse(local, read, from, to) };
    const stored = await objects.stored(folder + legId);
    return stored && { bytes: stored.bytes, read: (from, to) => objects.read(stored, from, to) };
  }

  /** True if the object store has the audio of every leg of the call. Then any node can read it. */
  async areStored(callId: string): Promise<boolean> {
    const { objects, store } = this.#options;
    if (objects === undefined) return false;
    const legs = await store.db
      .selectFrom('legs')
      .select('id')
      .where('call_id', '=', callId)
      .where('received', '>', 0)
      .execute();
    const found = await Promise.all(legs.map(({ id }) => objects.stored(folder + id)));
    return found.length > 0 && found.every((object) => object !== undefined);
  }

  /**
   * Writes a tone over the redacted words in all audio of the call that is on this disk. The sound of these words then
   * no longer exists. This happens before a recording may leave for the object store. Repeating it changes nothing.
   */
  async cover(callId: string): Promise<void> {
    const { store, journal } = this.#options;
    const hidden = await hiddenOf(store.db, callId);
    if (hidden.length === 0) return;
    let isWhole = true;
    const troubles: unknown[] = [];
    for (const row of await legsOf(store.db, callId)) {
      // Both channels of a leg get the tone, so their roles do not matter here.
      const { encoding, sampleRate, channels } = legRecordFrom(row, ['customer', 'agent']);
      const leg = { encoding, sampleRate, channels, offsetS: (row.offset_ms ?? 0) / 1_000 };
      const isChanged = await journal
        .changeRecording(row.id, (position, bytes) => {
          coverWithTone(bytes, position, leg, hidden);
        })
        .catch((error: unknown) => void troubles.push(error));
      isWhole &&= isChanged === true;
    }
    // The other legs are covered although one could not be.
    if (troubles.length > 0) throw troubles[0];
    // A leg that is still open here is covered by a later look.
    if (!isWhole) return;
    // If the set is emptied, each call is only checked once more.
    if (this.#covered.size >= maxCovered) this.#covered.clear();
    this.#covered.add(callId);
  }

  /**
   * Covers recordings on this disk that another node, or a version without tones, left uncovered at the end of the
   * call, or that were still open then. Each call is covered once per process. A file that cannot be changed keeps no
   * other one uncovered.
   */
  async #coverEnded(): Promise<void> {
    const { journal, store } = this.#options;
    const { files } = await journal.finishedRecordings();
    const troubles: unknown[] = [];
    for (let at = 0; at < files.length; at += batch) {
      const rows = await store.db
        .selectFrom('legs')
        .innerJoin('calls', 'calls.id', 'legs.call_id')
        .innerJoin('leg_results', 'leg_results.call_id', 'legs.call_id')
        .select('legs.call_id as id')
        .distinct()
        .where('legs.id', 'in', files.slice(at, at + batch))
        .where('leg_results.kind', '=', 'hidden')
        .where('calls.summary_due', '=', 0)
        .where('calls.state', '=', 'ended')
        .execute();
      for (const { id } of rows)
        if (!this.#covered.has(id))
          await this.cover(id).catch((error: unknown) => void troubles.push(error));
    }
    if (troubles.length > 0) throw troubles[0];
  }

  /**
   * Deletes recordings from this disk at once. `eraseStored` deletes those in the object store together with the rows.
   */
  async eraseHere(legIds: readonly string[]): Promise<void> {
    for (const legId of legIds) await this.#options.journal.erase(legId);
  }

  /**
   * Deletes the stored recordings. It runs in the transaction that deletes the legs or their recordings, after those.
   * If another node is down, it deletes its own copies when it next checks.
   */
  async eraseStored(tx: Transaction<Database>, legIds: readonly string[]): Promise<void> {
    const { objects, store, clock } = this.#options;
    if (store.kind === 'postgres' && legIds.length > 0)
      await tx
        .insertInto('erased_legs')
        .values(legIds.map((leg_id) => ({ leg_id, erased_at: clock.now() })))
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    if (objects === undefined) return;
    await objects.erase(
      tx,
      legIds.map((id) => folder + id),
    );
    for (const id of legIds) await objects.eraseBelow(tx, `${tailKeys}${id}/`);
  }

  /** Returns true if the object store has deleted everything on its list within this time. */
  async erasedNow(withinMs: number): Promise<boolean> {
    return (await this.#options.objects?.eraseNow(withinMs)) ?? true;
  }

  /** Deletes from this disk the recordings that were erased at other nodes. Returns the number of legs. */
  async eraseErasedElsewhere(): Promise<number> {
    const { journal, store } = this.#options;
    if (store.kind !== 'postgres') return 0;
    const { files } = await journal.finishedRecordings();
    const here = [...new Set([...files, ...journal.legIds])];
    let erased = 0;
    for (let at = 0; at < here.length; at += batch) {
      const rows = await store.db
        .selectFrom('erased_legs')
        .select('leg_id')
        .where('leg_id', 'in', here.slice(at, at + batch))
        .execute();
      await this.eraseHere(rows.map(({ leg_id }) => leg_id));
      erased += rows.length;
    }
    if (erased > 0)
      this.#options.log.info({ legs: erased }, 'audio that another node erased was deleted from this disk'); // prettier-ignore
    return erased;
  }

  /** Checks now and then regularly: other nodes also erase calls of this node when their retention ends. */
  watchErased(): AsyncDisposable & { look(): Promise<void> } {
    const { clock, log } = this.#options;
    let isClosed = false;
    let cancel = (): void => undefined;
    let looking: Promise<void> = Promise.resolve();
    const look = (): Promise<void> => {
      cancel();
      looking = looking
        .then(() => this.eraseErasedElsewhere())
        .then(() => this.#coverEnded())
        .then(
          () => lookMs.next,
          (error: unknown) => {
            log.warn({ reason: reasonOf(error) }, 'audio that other nodes erased or redacted could not be searched for; will retry'); // prettier-ignore
            return lookMs.afterTrouble;
          },
        )
        .then((againMs) => {
          cancel();
          if (!isClosed) cancel = clock.after(againMs, () => void look());
        });
      return looking;
    };
    return {
      look,
      async [Symbol.asyncDispose]() {
        isClosed = true;
        cancel();
        await within(clock, maxDatabaseWaitMs, looking);
      },
    };
  }

  async *#fromStore(legId: string, from: number, to: number): AsyncGenerator<Buffer> {
    const { objects } = this.#options;
    const stored = await objects?.stored(folder + legId);
    if (objects === undefined || stored === undefined) throw new Error('the recording is gone');
    yield* objects.read(stored, from, to);
  }

  /**
   * Finds complete recordings of ended calls on this disk: calls of this node, and legs that finished here before
   * another node took their call over. The other node continues the incomplete legs. Audio that could not be covered
   * stays here, and the others come first.
   */
  async *#ready(): AsyncGenerator<LocalAudio> {
    const { journal, store, node, objects } = this.#options;
    const troubles: unknown[] = [];
    const { files } = await journal.finishedRecordings();
    for (let at = 0; at < files.length; at += batch) {
      const rows = await store.db
        .selectFrom('legs')
        .innerJoin('calls', 'calls.id', 'legs.call_id')
        .select([
          'legs.id',
          'legs.call_id',
          'legs.received',
          'legs.filler',
          'legs.paused',
          'calls.node',
        ])
        .where('legs.id', 'in', files.slice(at, at + batch))
        .where('calls.has_recording', '=', 1)
        .where('calls.summary_due', '=', 0)
        .execute();
      for (const row of rows) {
        const { id } = row;
        const local = await journal.recordingOf(id);
        if (local === undefined) continue;
        const stored = await objects?.stored(folder + id);
        if (stored !== undefined && (row.node !== node || stored.bytes > local.bytes)) {
          await journal.removeRecording(id);
          continue;
        }
        if (row.node !== node && local.bytes !== lengthOfRecording(row)) continue;
        // The node that ended the call could not cover audio on this disk.
        if (row.node !== node && !this.#covered.has(row.call_id)) {
          const wasTrouble = troubles.length;
          await this.cover(row.call_id).catch((error: unknown) => void troubles.push(error));
          if (troubles.length > wasTrouble) continue;
        }
        yield {
          key: folder + id,
          bytes: local.bytes,
          read: (from, to) => local.read(from, to),
          isOwned: (tx) => this.#isOwned(tx, id, row.node),
          leave: () => journal.removeRecording(id),
        };
      }
    }
    if (troubles.length > 0) throw troubles[0];
  }

  async #isOwned(tx: Transaction<Database>, legId: string, node: string): Promise<boolean> {
    const { store, clock } = this.#options;
    let select = tx
      .selectFrom('calls')
      .select('id')
      .where('id', '=', (each) =>
        each.selectFrom('legs').select('call_id').where('legs.id', '=', legId),
      ) // prettier-ignore
      .where('node', '=', node)
      .where('has_recording', '=', 1)
      // Until the summary is made, a withdrawn consent may still require erasing the audio.
      .where('summary_due', '=', 0);
    // Either an erasure of the call waits for this transaction, or the erasure came first and this query finds no row.
    if (store.kind === 'postgres') select = select.forUpdate();
    if ((await select.executeTakeFirst()) === undefined) return false;
    // Only one node writes at a time: two nodes with the same leg must not overwrite each other.
    const others = await tx
      .selectFrom('objects')
      .select('key')
      .where('key', '=', folder + legId)
      .where('node', '<>', this.#options.node)
      .where('created_at', '>', clock.now() - copiedWithinMs)
      .executeTakeFirst();
    return others === undefined;
  }

  async #owned(objects: readonly NamedObject[]): Promise<string[]> {
    const ids = objects.map(({ id }) => id);
    const legs = await this.#options.store.db
      .selectFrom('legs')
      .select('id')
      .where('id', 'in', ids)
      .execute();
    return legs.map(({ id }) => id);
  }
}

/** The file may be moved from the disk to the object store while it is being read. */
async function* orElse(
  local: LegRecording,
  elsewhere: (from: number, to: number) => AsyncIterable<Buffer>,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  let at = from;
  try {
    for await (const piece of local.read(from, to)) {
      yield piece;
      at += piece.length;
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
    yield* elsewhere(at, Math.min(to, local.bytes));
  }
}

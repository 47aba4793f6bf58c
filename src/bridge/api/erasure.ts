import type { Transaction } from 'kysely';
import { within, type Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import { enqueueEvent } from '../../outbox/enqueue.ts';
import { isWanted } from '../../outbox/event-rows.ts';
import type { CallEventData } from '../../protocol/events.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { Database } from '../../store/schema.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Store } from '../../store/store.ts';
import type { Calls } from '../call/calls.ts';
import type { Recordings } from '../recordings/recordings.ts';
import type { LiveFeed } from '../live-feed.ts';
import { digestOfCall } from './statuses.ts';
import { eraseTokens } from './stream-tokens.ts';

/**
 * Data that can remain for a while after an erasure. `database_log`: another program still reads an older state of the
 * database that has the rows. `object_store`: the store cannot delete its copy now.
 */
type ErasureOutcome =
  | { outcome: 'erased'; remaining: ('database_log' | 'object_store')[] }
  | { outcome: 'live' }
  | { outcome: 'unknown' };

type EraserOptions = {
  store: Store;
  calls: Calls;
  recordings: Recordings;
  speech: SpeechClient;
  secondPasses: {
    /** Resolves when no more audio of the call is being sent. */
    leave(callId: string): Promise<void>;
    /** Lists the call's sessions for deletion at the speech service. */
    erase(tx: Transaction<Database>, callId: string): Promise<void>;
    wake(): void;
  };
  feed: LiveFeed;
  clock: Clock;
  log: Logger;
  outbox: {
    /** Removes the call's events and deliveries, in the given transaction. */
    eraseCall(tx: Transaction<Database>, callId: string): Promise<void>;
    wake(): void;
  };
};

type ErasureReason = CallEventData<'call.erased'>['reason'];

const lookMs = 30_000;
/** Number of turns that one step deletes: their words leave the search index too, which costs most. */
const turnsAtOnce = 500;
/** An erasure waits at most this long for the object store. Objects that are not deleted by then stay on the list. */
const objectsWaitMs = 5_000;
const retryDelayMs = (tries: number): number => Math.min(3_600_000, 30_000 * 2 ** tries);

/** After a week the service is no longer asked. The session's id is logged so that the operator can follow it up. */
const keepTryingMs = 7 * 24 * 3_600_000;

/**
 * Erases a call as if it had never existed: rows, journal, recording, events, pages, and its sessions at the speech
 * service, including a hosted one. Sessions that the service cannot delete now stay on a list until it can.
 */
export class Eraser {
  readonly #options: EraserOptions;
  readonly #settled: SettledTime;
  readonly #looks: Loop;
  #working: Promise<void> = Promise.resolve();
  readonly #stopped = new AbortController();

  constructor(options: EraserOptions) {
    this.#options = options;
    this.#settled = new SettledTime(options.clock);
    this.#looks = every(options.clock, lookMs, () => this.#eraseSoon());
  }

  /** Erases one call. Where possible, the deleted data can no longer be read in the database's files either. */
  async erase(callId: string): Promise<ErasureOutcome> {
    const outcome = await this.eraseCall(callId, 'request');
    if (outcome !== 'erased') return { outcome };
    const { store, recordings } = this.#options;
    const isForgotten = await store.forgetDeleted();
    const isDeleted = await recordings.erasedNow(objectsWaitMs);
    return {
      outcome,
      remaining: [
        ...(isForgotten ? [] : ['database_log' as const]),
        ...(isDeleted ? [] : ['object_store' as const]),
      ],
    };
  }

  /** Erases a call without a checkpoint. A caller that erases many calls makes one checkpoint at the end. */
  async eraseCall(callId: string, reason: ErasureReason): Promise<'erased' | 'live' | 'unknown'> {
    const { store, calls, recordings, feed, log, outbox } = this.#options;
    const open = calls.get(callId);
    if (open?.state === 'live') return 'live';
    const row = await store.db
      .selectFrom('calls')
      .select('id')
      .where('id', '=', callId)
      .executeTakeFirst();
    if (row === undefined) return 'unknown';
    // A call that is still finishing may have sessions whose rows are not written yet.
    const openSessions = open?.legs.flatMap((leg) => leg.audio.sessions()) ?? [];
    if (open !== undefined) {
      // First the call is removed from the lookup, then it is stopped. After that nothing of it can be written any
      // more.
      calls.forget(open);
      await open.abandon();
    }
    const legs = await store.db
      .selectFrom('legs')
      .select('id')
      .where('call_id', '=', callId)
      .execute();
    // The second pass sends the recording, so it must stop before the recording is deleted.
    await this.#options.secondPasses.leave(callId);
    // Audio is deleted before rows. After a crash in between, the rows still name the audio and the call can be
    // erased again.
    await recordings.eraseHere(legs.map(({ id }) => id));
    await this.#eraseTurns(callId);
    await this.#eraseRows(
      callId,
      openSessions.map(({ id }) => id),
      reason,
    );
    outbox.wake();
    this.#options.secondPasses.wake();
    feed.publish({ kind: 'deleted', callId });
    log.info({ callId }, 'call erased');
    // The answer does not wait for this: the service may be unreachable, and the list is stored.
    void this.#eraseSoon();
    return 'erased';
  }

  /** Erases only the audio of a call that has ended. Repeating it changes nothing. */
  async eraseAudio(callId: string): Promise<void> {
    const { store, recordings, secondPasses, log } = this.#options;
    const legs = await store.db
      .selectFrom('legs')
      .select('id')
      .where('call_id', '=', callId)
      .execute();
    const legIds = legs.map(({ id }) => id);
    // Somebody may have requested "Transcribe again" since the call ended. The copy that the service received is
    // deleted too.
    await secondPasses.leave(callId);
    await recordings.eraseHere(legIds);
    await store.transaction(async (tx) => {
      await this.#listSessions(tx, callId, []);
      await tx.updateTable('calls').set({ has_recording: 0 }).where('id', '=', callId).execute();
      await secondPasses.erase(tx, callId);
      await recordings.eraseStored(tx, legIds);
    });
    secondPasses.wake();
    log.info({ callId }, 'audio of a call erased: its consent was withdrawn');
    void this.#eraseSoon();
  }

  /**
   * Erases the sessions of a redacted call at the service. They hold the words as they were said, and the redacted
   * results are already stored.
   */
  async eraseSessionsOf(callId: string): Promise<void> {
    await this.#options.store.transaction((tx) => this.#listSessions(tx, callId, []));
    void this.#eraseSoon();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await within(
      this.#options.clock,
      maxDatabaseWaitMs,
      Promise.all([this.#looks.stop(), this.#working]),
    );
  }

  /**
   * The turns of a long call are deleted in steps. In one transaction they could take longer than a transaction may, and
   * nobody else could write meanwhile. After a crash in between the call can be erased again.
   */
  async #eraseTurns(callId: string): Promise<void> {
    const identity = ['leg_id', 'session_id', 'kind', 'key'] as const;
    for (let gone = BigInt(turnsAtOnce); gone === BigInt(turnsAtOnce);) {
      const { numDeletedRows } = await this.#options.store.transaction((tx) =>
        tx
          .deleteFrom('leg_results')
          .where((turn) =>
            turn(
              turn.refTuple(...identity),
              'in',
              turn
                .selectFrom('leg_results')
                .select([...identity])
                .where('call_id', '=', callId)
                .limit(turnsAtOnce)
                .$asTuple(...identity),
            ),
          )
          .executeTakeFirst(),
      );
      gone = numDeletedRows;
    }
  }

  async #eraseRows(
    callId: string,
    openSessions: readonly string[],
    reason: ErasureReason,
  ): Promise<void> {
    const { store, clock, outbox, recordings } = this.#options;
    await store.transaction(async (tx) => {
      let select = tx
        .selectFrom('calls')
        .select(['carrier', 'carrier_call_id', 'started_at'])
        .where('id', '=', callId);
      // If two nodes erase the call at the same time, the second waits here for the row lock, then finds no row and
      // sends no second event.
      if (store.kind === 'postgres') select = select.forUpdate();
      const call = await select.executeTakeFirst();
      await this.#listSessions(tx, callId, openSessions);
      // If the call has no row, its remaining events are the notice of its erasure. That notice may not be delivered
      // yet, so the events stay.
      if (call === undefined) return;
      await this.#options.secondPasses.erase(tx, callId);
      await outbox.eraseCall(tx, callId);
      await this.#tell(tx, callId, call, reason);
      const legs = await tx.selectFrom('legs').select('id').where('call_id', '=', callId).execute();
      for (const table of [
        'leg_results',
        'leg_states',
        'leg_sessions',
        'assist_hits',
        'assist_moments',
        'knowledge_questions',
        'call_scores',
        'streams',
        'legs',
        'wrap_ups',
      ] as const)
        // prettier-ignore
        await tx.deleteFrom(table).where('call_id', '=', callId).execute();
      await tx.deleteFrom('calls').where('id', '=', callId).execute();
      // The stored recording is deleted after the call's row is locked. A copy that begins now waits for the lock and
      // then finds no call.
      await recordings.eraseStored(
        tx,
        legs.map(({ id }) => id),
      );
      // The keys are deleted after the call's row is locked. A tag that is being written waits for the lock. It is then
      // either deleted here or finds no call.
      await tx.deleteFrom('call_keys').where('call_id', '=', callId).execute();
      const others = await tx
        .selectFrom('calls')
        .select('id')
        .where('carrier', '=', call.carrier)
        .where('carrier_call_id', '=', call.carrier_call_id)
        .limit(1)
        .executeTakeFirst();
      if (others !== undefined) return;
      // Some data is filed only under the carrier's call id: status callbacks, which hold telephone numbers, and data
      // of stream tokens. It is deleted with the last record of that carrier's call. A digest stays, so that later
      // callbacks can be rejected.
      const { carrier, carrier_call_id } = call;
      await eraseTokens(tx, carrier, carrier_call_id, clock.now());
      await tx
        .insertInto('erased_calls')
        .values({ digest: digestOfCall(carrier, carrier_call_id), erased_at: clock.now() })
        .onConflict((conflict) => conflict.column('digest').doUpdateSet({ erased_at: clock.now() }))
        .execute();
      await tx
        .deleteFrom('call_statuses')
        .where('carrier', '=', call.carrier)
        .where('carrier_call_id', '=', call.carrier_call_id)
        .execute();
    });
  }

  /**
   * The list of sessions that the service has to delete is stored together with the deletion, so that no crash
   * forgets a session.
   */
  async #listSessions(
    tx: Transaction<Database>,
    callId: string,
    openSessions: readonly string[],
  ): Promise<void> {
    const sessions = await tx
      .selectFrom('leg_sessions')
      .select('id')
      .where('call_id', '=', callId)
      .execute();
    const requested_at = this.#options.clock.now();
    for (const id of new Set([...openSessions, ...sessions.map((session) => session.id)]))
      await tx
        .insertInto('erasures')
        .values({ session_id: id, requested_at, next_at: 0, tries: 0 })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
  }

  /**
   * The same commit tells receivers to forget the call. The event names the call only by our id: it is kept until it
   * is delivered, and nothing of the call may be in it.
   */
  async #tell(
    tx: Transaction<Database>,
    callId: string,
    { carrier, started_at }: { carrier: string; started_at: number },
    reason: ErasureReason,
  ): Promise<void> {
    if (!(await isWanted(tx, 'call.erased'))) return;
    const now = this.#options.clock.now();
    await enqueueEvent(tx, {
      type: 'call.erased',
      callId,
      occurredAt: now,
      call: {
        id: callId,
        carrier,
        carrier_call_id: '',
        direction: null,
        from: null,
        to: null,
        started_at: new Date(started_at).toISOString(),
      },
      customMetadata: {},
      data: { erased_at: new Date(now).toISOString(), reason },
    });
  }

  /**
   * Sessions are erased one after the other: two runs at once would ask the service twice for one session. Never
   * rejects.
   */
  #eraseSoon(): Promise<void> {
    this.#working = this.#working.then(() => this.#eraseSessions());
    return this.#working;
  }

  async #eraseSessions(): Promise<void> {
    const { store, speech, clock, log } = this.#options;
    try {
      const due = await store.db
        .selectFrom('erasures')
        .selectAll()
        .where('next_at', '<=', clock.now())
        .limit(100)
        .execute();
      for (const row of due) {
        const outcome = await speech.erase(row.session_id, this.#stopped.signal);
        // The session stays on the list. The next process deletes it.
        if (outcome === 'failed' && this.#stopped.signal.aborted) return;
        if (outcome === 'failed' && this.#settled.now() - row.requested_at < keepTryingMs) {
          await store.db
            .updateTable('erasures')
            .set({ tries: row.tries + 1, next_at: clock.now() + retryDelayMs(row.tries) })
            .where('session_id', '=', row.session_id)
            .execute();
          continue;
        }
        if (outcome === 'failed')
          log.error(
            { sessionId: row.session_id },
            'speech service keeps a session that should be erased',
          );
        await store.db.deleteFrom('erasures').where('session_id', '=', row.session_id).execute();
      }
    } catch (error) {
      log.warn({ err: error }, 'erasing sessions at the speech service failed; tried again');
    }
  }
}

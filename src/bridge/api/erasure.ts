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
import { eraseTokens } from './tokens.ts';

/**
 * What remains after an erasure, for a while: the database's log, where another program still holds a state that has the
 * rows; the object store, where it does not delete now.
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
    /** Nothing of the call is sent any more when this resolves. */
    leave(callId: string): Promise<void>;
    /** What the service has of the call is to be deleted. */
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
/** Whoever erases a call waits so long for the object store; what it does not delete by then stays on its list. */
const objectsWaitMs = 5_000;
const retryDelayMs = (tries: number): number => Math.min(3_600_000, 30_000 * 2 ** tries);

/** After a week the service is not asked again: the session's id is logged for the operator to follow up. */
const keepTryingMs = 7 * 24 * 3_600_000;

/**
 * Makes a call as if it had never been: rows, journal, recording, events, pages, and its sessions at the
 * speech service, a hosted one too. What the service cannot delete now stays on a list until it can.
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

  /** One call, and what of it was deleted is not readable in the database's files either, where that can be had now. */
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

  /** Without the checkpoint: whoever erases many calls makes one at the end. */
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
    // Sessions of a call that still finishes may not be in the rows yet.
    const openSessions = open?.legs.flatMap((leg) => leg.audio.sessions()) ?? [];
    if (open !== undefined) {
      // First nobody finds the call any more; then it lets go, and nothing of it is written behind the erasure.
      calls.forget(open);
      await open.abandon();
    }
    const legs = await store.db
      .selectFrom('legs')
      .select('id')
      .where('call_id', '=', callId)
      .execute();
    // The second pass sends the recording: it lets go before the bytes do.
    await this.#options.secondPasses.leave(callId);
    // Audio before rows: after a crash in between the rows still name the audio, and the call can be erased again.
    await recordings.eraseHere(legs.map(({ id }) => id));
    await this.#eraseRows(
      callId,
      openSessions.map(({ id }) => id),
      reason,
    );
    outbox.wake();
    this.#options.secondPasses.wake();
    feed.publish({ kind: 'deleted', callId });
    log.info({ callId }, 'call erased');
    // Not waited for: a service that is away does not hold up the answer, and the list is stored.
    void this.#eraseSoon();
    return 'erased';
  }

  /** The audio alone, of a call that has ended; doing it again changes nothing. */
  async eraseAudio(callId: string): Promise<void> {
    const { store, recordings, secondPasses, log } = this.#options;
    const legs = await store.db
      .selectFrom('legs')
      .select('id')
      .where('call_id', '=', callId)
      .execute();
    const legIds = legs.map(({ id }) => id);
    // Somebody may have ordered "Transcribe again" since the call ended: what the service got of the recording goes, too.
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

  /** The sessions of a call that is redacted: they have its words as they were said, and what is told of them is stored. */
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
      // Of two nodes that erase the call at once the second waits here, finds none, and tells nobody again.
      if (store.kind === 'postgres') select = select.forUpdate();
      const call = await select.executeTakeFirst();
      await this.#listSessions(tx, callId, openSessions);
      // What is there now of the call is the word of its erasure, which may not be delivered yet.
      if (call === undefined) return;
      await this.#options.secondPasses.erase(tx, callId);
      await outbox.eraseCall(tx, callId);
      await this.#tell(tx, callId, call, reason);
      const legs = await tx.selectFrom('legs').select('id').where('call_id', '=', callId).execute();
      for (const table of ['leg_results', 'leg_states', 'leg_sessions', 'streams', 'legs'] as const)
        await tx.deleteFrom(table).where('call_id', '=', callId).execute();
      await tx.deleteFrom('calls').where('id', '=', callId).execute();
      // Behind the call's row as well: a copy that begins now waits for it, and finds none.
      await recordings.eraseStored(
        tx,
        legs.map(({ id }) => id),
      );
      // Behind the call's row: a tag that is being written waits for that row, and then finds none or is deleted here.
      await tx.deleteFrom('call_keys').where('call_id', '=', callId).execute();
      const others = await tx
        .selectFrom('calls')
        .select('id')
        .where('carrier', '=', call.carrier)
        .where('carrier_call_id', '=', call.carrier_call_id)
        .limit(1)
        .executeTakeFirst();
      if (others !== undefined) return;
      // With the last record of the carrier's call goes what hangs on the carrier's id alone: its status callbacks,
      // which hold telephone numbers, and what its stream tokens say. A digest stays, against callbacks yet to come.
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

  /** The list of what the service has to delete is stored with the deletion: no crash forgets a session. */
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
   * Receivers hear in the same commit that they are to forget the call. The event says which by our id alone: it is
   * kept until it is delivered, and nothing of the call may be in it.
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

  /** One after the other: two at once would ask the service twice for one session. Never rejects. */
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
        // Still on the list: the next process goes on with it.
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

import { sql, type Transaction } from 'kysely';
import { rareWordsFor } from '../../assist/rare-words.ts';
import { wait } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import { memoryShortage } from '../../port/memory.ts';
import { enqueueEvent, type StoredEvent } from '../../outbox/enqueue.ts';
import type { Database } from '../../store/schema.ts';
import type { CallState } from './call-state.ts';
import { isSameNumber } from '../events/call-keys.ts';
import { agentOf } from '../records/call-agent.ts';
import { callKey, callMetadata, eventCallOf, type CallRecord } from '../records/call-record.ts';
import { insertCall, insertLeg, insertStream } from '../events/call-rows.ts';
import type { OpenedStream, ReadFacts, StreamControl, StreamStart } from '../streams.ts';
import { Call } from './call.ts';
import { toldFacts } from './facts.ts';
import type { CallEnvironment } from './environment.ts';
import { bridgeMetrics } from '../metrics.ts';
import { languagesOf } from './new-leg.ts';
import type { BridgeConfig } from '../config.ts';
import {
  callOverrides,
  numberLanguages,
  sessionFormat,
  withVocabulary,
} from '../session/session-request.ts';

/** Interval of the check for legs whose carrier sends nothing while nobody speaks. */
const paceMs = 500;

/**
 * A timer that fires this late shows that our own process stood still. Frames that the carriers sent meanwhile wait in
 * the sockets, and silence written now would count that time twice.
 */
const lateTickMs = 1_000;

/** Interval at which a waiting stream checks whether its call has moved to this node. */
const lookAgainMs = 250;

/**
 * After the drain, the calls may take this long to commit their last events, even with hundreds of legs. If the
 * database is unreachable, the commits would be retried without end.
 */
const maxLeaveMs = 2_000;

/**
 * A call that begins while Postgres is unreachable, or has no free connection, is held for at most this long. Its
 * audio waits in memory, all of it (`maxHeldOpeningBytes` in opening-queue.ts).
 */
export const maxHeldMs = 120_000;
const heldAgainMs = 200;

/**
 * The calls of this process that are not over, found by our id or the carrier's. Decides which streams belong to one
 * call.
 */
export class Calls {
  readonly #env: CallEnvironment;
  /**
   * Calls of lost nodes that cannot be taken over yet, because their audio is in an object store that is unreachable.
   */
  readonly waitingForObjects = new Set<string>();
  readonly #byId = new Map<string, Call>();
  /** The call that takes new streams, by the carrier's call id. */
  readonly #byKey = new Map<string, Call>();
  /**
   * The last attempt to open a stream, by call key. Two streams of one call that open at once must not start two
   * calls.
   */
  readonly #opening = new Map<string, Promise<unknown>>();
  /** Legs of calls that are being stored. They already count towards the limit. */
  #beginningLegs = 0;
  #draining = false;
  readonly #pace: Loop;

  constructor(env: CallEnvironment) {
    this.#env = env;
    let lastMs = env.clock.monotonicMs();
    this.#pace = every(env.clock, paceMs, () => {
      lastMs = this.#keepPace(lastMs);
    });
  }

  get(id: string): Call | undefined {
    return this.#byId.get(id);
  }

  get all(): Call[] {
    return [...this.#byId.values()];
  }

  get legCount(): number {
    let legs = 0;
    for (const call of this.#byId.values()) legs += call.legs.length;
    return legs;
  }

  get environment(): CallEnvironment {
    return this.#env;
  }

  async openStream(start: StreamStart, control: StreamControl): Promise<OpenedStream> {
    const key = callKey(start.carrier, start.carrierCallId);
    const { clock, takeOverMs, log, relay } = this.#env;
    const untilMs = clock.monotonicMs() + takeOverMs;
    for (;;) {
      const isLast = clock.monotonicMs() >= untilMs;
      let owner: string | undefined;
      const opened = await this.inOrder(key, async () => {
        owner = isLast ? undefined : await this.#ownerElsewhere(key, start);
        if (owner !== undefined) return undefined;
        const result = await this.#open(key, start, control, isLast);
        if (result.outcome !== 'elsewhere') return result;
        owner = result.node;
        return undefined;
      });
      if (opened !== undefined) return opened;
      const relayed = owner === undefined ? undefined : await relay?.(owner, start, control);
      if (relayed !== undefined) return relayed;
      if (clock.monotonicMs() >= untilMs)
        log.warn(
          { carrier: start.carrier },
          'the node that has the call of a stream could not be reached; a second record of the call begins',
        );
      else await wait(clock, lookAgainMs);
    }
  }

  /** Opens a stream that arrived at another node for a call of this node. Undefined if the call is not here. */
  openOwn(start: StreamStart, control: StreamControl): Promise<OpenedStream | undefined> {
    const key = callKey(start.carrier, start.carrierCallId);
    return this.inOrder(key, async () => {
      if (this.#byKey.get(key)?.takesStreams !== true) return undefined;
      const opened = await this.#open(key, start, control, false);
      return opened.outcome === 'elsewhere' ? undefined : opened;
    });
  }

  /** Finds the other node that has this stream's call. Undefined if no node has it. */
  async #ownerElsewhere(key: string, start: StreamStart): Promise<string | undefined> {
    const { store, node, takeOverMs } = this.#env;
    if (takeOverMs === 0 || this.#draining || this.#byKey.get(key)?.takesStreams) return undefined;
    // If the store cannot be read, opening the call fails with the same error, which reports that the store is
    // unreachable.
    return liveAtOther(store.db, start, node).catch(() => undefined);
  }

  newCall(record: CallRecord, state?: CallState, fence?: number): Call {
    return new Call({
      env: this.#env,
      record,
      fence,
      onOver: (call) => this.#over(call),
      onLeaseLost: (call) => this.drop(call),
      state,
    });
  }

  /**
   * Called after a carrier's callback was stored. It runs in turn with the opening of streams, so the call learns the
   * facts in either order.
   */
  told(status: Parameters<ReadFacts>[0]): Promise<void> {
    const key = callKey(status.carrier, status.carrierCallId);
    return this.inOrder(key, () => {
      this.#byKey.get(key)?.learn(this.#env.factsOf(status));
      return Promise.resolve();
    });
  }

  /** Adds a call that was restored after a restart. */
  adopt(call: Call): void {
    this.#byId.set(call.record.id, call);
    if (call.takesStreams)
      this.#byKey.set(callKey(call.record.carrier, call.record.carrierCallId), call);
  }

  forget(call: Call): void {
    this.#over(call);
  }

  /**
   * Drops a call that another node has taken. Nothing more of it is written, sent or received here, and its local audio
   * is deleted.
   */
  drop(call: Call): void {
    if (this.#byId.get(call.record.id) !== call) return;
    const { id: callId } = call.record;
    this.#env.log.error(
      { callId },
      'another node took this call; it was left here, and its streams were closed',
    );
    bridgeMetrics.dropped.inc();
    this.#over(call);
    call.disconnect('the call is with another node');
    call
      .abandon()
      .catch((error: unknown) =>
        this.#env.log.error(
          { err: error, callId },
          'a call that another node has could not be closed here',
        ),
      );
  }

  /** After this node was declared lost: finds which of its calls other nodes have taken. */
  async checkLeases(): Promise<void> {
    const { store } = this.#env;
    const calls = this.all;
    if (calls.length === 0) return;
    const rows = await store.db
      .selectFrom('calls')
      .select(['id', 'node', 'fence'])
      .where(
        'id',
        'in',
        calls.map((call) => call.record.id),
      )
      .execute();
    const owners = new Map(rows.map(({ id, node, fence }) => [id, `${node} ${fence}`]));
    for (const call of calls) {
      const { node, fence } = call.lease;
      if (owners.get(call.record.id) !== `${node} ${fence}`) this.drop(call);
    }
  }

  /**
   * Runs `work` while no other work for the same call key runs. Everything that opens or takes over a call of one
   * carrier call waits its turn here.
   */
  async inOrder<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#opening.get(key) ?? Promise.resolve()).then(work);
    const quiet = done.catch(() => undefined);
    this.#opening.set(key, quiet);
    try {
      return await done;
    } finally {
      if (this.#opening.get(key) === quiet) this.#opening.delete(key);
    }
  }

  /** From now on streams are refused. Calls in progress are left to the next process. */
  stopAccepting(): void {
    this.#draining = true;
  }

  async leave(): Promise<void> {
    this.#draining = true;
    void this.#pace.stop();
    const calls = this.all;
    const isStored = await Promise.all(calls.map((call) => call.leave(maxLeaveMs)));
    const unstored = isStored.filter((stored) => !stored).length;
    if (unstored > 0)
      this.#env.log.warn(
        { calls: unstored },
        'the store did not take everything of these calls; the next start stores it, from the journals and from the speech service',
      );
    this.#byId.clear();
    this.#byKey.clear();
  }

  /**
   * Opens a stream. `isAlone`: the call begins here although another node may have it, because that node could not be
   * reached in time.
   */
  async #open(
    key: string,
    start: StreamStart,
    control: StreamControl,
    isAlone: boolean,
  ): Promise<OpenedStream | Elsewhere> {
    const going = this.#byKey.get(key);
    const joins = going?.takesStreams === true;
    const refusal = this.#refusal(start, joins ? going.newTracksOf(start) : start.tracks.length);
    if (refusal !== undefined) {
      bridgeMetrics.refused.inc({ reason: refusal.code });
      return { outcome: 'refused', reason: refusal.reason };
    }
    if (joins) return going.join(start, control);
    this.#beginningLegs += start.tracks.length;
    try {
      return await this.#begin(key, start, control, isAlone);
    } catch (error) {
      if (error instanceof BegunElsewhere) return { outcome: 'elsewhere', node: error.node };
      this.#env.log.error({ err: error, carrier: start.carrier }, 'call could not be begun');
      bridgeMetrics.refused.inc({ reason: 'store' });
      return { outcome: 'refused', reason: `the call could not be stored: ${reasonOf(error)}` };
    } finally {
      this.#beginningLegs -= start.tracks.length;
    }
  }

  /**
   * A stream that returns to existing legs (`newTracks` is 0) is always accepted, because its call already has its
   * places.
   */
  #refusal(start: StreamStart, newTracks: number): { code: string; reason: string } | undefined {
    if (this.#draining) return { code: 'draining', reason: 'this node is shutting down' };
    const full = newTracks > 0 ? this.#isFull(newTracks) : undefined;
    if (full !== undefined) return full;
    if (start.tracks.length === 0) return { code: 'format', reason: 'the stream names no track' };
    const channels = start.tracks[0]?.channels ?? 1;
    if (
      sessionFormat({ encoding: start.encoding, sampleRate: start.sampleRate, channels }) ===
      undefined
    )
      return {
        code: 'format',
        reason: `a sample rate of ${start.sampleRate} Hz cannot be transcribed; set the carrier to 8000 or 16000 Hz`,
      };
    return undefined;
  }

  #isFull(newLegs: number): { code: string; reason: string } | undefined {
    const room = this.#env.store.acceptsNewCalls();
    if (!room.ok) return { code: 'disk', reason: room.reason };
    const legs = this.legCount + this.#beginningLegs;
    if (legs + newLegs > this.#env.config.maxLegs)
      return { code: 'capacity', reason: `at capacity: ${this.#env.config.maxLegs} legs are open` };
    const shortage = memoryShortage(legs);
    return shortage === undefined ? undefined : { code: 'memory', reason: shortage };
  }

  /** Names and rare words of the playbooks, beside those that the call brought itself. */
  #listenForRareWords(record: CallRecord): void {
    const { playbooks, config } = this.#env;
    const { direction = null, carrier, to = null, metadata, overrides } = record;
    const languages = languagesOf(record, config);
    // The list that says which words are rare is English.
    if (languages.length > 0 && !languages.includes('en')) return;
    const call = { direction, carrier, to, metadata };
    const words = rareWordsFor(playbooks.current.playbooks, call);
    Object.assign(overrides, withVocabulary(config.session, overrides, words));
  }

  async #begin(
    key: string,
    start: StreamStart,
    control: StreamControl,
    isAlone: boolean,
  ): Promise<OpenedStream> {
    const { store, clock, config, node, takeOverMs } = this.#env;
    const startedAt = clock.now();
    const untilMs = clock.monotonicMs() + maxHeldMs;
    const [continues, facts] = await this.#held(start, untilMs, () =>
      Promise.all([this.#endedBefore(start), toldFacts(store.db, start, this.#env.factsOf)]),
    );
    const { record, dropped, ignored } = recordOf(
      // Values from the stream itself override values from callbacks.
      { ...facts, ...start },
      config,
      startedAt,
      continues,
    );
    this.#listenForRareWords(record);
    const agent = agentOf(config.agents, record, isSameNumber);
    if (agent !== undefined) record.agent = { ...agent, since: startedAt };
    const call = this.newCall(record);
    const { stream, newLegs } = call.attach(start, control);
    const begin = async (tx: Transaction<Database>): Promise<StoredEvent> => {
      if (takeOverMs > 0 && !isAlone) await claimCall(tx, key, start, node);
      await insertCall(tx, record, node);
      for (const leg of newLegs) await insertLeg(tx, record.id, leg);
      await insertStream(tx, {
        id: stream.id,
        callId: record.id,
        carrierStreamId: start.streamId,
        openedAt: record.startedAt,
      });
      return enqueueEvent(tx, {
        type: 'call.started',
        callId: record.id,
        occurredAt: record.startedAt,
        call: eventCallOf(record),
        customMetadata: record.metadata,
        data: {
          legs: newLegs.map(({ id, role, track, encoding, sampleRate, channels }) => ({
            id,
            role,
            track,
            encoding,
            sample_rate: sampleRate,
            channels,
          })),
          continues,
        },
      });
    };
    const event = await this.#held(start, untilMs, () => store.transaction(begin));
    this.#byId.set(record.id, call);
    this.#byKey.set(key, call);
    bridgeMetrics.calls.inc({ carrier: start.carrier });
    this.#env.wakeOutbox();
    this.#env.feed.publish({ kind: 'event', event });
    if (dropped > 0)
      call.events.warn(
        'METADATA_DROPPED',
        `${dropped} parameters did not fit into custom_metadata`,
      );
    if (start.resampledFromHz !== undefined)
      call.events.warn(
        'RESAMPLED',
        `the carrier sends ${start.resampledFromHz} Hz, which the speech interface does not take: the audio goes on at ${start.sampleRate} Hz`,
      );
    for (const name of ignored)
      call.events.warn(
        'PARAMETER_IGNORED',
        `the parameter ${name} holds nothing that a session can use`,
      );
    const opened = call.opened(stream);
    call.learn(facts);
    void call.contact.look();
    return opened;
  }

  /**
   * Retries while Postgres is unreachable. Errors that a retry cannot fix, and all errors of SQLite, are thrown at
   * once.
   */
  async #held<T>(start: StreamStart, untilMs: number, work: () => Promise<T>): Promise<T> {
    const { store, clock, log } = this.#env;
    for (let tries = 1; ; tries++)
      try {
        return await work();
      } catch (error) {
        if (error instanceof BegunElsewhere) throw error;
        const isAway = store.kind === 'postgres' && !store.refusesForGood(error);
        if (!isAway || this.#draining || clock.monotonicMs() >= untilMs) throw error;
        if (tries === 1) {
          log.warn(
            { carrier: start.carrier, reason: reasonOf(error) },
            `Postgres does not take a call that begins: it is held for up to ${maxHeldMs / 1_000} s`,
          );
          bridgeMetrics.held.inc();
        }
        await wait(clock, heldAgainMs);
      }
  }

  /** The earlier record of this carrier call id, if there is one. The new record continues it. */
  async #endedBefore(start: StreamStart): Promise<string | null> {
    const row = await this.#env.store.db
      .selectFrom('calls')
      .select('id')
      .where('carrier', '=', start.carrier)
      .where('carrier_call_id', '=', start.carrierCallId)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row?.id ?? null;
  }

  #over(call: Call): void {
    this.#byId.delete(call.record.id);
    const key = callKey(call.record.carrier, call.record.carrierCallId);
    if (this.#byKey.get(key) === call) this.#byKey.delete(key);
  }

  #keepPace(lastMs: number): number {
    const nowMs = this.#env.clock.monotonicMs();
    if (nowMs - lastMs < paceMs + lateTickMs)
      for (const call of this.#byId.values()) {
        call.keepPace(nowMs);
        call.endWhenOver(nowMs);
      }
    return nowMs;
  }
}

type Elsewhere = { outcome: 'elsewhere'; node: string };

/** Thrown if another node committed a call with the same carrier id first. */
class BegunElsewhere extends Error {
  readonly node: string;

  constructor(node: string) {
    super('another node has begun this call');
    this.node = node;
  }
}

/**
 * Locks the carrier's call id. Two streams of one call may reach two nodes at the same moment, and neither node sees
 * the other's row. With the lock the second node waits for the first commit, finds the call and joins it.
 */
async function claimCall(
  tx: Transaction<Database>,
  key: string,
  start: StreamStart,
  node: string,
): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(tx);
  const other = await liveAtOther(tx, start, node);
  if (other !== undefined) throw new BegunElsewhere(other);
}

/** The other node that has the newest live record of this carrier call. */
async function liveAtOther(
  db: Pick<Transaction<Database>, 'selectFrom'>,
  { carrier, carrierCallId }: StreamStart,
  node: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('calls')
    .select(['node', 'state'])
    .where('carrier', '=', carrier)
    .where('carrier_call_id', '=', carrierCallId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.state === 'live' && row.node !== node ? row.node : undefined;
}

function recordOf(
  start: StreamStart,
  config: BridgeConfig,
  startedAt: number,
  continues: string | null,
): { record: CallRecord; dropped: number; ignored: string[] } {
  const id = newId('call', startedAt);
  const { carrier, carrierCallId, direction, from, to, carrierIds, parameters } = start;
  const facts = {
    callId: id,
    carrier,
    carrierCallId,
    direction,
    from,
    to,
    startedAt,
    carrierIds,
    parameters,
  };
  const { metadata, dropped } = callMetadata(facts);
  const ofNumber = numberLanguages(config.numberLanguages, start);
  const { overrides: own, ignored } = callOverrides(parameters, config.callParameters);
  const overrides = { ...ofNumber, ...own };
  const languages = languagesOf({ overrides }, config);
  return {
    record: {
      id,
      carrier,
      carrierCallId,
      direction,
      from,
      to,
      startedAt,
      metadata,
      overrides,
      continues,
      ...(languages.length === 1 ? { language: languages[0] } : {}),
    },
    dropped,
    ignored,
  };
}

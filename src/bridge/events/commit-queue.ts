import type { Transaction } from 'kysely';
import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { storableText } from '../../lib/storable.ts';
import { enqueueEvents, type StoredEvent } from '../../outbox/enqueue.ts';
import type { EventLeg, NewCallEvent } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { Said } from '../records/timeline.ts';
import { holdLease, LeaseLost, type CallLease } from '../records/lease.ts';
import {
  eventCallOf,
  legMetadata,
  type CallLength,
  type CallRecord,
} from '../records/call-record.ts';

type DraftEvent = { said: Said; occurredAt: number; speechEndedAt?: number; leg?: EventLeg };

/** One thing that happened to a call: an event, the rows it goes with, or both, in one transaction. */
export type Draft = {
  event?: DraftEvent;
  /** A further event of the same commit, with the next number. */
  followedBy?: DraftEvent;
  /** When a row of this identity is there already, the draft is a repetition: it has no event, and no rows of its own. */
  identity?: ResultIdentity;
  rows?: (tx: Transaction<Database>) => Promise<void>;
};

type ResultIdentity = {
  legId: string;
  sessionId: string;
  kind: string;
  key: string;
  role: string;
  start: number;
  end: number;
  text: string;
  /** Which voice of a mixed leg, asked when the row is written: it may have become known while the draft waited. */
  speaker?: () => number | undefined;
};

/**
 * Commits of one call that may wait for the store; beyond it the newest is refused and counted. It is hours of a
 * talkative call: a store that is away for longer than that loses events rather than the process its memory.
 */
export const maxCommitsWaiting = 20_000;
const batchSize = 64;
const retryDelayMs = (attempt: number): number => Math.min(5_000, 50 * 2 ** attempt);

type CommitQueueOptions = {
  record: CallRecord;
  /** Known from the hang-up on. */
  length(): CallLength | undefined;
  store: Store;
  lease: CallLease;
  /** In every commit: what other nodes would go on from. */
  share?: ((tx: Transaction<Database>) => Promise<void>) | undefined;
  clock: Clock;
  log: Logger;
  /** After each commit, in the order of the sequence. */
  onCommitted(events: StoredEvent[]): void;
  onRefused(): void;
  /** The store can never take this: it is not written, and what comes after it is. */
  onSetAside(draft: Draft, error: unknown): void;
  /** The call is with another node now: nothing of what waits is written. */
  onLeaseLost(): void;
};

/**
 * One call's writes, one after the other, so that the events have the order in which things happened. While the
 * store fails the commit is tried again for as long as this process has the call. A draft that can never work is set
 * aside by itself, and the others go on.
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: { draft: Draft; settle: (done: boolean) => void }[] = [];
  #working: Promise<void> | undefined;
  #left = false;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /** True once it is durable; false when the queue was full or the call was left first. */
  add(draft: Draft): Promise<boolean> {
    if (this.#left) return Promise.resolve(false);
    if (this.#waiting.length >= maxCommitsWaiting) {
      this.#options.onRefused();
      return Promise.resolve(false);
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push({ draft, settle: resolve });
    this.#working ??= this.#work();
    return promise;
  }

  /** Resolves when everything added so far is durable. */
  async settled(): Promise<void> {
    await this.#working;
  }

  /** The call is erased, or left to the next process: what waits is not written any more. */
  leave(): void {
    this.#left = true;
  }

  async #work(): Promise<void> {
    let attempt = 0;
    /** Drafts at the front that are committed one by one: one of them can never work. */
    let alone = 0;
    while (this.#waiting.length > 0 && !this.#left) {
      const batch = this.#waiting.slice(0, alone > 0 ? 1 : batchSize);
      let events: StoredEvent[];
      try {
        events = await this.#commit(batch.map(({ draft }) => draft));
      } catch (error) {
        if (error instanceof LeaseLost) {
          this.#left = true;
          this.#tell(() => this.#options.onLeaseLost());
          continue;
        }
        if (this.#canNeverWork(error)) {
          if (batch.length > 1) alone = batch.length;
          else if (this.#setAside(error)) alone = Math.max(0, alone - 1);
          continue;
        }
        this.#options.log.error({ err: error, attempt }, 'call state could not be committed');
        await wait(this.#options.clock, retryDelayMs(attempt++));
        continue;
      }
      this.#waiting.splice(0, batch.length);
      attempt = 0;
      alone = Math.max(0, alone - 1);
      if (events.length > 0) this.#tell(() => this.#options.onCommitted(events));
      for (const { settle } of batch) settle(true);
    }
    this.#working = undefined;
    if (this.#left) for (const { settle } of this.#waiting.splice(0)) settle(false);
  }

  /** What is durable stays so, and the next draft is written, whatever those who are told of it make of it. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error }, 'a part that hears of stored events failed');
    }
  }

  /** The store refused the content, or writing it down is a fault of ours: another try would end the same way. */
  #canNeverWork(error: unknown): boolean {
    return (
      this.#options.store.refusesForGood(error) ||
      error instanceof TypeError ||
      error instanceof RangeError ||
      error instanceof SyntaxError
    );
  }

  /**
   * The first draft loses its event where it has rows of its own, because a call must be able to end all the same;
   * otherwise it goes altogether. Answers whether it is gone.
   */
  #setAside(error: unknown): boolean {
    const first = this.#waiting[0];
    if (first === undefined) return true;
    const { draft, settle } = first;
    const { followedBy, ...without } = draft;
    if (followedBy !== undefined) {
      // One of the two may be storable without the other. The rows go with the second, so that the call can end.
      const { rows, ...alone } = without;
      const second = { event: followedBy, ...(rows === undefined ? {} : { rows }) };
      this.#waiting.splice(0, 1, { draft: alone, settle: () => undefined }, { draft: second, settle }); // prettier-ignore
      return false;
    }
    this.#tell(() => this.#options.onSetAside(draft, error));
    if (draft.event !== undefined && draft.identity === undefined && draft.rows !== undefined) {
      this.#waiting[0] = { draft: { rows: draft.rows }, settle };
      return false;
    }
    this.#waiting.shift();
    settle(false);
    return true;
  }

  /**
   * A handful of statements, however many drafts there are: while the event loop comes round to each of them, nobody
   * else writes. A leg's row comes before results that name the leg.
   */
  #commit(drafts: Draft[]): Promise<StoredEvent[]> {
    const { store, record, lease } = this.#options;
    return store.transaction(async (tx) => {
      await holdLease(store, tx, record.id, lease);
      for (const { rows } of drafts) await rows?.(tx);
      await this.#options.share?.(tx);
      const repeated = await this.#repeated(tx, drafts);
      const events = drafts.flatMap((draft) =>
        repeated.has(draft)
          ? []
          : [draft.event, draft.followedBy].flatMap((event) =>
              event === undefined ? [] : [this.#eventOf(event)],
            ),
      );
      return enqueueEvents(tx, events);
    });
  }

  /** Notes the identities of the drafts; answers the drafts whose identity was there already. */
  async #repeated(tx: Transaction<Database>, drafts: readonly Draft[]): Promise<Set<Draft>> {
    const repeated = new Set<Draft>();
    let known: Identified[] = [];
    for (const { draft, identity } of identified(drafts)) {
      if (isAnonymous(identity)) {
        // What was said with an id just before has to be there to be found by its times.
        await this.#note(tx, known, repeated);
        known = [];
        if (await this.#isKnownBySpan(tx, identity)) {
          repeated.add(draft);
          continue;
        }
      }
      known.push({ draft, identity });
    }
    await this.#note(tx, known, repeated);
    return repeated;
  }

  async #note(
    tx: Transaction<Database>,
    identified: readonly Identified[],
    repeated: Set<Draft>,
  ): Promise<void> {
    if (identified.length === 0) return;
    const rows = await tx
      .insertInto('leg_results')
      .values(identified.map(({ identity }) => this.#resultRow(identity)))
      .onConflict((conflict) => conflict.doNothing())
      .returning(['leg_id', 'session_id', 'kind', 'key'])
      .execute();
    const noted = new Set(rows.map((row) => nameOf(row.leg_id, row.session_id, row.kind, row.key)));
    // The same thing twice in one batch is one row: the first is new.
    for (const { draft, identity } of identified)
      if (!noted.delete(nameOf(identity.legId, identity.sessionId, identity.kind, identity.key)))
        repeated.add(draft);
  }

  #resultRow(identity: ResultIdentity) {
    return {
      leg_id: identity.legId,
      session_id: identity.sessionId,
      kind: identity.kind,
      key: identity.key,
      call_id: this.#options.record.id,
      role: identity.role,
      start_s: identity.start,
      end_s: identity.end,
      text: identity.text,
      speaker: identity.speaker?.() ?? null,
    };
  }

  /** A session record without ids may list an utterance that was heard live, with its id: the same times tell that. */
  async #isKnownBySpan(tx: Transaction<Database>, identity: ResultIdentity): Promise<boolean> {
    const row = await tx
      .selectFrom('leg_results')
      .select('key')
      .where('leg_id', '=', identity.legId)
      .where('session_id', '=', identity.sessionId)
      .where('kind', '=', identity.kind)
      .where('start_s', '=', identity.start)
      .where('end_s', '=', identity.end)
      .executeTakeFirst();
    return row !== undefined;
  }

  #eventOf({ said, occurredAt, speechEndedAt, leg }: DraftEvent): NewCallEvent {
    const { record } = this.#options;
    const length = this.#options.length();
    // An event of before the hang-up may be committed after it.
    const isOver = length !== undefined && occurredAt >= length.hungUpAt;
    const call = eventCallOf(record, isOver ? length : undefined);
    const ended = speechEndedAt === undefined ? {} : { speechEndedAt };
    const common = { ...said, occurredAt, ...ended, callId: record.id, call };
    if (leg === undefined) return { ...common, customMetadata: record.metadata };
    const own = { legId: leg.id, role: leg.role, track: leg.track };
    return { ...common, leg, customMetadata: legMetadata(record.metadata, own) };
  }
}

type Identified = { draft: Draft; identity: ResultIdentity };

function identified(drafts: readonly Draft[]): Identified[] {
  return drafts.flatMap((draft) =>
    draft.identity === undefined ? [] : [{ draft, identity: draft.identity }],
  );
}

/** As the store has them: Postgres keeps other characters in place of those that it cannot hold. */
function nameOf(...parts: string[]): string {
  return JSON.stringify(parts.map(storableText));
}

/** The speech client makes ids up for utterances of a session record that has none; they begin like this. */
function isAnonymous(identity: ResultIdentity): boolean {
  return identity.kind === 'call.transcript' && identity.key.startsWith('record_');
}

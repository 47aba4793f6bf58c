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

type DraftEvent = {
  said: Said;
  occurredAt: number;
  speechEndedAt?: number | undefined;
  leg?: EventLeg | undefined;
};

/** A change of a call to commit: an event, its rows, or both, written in one transaction. */
export type Draft = {
  event?: DraftEvent | undefined;
  /** A second event of the commit, with the next sequence number. */
  followedBy?: DraftEvent;
  /**
   * If a row with this identity already exists, the draft is a repetition: neither its event nor its rows are
   * written.
   */
  identity?: ResultIdentity;
  /** Writes a row that only one such draft can write. If it returns false, the draft is a repetition. */
  once?: (tx: Transaction<Database>) => Promise<boolean>;
  /** Further events of the commit, after all others of the draft. */
  also?: DraftEvent[];
  rows?: ((tx: Transaction<Database>) => Promise<void>) | undefined;
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
  spoken?: string | undefined;
  /** When the rules of the call heard it. */
  heard?: string | undefined;
  /**
   * Returns the voice of a result on a mixed leg. The function is called when the row is written, because the voice may
   * have become known while the draft waited.
   */
  speaker?: () => number | undefined;
};

/**
 * At most this many commits of one call wait for the store. Above that, the newest is refused and counted. The number
 * covers hours of a talkative call. If the store is unreachable for longer, the call loses events so that the process
 * does not run out of memory.
 */
export const maxCommitsWaiting = 20_000;
const batchSize = 64;
const retryDelayMs = (attempt: number): number => Math.min(5_000, 50 * 2 ** attempt);

type CommitQueueOptions = {
  record: CallRecord;
  /** Returns the length of the call. It is known from the hang-up on. */
  length(): CallLength | undefined;
  store: Store;
  lease: CallLease;
  /** Runs in every commit, and shares the state that other nodes would continue from. */
  share?: ((tx: Transaction<Database>) => Promise<void>) | undefined;
  clock: Clock;
  log: Logger;
  /** Called after each commit with its events, in the order of their sequence numbers. */
  onCommitted(events: StoredEvent[]): void;
  onRefused(): void;
  /** Called for a draft that the store can never take. That draft is skipped, and later drafts are written. */
  onSetAside(draft: Draft, error: unknown): void;
  /** Called when another node has taken the call. None of the waiting drafts is written. */
  onLeaseLost(): void;
};

/**
 * Writes the events and rows of one call one after the other, in the order in which things happened. If the store
 * fails, the commit is retried for as long as this process has the call. A draft that can never be written is set
 * aside alone, and the others go on.
 */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: { draft: Draft; settle: (done: boolean) => void }[] = [];
  #working: Promise<void> | undefined;
  #left = false;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /** Returns true once the draft is durable, and false if the queue was full or the call was left first. */
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

  /** Resolves when everything that was added so far is durable. */
  async settled(): Promise<void> {
    await this.#working;
  }

  /**
   * Stops writing, because the call was erased or is left to the next process. Waiting drafts are not written any more.
   */
  leave(): void {
    this.#left = true;
  }

  async #work(): Promise<void> {
    let attempt = 0;
    /** Number of drafts at the front that are committed one by one, because one of them can never be written. */
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

  /** An error in a listener changes nothing: committed drafts stay durable, and the next draft is written. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error }, 'a listener for stored events failed');
    }
  }

  /**
   * True if the store refused the content, or if a bug of ours prevents the write. Another attempt would fail in the
   * same way.
   */
  #canNeverWork(error: unknown): boolean {
    return (
      this.#options.store.refusesForGood(error) ||
      error instanceof TypeError ||
      error instanceof RangeError ||
      error instanceof SyntaxError
    );
  }

  /**
   * Sets the first draft aside. If it has rows, it loses only its event, because a call must still be able to end.
   * Otherwise it is dropped. Returns true if the draft was dropped.
   */
  #setAside(error: unknown): boolean {
    const first = this.#waiting[0];
    if (first === undefined) return true;
    const { draft, settle } = first;
    const { followedBy, ...without } = draft;
    if (followedBy !== undefined) {
      // Perhaps only one of the two events cannot be stored. The rows go with the second one, so that the call can end.
      const { rows, ...alone } = without;
      const second = { event: followedBy, rows };
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
   * Commits the drafts with a handful of statements, however many there are. Nobody else can write until the event loop
   * has run all of them. The row of a leg is written before results that refer to the leg.
   */
  #commit(drafts: Draft[]): Promise<StoredEvent[]> {
    const { store, record, lease } = this.#options;
    return store.transaction(async (tx) => {
      await holdLease(store, tx, record.id, lease);
      for (const { rows } of drafts) await rows?.(tx);
      await this.#options.share?.(tx);
      const repeated = await this.#repeated(tx, drafts);
      for (const draft of drafts)
        if (draft.once !== undefined && !(await draft.once(tx))) repeated.add(draft);
      const events = drafts.flatMap((draft) =>
        repeated.has(draft)
          ? []
          : [draft.event, draft.followedBy, ...(draft.also ?? [])].flatMap((event) =>
              event === undefined ? [] : [this.#eventOf(event)],
            ),
      );
      return enqueueEvents(tx, events);
    });
  }

  /** Stores the identities of the drafts. Returns the drafts whose identity was already stored. */
  async #repeated(tx: Transaction<Database>, drafts: readonly Draft[]): Promise<Set<Draft>> {
    const repeated = new Set<Draft>();
    let known: Identified[] = [];
    for (const { draft, identity } of identified(drafts)) {
      if (isAnonymous(identity)) {
        // Identities with an id are stored first, so that the search by times finds them.
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
    // If one batch contains the same result twice, only the first counts as new.
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
      spoken: identity.spoken ?? null,
      heard: identity.heard ?? null,
    };
  }

  /**
   * True if the utterance was already stored with the same times. The session's record may list an utterance without an
   * id that was heard live with an id.
   */
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
    // An event from before the hang-up may be committed after it.
    const isOver = length !== undefined && occurredAt >= length.hungUpAt;
    const call = eventCallOf(record, isOver ? length : undefined);
    const common = { ...said, occurredAt, speechEndedAt, callId: record.id, call };
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

/** The identity as the store returns it: Postgres replaces characters that it cannot hold. */
function nameOf(...parts: string[]): string {
  return JSON.stringify(parts.map(storableText));
}

/**
 * True for an invented id. If a session's record lists utterances without ids, the speech client invents ids with this
 * prefix.
 */
function isAnonymous(identity: ResultIdentity): boolean {
  return identity.kind === 'call.transcript' && identity.key.startsWith('record_');
}

/** The error's own text may quote a row. Its class is enough for an operator and for us. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error ? JSON.stringify(error.code) : error.name;
}

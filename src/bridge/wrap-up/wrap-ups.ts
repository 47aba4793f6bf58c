import type { Kysely, Selectable, Transaction } from 'kysely';
import type { LanguageRunner } from '../../language/runner.ts';
import { textOfWrapUp } from '../../language/wrap-up/edited-text.ts';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop, type Next } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { enqueueEvent, type StoredEvent } from '../../outbox/enqueue.ts';
import {
  WrapUp,
  type CallWrapUp,
  type WrapUpEdit,
  type WrapUpOrder,
} from '../../protocol/wrap-up.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Database, WrapUpsTable } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { lengthOf } from '../call/length.ts';
import { conversationOf, summaryAndWrapUp } from '../call/summary.ts';
import type { BridgeConfig } from '../config.ts';
import { callRowOf, legsOf, recordFrom, type CallRow } from '../events/call-rows.ts';
import { replaceKeys, tagKey } from '../events/call-keys.ts';
import type { LiveFeed } from '../live-feed.ts';
import { eventCallOf } from '../records/call-record.ts';
import { valueContextOf } from '../records/value-context.ts';
import type { Dispositions } from './dispositions.ts';
import { edited, proofOf } from './edited.ts';

type WrapUpsOptions = {
  config: Pick<BridgeConfig, 'wrapUpS' | 'summaryType' | 'summaryWaitMs'>;
  store: Store;
  language: LanguageRunner;
  feed: LiveFeed;
  clock: Clock;
  log: Logger;
  wakeOutbox: () => void;
  dispositions: Dispositions;
};

type WrapUpRow = Selectable<WrapUpsTable>;

/** The reason why a wrap-up cannot be read or edited now. */
export type WrapUpRefusal =
  | { refused: 'unknown' | 'live' }
  | { refused: 'language' | 'revision' | 'proof' | 'disposition'; why: string };

/** At most this many records go out in one round; the next round follows at once. */
const maxPerRound = 50;
/** Another node may have stored a record that is due: this node looks this often. */
const lookMs = 30_000;
const soonestMs = 20;
const afterTroubleMs = 600_000;
/** Larger records would not fit into an event with their text. */
const maxRecordBytes = 200_000;
/** The list of edits of a record keeps the newest of this many. */
const maxEdits = 200;

/**
 * The records of ended calls: kept with the summary, edited by people, told as `call.wrapped`. A record that nobody
 * edits goes out after `wrapUpS`; an edited one goes out at once, and again with each later edit.
 */
export class WrapUps {
  readonly #options: WrapUpsOptions;
  readonly #looks: Loop;

  constructor(options: WrapUpsOptions) {
    this.#options = options;
    this.#looks = every(options.clock, lookMs, () => this.#look(), {
      firstMs: 1_000,
      failed: (error) => {
        options.log.warn({ err: error }, 'wrap-ups could not be told; tried again');
      },
    });
  }

  /** The record with a disposition of the list, where what was said leaves no doubt. */
  suggested(record: WrapUp, turns: readonly { role: string; text: string }[]): Promise<WrapUp> {
    return this.#options.dispositions.suggested(record, turns);
  }

  /** Runs in the commit of a call's summary. */
  async keep(
    tx: Transaction<Database>,
    callId: string,
    record: WrapUp,
    text: string,
  ): Promise<void> {
    const { clock, config } = this.#options;
    const due_at = clock.now() + config.wrapUpS * 1_000;
    await tx
      .insertInto('wrap_ups')
      .values({
        call_id: callId,
        record: JSON.stringify(record),
        text,
        edits: '[]',
        revision: 0,
        due_at,
        chosen: null,
        chosen_at: null,
      })
      .onConflict((conflict) => conflict.column('call_id').doNothing())
      .execute();
    await replaceKeys(tx, callId, 'disposition', dispositionKeys(record));
  }

  wake(): void {
    const { clock, config } = this.#options;
    const inMs = config.wrapUpS * 1_000;
    // A later time is met by the usual rounds. A pause must not begin anew with each call that ends.
    if (inMs < lookMs) clock.after(inMs, () => this.#looks.wake());
  }

  async stop(): Promise<void> {
    await within(this.#options.clock, maxDatabaseWaitMs, this.#looks.stop());
  }

  /** The record as it is kept, or a draft from what was said so far. */
  async read(callId: string): Promise<CallWrapUp | WrapUpRefusal> {
    const { db } = this.#options.store;
    const row = await rowOf(db, callId);
    if (row !== undefined) return this.#answerOf(row);
    const call = await callRowOf(db, callId);
    if (call === undefined) return { refused: 'unknown' };
    const draft = await this.#draftOf(call);
    if ('refused' in draft) return draft;
    const { record: wrap_up, text } = draft;
    const { names: dispositions } = this.#options.dispositions;
    return { call_id: callId, state: 'draft', due_at: null, wrap_up, text, revision: 0, edits: [], dispositions }; // prettier-ignore
  }

  /** Changes the record and tells it at once. An order that changes nothing tells nothing. */
  async edit(callId: string, order: WrapUpOrder): Promise<CallWrapUp | WrapUpRefusal> {
    const { store, clock } = this.#options;
    const strangeName = this.#strangeName(order.wrap_up.disposition);
    if (strangeName !== undefined) return { refused: 'disposition', why: strangeName };
    const call = await callRowOf(store.db, callId);
    if (call === undefined) return { refused: 'unknown' };
    if (call.state !== 'ended' || call.summary_due !== 0) return { refused: 'live' };
    const turns = (await conversationOf(store.db, callId)).turns;
    const known = new Set(turns.flatMap(({ utterance_id: id }) => id ?? []));
    // A call of an earlier version has no record yet.
    const first = (await rowOf(store.db, callId)) === undefined ? await this.#draftOf(call) : undefined; // prettier-ignore
    if (first !== undefined && 'refused' in first) return first;
    const outcome = await store.transaction(
      async (tx): Promise<{ answer: CallWrapUp | WrapUpRefusal; event?: StoredEvent }> => {
        const refused = (answer: WrapUpRefusal): { answer: WrapUpRefusal } => ({ answer });
        const locked = await this.#lockedCall(tx, callId);
        if (locked === undefined) return refused({ refused: 'unknown' });
        if (first !== undefined) await this.keep(tx, callId, first.record, first.text);
        const row = await rowOf(tx, callId);
        if (row === undefined) return refused({ refused: 'unknown' });
        if (order.revision !== undefined && order.revision !== row.revision) {
          const why = `the wrap-up has revision ${row.revision} by now`;
          return refused({ refused: 'revision', why });
        }
        const before = WrapUp.parse(JSON.parse(row.record));
        const { after, changed } = edited(before, order);
        const kept = new Set(proofOf(before));
        const strange = proofOf(after).find((id) => !known.has(id) && !kept.has(id));
        if (strange !== undefined) {
          const why = `the call has no utterance ${strange.slice(0, 40)}`;
          return refused({ refused: 'proof', why });
        }
        if (changed.length === 0) return { answer: this.#answerOf(row) };
        const record = JSON.stringify(after);
        if (Buffer.byteLength(record) > maxRecordBytes) {
          const why = `the wrap-up has more than ${maxRecordBytes} bytes`;
          return refused({ refused: 'proof', why });
        }
        const [by, at] = [order.by ?? null, new Date(clock.now()).toISOString()];
        const edits = [...editsOf(row), ...changed.map((field) => ({ field, by, at }))];
        const next: WrapUpRow = {
          ...row,
          record,
          text: textOfWrapUp(
            after,
            this.#options.config.summaryType === 'bullet_points',
            call.language ?? 'en',
          ),
          edits: JSON.stringify(edits.slice(-maxEdits)),
          ...(changed.includes('disposition')
            ? {
                chosen: after.disposition,
                chosen_at: after.disposition === null ? null : clock.now(),
              }
            : {}),
        };
        return this.#told(tx, locked, next);
      },
    );
    if (outcome.event !== undefined) this.#published(outcome.event);
    if (order.wrap_up.disposition !== undefined) this.#options.dispositions.forget();
    return outcome.answer;
  }

  /** Tells the records whose time has come. Each is told in one commit with its row, so no restart tells one twice. */
  async #look(): Promise<Next> {
    const { store, clock } = this.#options;
    const due = await store.db
      .selectFrom('wrap_ups')
      .select(['call_id', 'due_at'])
      .where('due_at', 'is not', null)
      .orderBy('due_at')
      .limit(maxPerRound)
      .execute();
    const now = clock.now();
    for (const { call_id, due_at } of due)
      if ((due_at ?? now) <= now)
        await this.#tellUnedited(call_id).catch((error: unknown) => this.#later(call_id, error));
    const waiting = due.find(({ due_at }) => (due_at ?? now) > now)?.due_at;
    if (waiting === undefined || waiting === null)
      return { inMs: due.length === maxPerRound ? soonestMs : lookMs };
    return { inMs: Math.min(lookMs, Math.max(soonestMs, waiting - clock.now())) };
  }

  /** A record that cannot be told keeps no other one waiting. */
  async #later(callId: string, error: unknown): Promise<void> {
    const { store, clock, log } = this.#options;
    await store.db
      .updateTable('wrap_ups')
      .set({ due_at: clock.now() + afterTroubleMs })
      .where('call_id', '=', callId)
      .where('due_at', 'is not', null)
      .execute();
    log.error({ callId, reason: reasonOf(error) }, 'the wrap-up of a call could not be told; tried again in ten minutes'); // prettier-ignore
  }

  async #tellUnedited(callId: string): Promise<void> {
    const event = await this.#options.store.transaction(async (tx) => {
      const call = await this.#lockedCall(tx, callId);
      const row = call === undefined ? undefined : await rowOf(tx, callId);
      // Another node, or an edit, was first.
      if (call === undefined || row?.due_at == null) return undefined;
      return (await this.#told(tx, call, row)).event;
    });
    if (event !== undefined) this.#published(event);
  }

  /** An erasure locks the same row first: it either takes this event too, or leaves no call to tell of. */
  async #lockedCall(tx: Transaction<Database>, callId: string): Promise<CallRow | undefined> {
    const select = tx.selectFrom('calls').selectAll().where('id', '=', callId);
    const { kind } = this.#options.store;
    return (kind === 'postgres' ? select.forUpdate() : select).executeTakeFirst();
  }

  async #told(
    tx: Transaction<Database>,
    call: CallRow,
    row: WrapUpRow,
  ): Promise<{ answer: CallWrapUp; event: StoredEvent }> {
    const { record: words, text, edits, chosen, chosen_at } = row;
    const revision = row.revision + 1;
    await tx
      .updateTable('wrap_ups')
      .set({ record: words, text, edits, revision, due_at: null, chosen, chosen_at })
      .where('call_id', '=', call.id)
      .execute();
    await replaceKeys(tx, call.id, 'disposition', dispositionKeys(WrapUp.parse(JSON.parse(words))));
    const next = { ...row, revision, due_at: null };
    const answer = this.#answerOf(next);
    const { wrap_up, edits: made } = answer;
    const record = recordFrom(call);
    const length = lengthOf(call, await legsOf(tx, call.id));
    const event = await enqueueEvent(tx, {
      type: 'call.wrapped',
      callId: call.id,
      call: eventCallOf(record, length),
      customMetadata: record.metadata,
      occurredAt: this.#options.clock.now(),
      data: { wrap_up, text, revision, edits: made },
    });
    return { answer, event };
  }

  #published(event: StoredEvent): void {
    const { wakeOutbox, feed } = this.#options;
    wakeOutbox();
    feed.publish({ kind: 'event', event });
    feed.publish({ kind: 'call', callId: event.callId });
  }

  async #draftOf(call: CallRow): Promise<{ record: WrapUp; text: string } | WrapUpRefusal> {
    const { store, language, config } = this.#options;
    const conversation = await conversationOf(store.db, call.id);
    const { summary, wrapUp } = await summaryAndWrapUp(conversation, {
      language,
      callId: call.id,
      type: config.summaryType,
      languageCode: call.language ?? 'en',
      deadlineMs: config.summaryWaitMs,
      about: valueContextOf(recordFrom(call)),
    });
    if (wrapUp !== undefined) {
      const record = await this.suggested(wrapUp, conversation.turns);
      return { record, text: summary.summary.text };
    }
    return { refused: 'language', why: summary.errors?.[0]?.message ?? 'the wrap-up could not be made' }; // prettier-ignore
  }

  /** The reason why a disposition is refused, or undefined where the list has it, or where there is no list. */
  #strangeName(given: string | null | undefined): string | undefined {
    const { names } = this.#options.dispositions;
    if (given == null || names.length === 0 || names.includes(given)) return undefined;
    return `the list of dispositions has no "${given.slice(0, 100)}"; choose one of: ${names.join(', ').slice(0, 1_000)}`;
  }

  #answerOf({ call_id, record, text, revision, due_at, edits }: WrapUpRow): CallWrapUp {
    return {
      call_id,
      state: due_at === null ? 'delivered' : 'waiting',
      due_at: due_at === null ? null : new Date(due_at).toISOString(),
      wrap_up: WrapUp.parse(JSON.parse(record)),
      text,
      revision,
      edits: JSON.parse(edits) as WrapUpEdit[],
      dispositions: this.#options.dispositions.names,
    };
  }
}

/** Records whose disposition a person chose, the newest first. */
export async function chosenBefore(
  db: Kysely<Database>,
  name: string,
  limit: number,
): Promise<WrapUp[]> {
  const rows = await db
    .selectFrom('wrap_ups')
    .select('record')
    .where('chosen', '=', name)
    .orderBy('chosen_at', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ record }) => WrapUp.parse(JSON.parse(record)));
}

function rowOf(db: Kysely<Database>, callId: string): Promise<WrapUpRow | undefined> {
  return db.selectFrom('wrap_ups').selectAll().where('call_id', '=', callId).executeTakeFirst();
}

function dispositionKeys({ disposition }: Pick<WrapUp, 'disposition'>): string[] {
  return disposition === null ? [] : [tagKey(disposition)];
}

function editsOf(row: WrapUpRow): WrapUpEdit[] {
  return JSON.parse(row.edits) as WrapUpEdit[];
}

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { counter } from '../lib/metrics.ts';
import type { Deed } from '../port/principal.ts';
import { Problem } from '../port/problem.ts';
import type { AuditCheck } from '../protocol/people-reports.ts';
import { deeds, repeatedDeeds } from '../protocol/rights.ts';
import type { AuditTable } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { hashAfter, whyBroken, type ChainLink } from './audit-chain.ts';

/** At most this many lines wait for the database. More deeds are refused, because none may be done unseen. */
export const maxLinesWaiting = 10_000;
const maxLinesPerCommit = 500;
/** Somebody who reads on in the same call, or hears on, is told once in this time. */
const sameDeedMs = 300_000;
const maxDeedsRemembered = 10_000;
/** Strangers can fail as often as they like. At most this many of them are told in one second. */
const maxFailuresPerS = 20;
const linesPerRead = 1_000;

const linesTotal = counter(
  'trunkline_audit_lines_total',
  'Lines of the record of who did what, by outcome; `failures_untold` were failed sign-ins beyond the bound of a second.',
  ['outcome'],
);

export type AuditEntry = Pick<AuditTable, 'actor_kind' | 'actor_id' | 'actor' | 'action'> & {
  call_id?: string | undefined;
  detail?: string;
  address: string;
};

type WaitingLine = { entry: AuditEntry; at: number; done: (seq: number) => void; failed: (error: unknown) => void }; // prettier-ignore

type AuditOptions = { store: Store; clock: Clock; log: Logger; node: string };

/** The record of who did what: lines that are only ever added, each chained to the one before. */
export class Audit {
  readonly #options: AuditOptions;
  #waiting: WaitingLine[] = [];
  #isWriting = false;
  /** The latest time of each deed that may come in many requests. */
  readonly #latest = new Map<string, number>();
  #failures = { second: 0, told: 0 };

  constructor(options: AuditOptions) {
    this.#options = options;
    for (const outcome of ['kept', 'failures_untold']) linesTotal.inc({ outcome }, 0);
  }

  /** Keeps a line. It is durable when this resolves. */
  add(entry: AuditEntry): Promise<number> {
    if (this.#waiting.length >= maxLinesWaiting)
      throw new Problem(503, 'the record of who did what cannot be written: try again', {
        headers: { 'retry-after': '1' },
      });
    return new Promise((done, failed) => {
      this.#waiting.push({ entry, at: this.#options.clock.now(), done, failed });
      void this.#write();
    });
  }

  /** Keeps the deed before it is done. A deed that was refused afterwards gets a second line, which says so. */
  async deed({
    principal,
    method,
    route,
    callId,
    address,
    target,
  }: Deed): Promise<((status: number) => void) | undefined> {
    const action = deeds[`${method === 'HEAD' ? 'GET' : method} ${route}`];
    if (action === undefined || action === 'told' || principal.kind === 'process') return undefined;
    const isRead = ['GET', 'HEAD'].includes(method) || repeatedDeeds.has(`${method} ${route}`);
    // Nobody can be named on a machine where everybody may do everything. Changes are kept all the same.
    if (isRead && principal.kind === 'machine') return undefined;
    if (isRead && this.#isSame(`${principal.id} ${action} ${callId ?? target}`)) return undefined;
    const entry = { ...actorOf(principal), action, call_id: callId, detail: target, address };
    const seq = await this.add(entry);
    return (status) => {
      if (status < 400) return;
      const detail = `line ${seq}: answered with ${status}`;
      this.add({ ...entry, action: 'not done', detail }).catch(() => undefined); // the first line stands
    };
  }

  /** Keeps a failed sign-in. Nobody waits for it. */
  failed(address: string, who = ''): void {
    const second = Math.floor(this.#options.clock.monotonicMs() / 1_000);
    if (this.#failures.second !== second) this.#failures = { second, told: 0 };
    this.#failures.told++;
    if (this.#failures.told > maxFailuresPerS || this.#waiting.length >= maxLinesWaiting) {
      linesTotal.inc({ outcome: 'failures_untold' });
      return;
    }
    const entry = { actor_kind: 'stranger', actor_id: '', actor: who, action: 'failed to sign in', address }; // prettier-ignore
    this.add(entry).catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'a failed sign-in was not kept'),
    );
  }

  #isSame(deed: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const latest = this.#latest.get(deed);
    if (latest !== undefined && nowMs - latest < sameDeedMs) return true;
    this.#latest.delete(deed);
    for (const oldest of this.#latest.keys()) {
      if (this.#latest.size < maxDeedsRemembered) break;
      this.#latest.delete(oldest);
    }
    this.#latest.set(deed, nowMs);
    return false;
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, maxLinesPerCommit);
      this.#waiting = this.#waiting.slice(batch.length);
      try {
        const first = await this.#commit(batch);
        for (const [at, { done }] of batch.entries()) done(first + at);
        linesTotal.inc({ outcome: 'kept' }, batch.length);
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#isWriting = false;
  }

  /** The row of the last line is changed first. Its lock puts the lines of all nodes in one order. */
  #commit(batch: readonly WaitingLine[]): Promise<number> {
    const { store, node } = this.#options;
    return store.transaction(async (tx) => {
      const last = await tx
        .updateTable('people_state')
        .set((eb) => ({ revision: eb('revision', '+', batch.length) }))
        .where('name', '=', 'audit')
        .returning(['revision', 'hash'])
        .executeTakeFirstOrThrow();
      const first = last.revision - batch.length + 1;
      let { hash } = last;
      const lines = batch.map(({ entry, at }, index): AuditTable => {
        const { call_id = null, detail = '', ...rest } = entry;
        const line = { ...rest, call_id, detail, at, node, seq: first + index };
        hash = hashAfter(hash, line);
        return { ...line, hash };
      });
      await tx.insertInto('audit').values(lines).execute();
      await tx.updateTable('people_state').set({ hash }).where('name', '=', 'audit').execute();
      return first;
    });
  }

  /** Lines before this one, newest first. */
  page(filter: AuditFilter, before: number | undefined, limit: number): Promise<AuditTable[]> {
    let select = this.#options.store.db
      .selectFrom('audit')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit);
    if (before !== undefined) select = select.where('seq', '<', before);
    if (filter.call_id !== undefined) select = select.where('call_id', '=', filter.call_id);
    if (filter.action !== undefined) select = select.where('action', '=', filter.action);
    if (filter.actor !== undefined) {
      const { actor } = filter;
      select = select.where((eb) => eb.or([eb('actor', '=', actor), eb('actor_id', '=', actor)]));
    }
    return select.execute();
  }

  /** All lines in their order, some at a time. */
  async *lines(): AsyncGenerator<AuditTable[]> {
    for (let after = 0; ;) {
      const lines = await this.#options.store.db
        .selectFrom('audit')
        .selectAll()
        .where('seq', '>', after)
        .orderBy('seq')
        .limit(linesPerRead)
        .execute();
      if (lines.length === 0) return;
      yield lines;
      after = Number(lines.at(-1)?.seq);
    }
  }

  /** Follows the chain from its beginning to its end. */
  async verify(): Promise<AuditCheck> {
    // The end is read first. Lines that are added meanwhile lie beyond it.
    const end = await this.#link('audit');
    const start = await this.#link('audit-start');
    let before = start;
    const found = (broken: number, why: string): AuditCheck => ({
      ...{ whole: false, lines: before.seq - start.seq, broken_at: broken, why },
      ...{ first: start.seq + 1, last: end.seq },
    });
    for await (const lines of this.lines())
      for (const line of lines) {
        // A sweep may forget the oldest lines while the others are read.
        if (line.seq <= start.seq) continue;
        if (line.seq > end.seq) break;
        const why = whyBroken(before, line);
        if (why !== undefined) return found(before.seq + 1, why);
        before = { seq: line.seq, hash: line.hash };
      }
    if (before.seq !== end.seq) return found(before.seq + 1, `line ${before.seq + 1} is missing`);
    if (before.hash !== end.hash) return found(end.seq, `line ${end.seq} or its hash was changed`);
    const isEmpty = end.seq === start.seq;
    return {
      ...{ whole: true, lines: end.seq - start.seq, broken_at: null, why: null },
      ...{ first: isEmpty ? null : start.seq + 1, last: isEmpty ? null : end.seq },
    };
  }

  async #link(name: 'audit' | 'audit-start'): Promise<ChainLink> {
    const { revision, hash } = await this.#options.store.db
      .selectFrom('people_state')
      .select(['revision', 'hash'])
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    return { seq: revision, hash };
  }

  /** Forgets lines that are older than this, from the beginning of the chain. The rest can still be verified. */
  async forget(days: number): Promise<void> {
    const before = this.#options.clock.now() - days * 24 * 3_600_000;
    for (let isMore = true; isMore;)
      isMore = await this.#options.store.transaction(async (tx) => {
        // The same row as for new lines: two nodes forget one after another.
        await tx
          .updateTable('people_state')
          .set((eb) => ({ revision: eb.ref('revision') }))
          .where('name', '=', 'audit-start')
          .execute();
        const oldest = await tx
          .selectFrom('audit')
          .select(['seq', 'hash', 'at'])
          .orderBy('seq')
          .limit(linesPerRead)
          .execute();
        const end = oldest.findIndex(({ at }) => at >= before);
        const old = end < 0 ? oldest : oldest.slice(0, end);
        const last = old.at(-1);
        if (last === undefined) return false;
        await tx.deleteFrom('audit').where('seq', '<=', last.seq).execute();
        await tx
          .updateTable('people_state')
          .set({ revision: last.seq, hash: last.hash })
          .where('name', '=', 'audit-start')
          .execute();
        return old.length === linesPerRead;
      });
  }
}

export type AuditFilter = {
  call_id?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
};

type Actor = Pick<AuditEntry, 'actor_kind' | 'actor_id' | 'actor'>;

export function actorOf({ kind, id, name }: Deed['principal']): Actor {
  return { actor_kind: kind, actor_id: id, actor: name };
}

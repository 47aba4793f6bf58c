import type { Transaction } from 'kysely';
import { within } from '../../lib/clock.ts';
import { every, type Loop, type Next } from '../../lib/every.ts';
import type { Database } from '../../store/schema.ts';
import { isInRecording } from '../records/incomplete.ts';
import { incompleteFrom } from '../events/call-rows.ts';
import { PassRows, type OrderedAgain, type PassRow } from './pass-rows.ts';
import { PassSteps, type PassOptions } from './pass-steps.ts';
import type { PassRedaction } from './revision.ts';
import { voicesOf } from './recorded-roles.ts';

/** At most this many rows of one round are deleted at the service at the same time. */
export const maxCleaningAtOnce = 2;
/** One request examines at most this many incomplete calls. The answer says where the next request continues. */
export const maxOrderedAtOnce = 1_000;
/** An erasure waits this long until its pass has stopped. A step is short, and an upload in progress is aborted. */
const leaveMs = 15_000;
const stopMs = 3_000;
/** An erasure that is not committed within this time has failed, and the pass continues. */
const leftMs = 60_000;
/**
 * A disk that has been away for this long is no longer waited for. The call then says that its recording is not
 * recognised again.
 */
const lostDiskMs = 3_600_000;
const lookMs = { first: 500, least: 500, most: 30_000, afterTrouble: 5_000 };

type Running = { row: PassRow; leave: AbortController; done: Promise<void> };

/**
 * Recognises recordings of ended calls a second time with more care. This class decides which recordings are next and
 * how many at once. All state is in rows, so a start continues where a crash stopped the process.
 */
export class SecondPasses {
  readonly #options: PassOptions;
  readonly #rows: PassRows;
  readonly #steps: PassSteps;
  readonly #running = new Map<string, Running>();
  /** Calls that are being erased. No pass of theirs is started. */
  readonly #left = new Set<string>();
  #quietUntilMs = 0;
  #looks: Loop | undefined;
  #isStopped = false;

  constructor(options: PassOptions) {
    this.#options = options;
    this.#rows = new PassRows(options.store, options.node);
    this.#steps = new PassSteps(options, this.#rows);
  }

  start(): void {
    const { clock, log } = this.#options;
    this.#looks = every(clock, lookMs.most, () => this.#look(), {
      firstMs: lookMs.first,
      failed: (error) => {
        log.warn({ err: error }, 'second passes could not be read; tried again');
        return { inMs: lookMs.afterTrouble };
      },
    });
  }

  /** Runs in the commit of the call's summary. The call's own redaction settings are stored with it. */
  async order(tx: Transaction<Database>, callId: string): Promise<void> {
    const { config, clock } = this.#options;
    if (config.secondPass === 'off') return;
    const { isMixed } = await voicesOf(tx, callId);
    if (config.secondPass === 'auto' && !isMixed) return;
    await this.#rows.order(tx, callId, this.#redaction, clock.now());
  }

  /**
   * Orders a pass because a person asked for it, whatever the setting says. The present redaction settings apply to
   * its result.
   */
  async orderAgain(callId: string): Promise<OrderedAgain> {
    const { store, clock } = this.#options;
    const outcome = await store.transaction((tx) =>
      this.#rows.orderAgain(tx, callId, this.#redaction, clock.now()),
    );
    if (outcome === 'ordered') this.wake();
    return outcome;
  }

  /**
   * Orders a pass for every ended call before `before` whose missing words are in its recording, newest first. `next`
   * is where the next request continues.
   */
  async orderAllAgain(
    before: string | undefined,
  ): Promise<{ counts: Record<OrderedAgain, number>; next: string | null }> {
    const counts = { ordered: 0, already: 0, 'no-recording': 0 };
    let incompletes = this.#options.store.db
      .selectFrom('calls')
      .select(['id', 'incomplete'])
      .where('incomplete', 'is not', null);
    if (before !== undefined) incompletes = incompletes.where('id', '<', before);
    const rows = await incompletes.orderBy('id', 'desc').limit(maxOrderedAtOnce).execute();
    for (const { id, incomplete } of rows)
      if (incompleteFrom(incomplete)?.causes.some(({ cause }) => isInRecording(cause)) === true)
        counts[await this.orderAgain(id)]++;
    const last = rows.length < maxOrderedAtOnce ? undefined : rows.at(-1);
    return { counts, next: last?.id ?? null };
  }

  get #redaction(): PassRedaction {
    const { config } = this.#options;
    return { types: [...config.redactEntities], form: config.redactForm };
  }

  /** `silentMs`: the time since the node's last sign of life. */
  async takeOver(lost: readonly { node: string; silentMs: number }[]): Promise<void> {
    const patienceMs = Math.min(lostDiskMs, this.#options.config.secondPassWithinMs);
    const names = lost.map(({ node }) => node);
    const gone = lost.filter(({ silentMs }) => silentMs > patienceMs).map(({ node }) => node);
    const taken = await this.#rows.takeOver(names, gone);
    if (taken === 0) return;
    this.#options.log.warn({ passes: taken }, 'second passes of a lost node go on here');
    this.wake();
  }

  /**
   * Hands passes over while this node shuts down, which may take hours. Passes that do not need this node's disk
   * continue at the other node. The others end with the process, or are taken over when it is gone.
   */
  async handOver(to: string): Promise<void> {
    const given = new Set(await this.#rows.handOver(to));
    for (const { row, leave } of this.#running.values()) if (given.has(row.id)) leave.abort();
    if (given.size > 0)
      this.#options.log.info({ passes: given.size, node: to }, 'second passes were handed over');
  }

  wake(): void {
    this.#looks?.wake();
  }

  /**
   * Stops the pass of a call. Resolves when nothing of the call is being sent any more, and everything that was sent is
   * noted in its row.
   */
  async leave(callId: string): Promise<void> {
    // The commit of the erasure follows. Until then the row is unchanged and must not be started again.
    this.#left.add(callId);
    this.#options.clock.after(leftMs, () => this.#left.delete(callId));
    for (const { row, leave, done } of [...this.#running.values()]) {
      if (row.call_id !== callId) continue;
      leave.abort();
      await within(this.#options.clock, leaveMs, done);
    }
  }

  /** Runs in the commit of an erasure. */
  async erase(tx: Transaction<Database>, callId: string): Promise<void> {
    await this.#rows.erase(tx, callId);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const looked = this.#looks?.stop();
    for (const { leave } of this.#running.values()) leave.abort();
    await looked;
    const all = Promise.all([...this.#running.values()].map(({ done }) => done));
    await within(this.#options.clock, stopMs, all);
  }

  async #look(): Promise<Next> {
    const { clock, config } = this.#options;
    const now = clock.now();
    for (const row of await this.#rows.due(['uploaded', 'reading'], now, 64)) this.#run(row);
    for (const row of await this.#rows.due(['cleaning'], now, 16))
      if (this.#countOf('cleaning') < maxCleaningAtOnce) this.#run(row);
    const begun = new Set(await this.#rows.begun());
    for (const { row } of this.#running.values()) if (row.state !== 'cleaning') begun.add(row.id);
    let room = config.secondPassesAtOnce - begun.size;
    if (room > 0 && clock.monotonicMs() >= this.#quietUntilMs)
      // The list includes rows that are being uploaded.
      for (const row of await this.#rows.due(['waiting'], now, room + this.#running.size))
        if (room > 0 && this.#run(row)) room--;
    const next = await this.#rows.nextDueAt();
    const againMs = next === undefined ? lookMs.most : next - clock.now();
    return { inMs: Math.min(lookMs.most, Math.max(lookMs.least, againMs)) };
  }

  #countOf(state: PassRow['state']): number {
    return [...this.#running.values()].filter(({ row }) => row.state === state).length;
  }

  #run(row: PassRow): boolean {
    if (this.#isStopped || this.#running.has(row.id)) return false;
    if (row.call_id !== null && this.#left.has(row.call_id)) return false;
    const leave = new AbortController();
    const done = this.#take(row, leave.signal).then((againMs) => {
      this.#running.delete(row.id);
      this.#looks?.wake(againMs);
    });
    this.#running.set(row.id, { row, leave, done });
    return true;
  }

  /** A bug of ours, or a store that is unreachable, must end neither the process nor other passes. */
  async #take(listed: PassRow, signal: AbortSignal): Promise<number> {
    const { clock, log } = this.#options;
    let row = listed;
    try {
      const current = await this.#rows.current(listed.id, clock.now());
      if (current === undefined || signal.aborted) return 0;
      row = current;
      const putOffMs = await this.#steps.take(row, signal);
      // A delay of one recording also delays the next, because the reason is a service that is busy or unreachable.
      if (putOffMs !== undefined) this.#quietUntilMs = clock.monotonicMs() + putOffMs;
      return 0;
    } catch (error) {
      if (!this.#isStopped) log.error({ err: error, passId: row.id }, 'a second pass failed');
      const due_at = clock.now() + 60_000;
      await this.#rows.change(row, { due_at, tries: row.tries + 1 }).catch(() => undefined);
      return lookMs.afterTrouble;
    }
  }
}

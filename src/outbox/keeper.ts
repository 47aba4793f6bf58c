import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Endpoint, OutboxConfig } from './config.ts';
import { parkedCalls, parkedTotal, waitingCalls } from './metrics.ts';
import { longestDelayMs } from './schedule.ts';

export type KeeperOptions = {
  config: OutboxConfig;
  store: Store;
  clock: Clock;
  log: Logger;
  endpoints: readonly Endpoint[];
};

const tickMs = 1_000;
const countEveryMs = 15_000;
const sweepEveryMs = 60_000;
/** A clock that moved by more than this beside the one that never jumps was set by somebody. */
const jumpMs = 2_000;
/** While an endpoint is only probed, its calls get this much longer than the budget before they are parked. */
const graceMs = 3_600_000;
const day = 86_400_000;
const purgeAtOnce = 500;

/** Keeps the outbox's house: claims of a dead process, jumps of the clock, calls past their budget, old rows. */
export class Keeper {
  readonly #options: KeeperOptions;
  onDue: () => void = () => undefined;
  parked = 0;
  #wallMs = 0;
  #monotonicMs = 0;
  #countAtMs = 0;
  #sweepAtMs = 0;
  #cancel: () => void = () => undefined;
  #stopped = false;
  #tick: Promise<void> | undefined;
  #warned = new Set<string>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store, clock } = this.#options;
    if (store.kind === 'sqlite') await this.#freeClaims();
    await this.#mendFuture();
    this.#wallMs = await store.databaseNow();
    this.#monotonicMs = clock.monotonicMs();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#tick;
  }

  countSoon(): void {
    this.#countAtMs = 0;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancel = this.#options.clock.after(tickMs, () => {
      this.#tick = this.#work()
        .catch((error: unknown) =>
          this.#options.log.warn({ err: error }, 'the outbox could not tidy up'),
        )
        .finally(() => this.#schedule());
    });
  }

  async #work(): Promise<void> {
    const { clock, store } = this.#options;
    if (store.kind === 'sqlite') await this.#followClock();
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#countAtMs) {
      this.#countAtMs = nowMs + countEveryMs;
      await this.#count();
    }
    if (nowMs >= this.#sweepAtMs) {
      this.#sweepAtMs = nowMs + sweepEveryMs;
      await this.#parkOverdue();
      await this.#purge();
    }
  }

  /** One process owns the file: whoever held a claim is gone. */
  async #freeClaims(): Promise<void> {
    await this.#options.store.db
      .updateTable('lanes')
      .set({ claim_id: null, claim_until: null })
      .where('claim_id', 'is not', null)
      .execute();
  }

  /** Nothing waits longer than the longest step of the schedule: such a time comes from a wrong clock. */
  async #mendFuture(): Promise<void> {
    const now = await this.#options.store.databaseNow();
    await this.#options.store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now + longestDelayMs)
      .execute();
  }

  /** On SQLite the database's clock is this machine's: when it is set, every waiting time moves with it. */
  async #followClock(): Promise<void> {
    const { store, clock, log } = this.#options;
    const wallMs = await store.databaseNow();
    const monotonicMs = clock.monotonicMs();
    const jumpedMs = Math.round(wallMs - this.#wallMs - (monotonicMs - this.#monotonicMs));
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    if (Math.abs(jumpedMs) < jumpMs) return;
    log.warn({ jumpedMs }, 'the clock was set: waiting deliveries keep their waits');
    await sql`update lanes set next_attempt_at = next_attempt_at + ${jumpedMs},
      claim_until = claim_until + ${jumpedMs}, first_attempt_at = first_attempt_at + ${jumpedMs}
      where next_attempt_at is not null`.execute(store.db);
    this.onDue();
  }

  async #count(): Promise<void> {
    const rows = await this.#options.store.db
      .selectFrom('lanes')
      .select((eb) => [
        'endpoint',
        eb.fn.count('parked_at').as('parked'),
        eb.fn.count('next_attempt_at').as('waiting'),
      ])
      .where((eb) =>
        eb.or([eb('parked_at', 'is not', null), eb('next_attempt_at', 'is not', null)]),
      )
      .groupBy('endpoint')
      .execute();
    parkedCalls.reset();
    waitingCalls.reset();
    this.parked = 0;
    for (const { endpoint, parked, waiting } of rows) {
      this.parked += Number(parked);
      parkedCalls.set({ endpoint }, Number(parked));
      waitingCalls.set({ endpoint }, Number(waiting));
    }
  }

  /** Calls that an absent endpoint has held for longer than the budget wait for an operator instead. */
  async #parkOverdue(): Promise<void> {
    const { store, config, log } = this.#options;
    const now = await store.databaseNow();
    const reason = `the endpoint did not take it for ${Math.round(config.retryBudgetMs / 3_600_000)} h`;
    const parked = await store.transaction(async (tx) => {
      const lanes = await tx
        .updateTable('lanes')
        .set({
          next_attempt_at: null,
          first_attempt_at: null,
          held_by_endpoint: 0,
          parked_at: now,
          parked_reason: reason,
        })
        .where('first_attempt_at', '<', now - config.retryBudgetMs - graceMs)
        .where('next_attempt_at', 'is not', null)
        .where('claim_id', 'is', null)
        .returning(['endpoint', 'call_id'])
        .execute();
      for (const lane of lanes)
        await tx
          .updateTable('deliveries')
          .set({ state: 'parked' })
          .where('endpoint', '=', lane.endpoint)
          .where('call_id', '=', lane.call_id)
          .where('state', '=', 'waiting')
          .execute();
      return lanes;
    });
    for (const lane of parked) parkedTotal.inc({ endpoint: lane.endpoint });
    if (parked.length > 0) {
      log.error(
        { calls: parked.length, reason },
        'calls parked: their events wait for an operator',
      );
      this.countSoon();
    }
  }

  /** Old events go: delivered ones after their time, others after a longer one and a notice the day before. */
  async #purge(): Promise<void> {
    const { store, config, log } = this.#options;
    const now = await store.databaseNow();
    const gone = await this.#purgeBefore(now - config.retainDeliveredMs, true);
    const dropped = await this.#purgeBefore(now - config.retainUndeliveredMs, false);
    if (dropped > 0)
      log.error(
        { events: dropped },
        'events that never arrived are past their retention and were removed',
      );
    if (gone + dropped > 0) await store.forgetDeleted();
    await this.#warnBefore(now - config.retainUndeliveredMs + day);
  }

  async #purgeBefore(beforeMs: number, settledOnly: boolean): Promise<number> {
    const { store } = this.#options;
    let total = 0;
    for (;;) {
      const events = await store.db
        .selectFrom('events')
        .select(['id', 'call_id'])
        .where('occurred_at', '<', beforeMs)
        .$if(settledOnly, (query) =>
          query.where((eb) =>
            eb.not(
              eb.exists(
                eb
                  .selectFrom('deliveries')
                  .select('deliveries.event_id')
                  .whereRef('deliveries.event_id', '=', 'events.id')
                  .where('deliveries.state', 'in', ['waiting', 'parked']),
              ),
            ),
          ),
        )
        .orderBy('occurred_at')
        .limit(purgeAtOnce)
        .execute();
      if (events.length === 0) return total;
      const ids = events.map((event) => event.id);
      await store.transaction(async (tx) => {
        await tx.deleteFrom('deliveries').where('event_id', 'in', ids).execute();
        await tx.deleteFrom('events').where('id', 'in', ids).execute();
        // A lane of a call without events has nothing left to order.
        await sql`delete from lanes where call_id in (${sql.join(events.map((event) => event.call_id))})
          and claim_id is null and not exists (select 1 from events where events.call_id = lanes.call_id)`.execute(
          tx,
        );
      });
      total += events.length;
      if (events.length < purgeAtOnce || this.#stopped) return total;
    }
  }

  async #warnBefore(beforeMs: number): Promise<void> {
    const rows = await this.#options.store.db
      .selectFrom('deliveries')
      .innerJoin('events', 'events.id', 'deliveries.event_id')
      .select('deliveries.call_id')
      .distinct()
      .where('deliveries.state', 'in', ['waiting', 'parked'])
      .where('events.occurred_at', '<', beforeMs)
      .limit(1_000)
      .execute();
    const fresh = rows.filter((row) => !this.#warned.has(row.call_id));
    if (fresh.length === 0) return;
    this.#warned = new Set(rows.map((row) => row.call_id));
    this.#options.log.error(
      { calls: fresh.length },
      'undelivered events will be removed within a day: see trunkline deliveries --state parked',
    );
  }
}

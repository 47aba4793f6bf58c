import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { OutboxConfig } from './config.ts';
import { parkedCalls, parkedTotal, waitingCalls } from './metrics.ts';
import { longestDelayMs } from './retry-rules.ts';
import type { OutboxTables } from './tables.ts';

export type HousekeepingOptions = {
  config: OutboxConfig;
  tables: OutboxTables;
  /** True where no other process uses the database: SQLite. Its clock is then this machine's. */
  ownsDatabase: boolean;
  clock: Clock;
  log: Logger;
};

const tickMs = 1_000;
const countEveryMs = 15_000;
const sweepEveryMs = 60_000;
/** A wall clock that moved by more than this beside the monotonic one was set by somebody. */
const jumpMs = 2_000;
/** While an endpoint is only probed, its calls get this much longer than the budget before they are parked. */
const graceMs = 3_600_000;
const day = 86_400_000;
const purgeAtOnce = 500;
const parkAtOnce = 200;
/** Calls whose coming removal is remembered as told. */
export const maxCallsWarned = 1_000;

/** What has to be done now and then: claims of a dead process, jumps of the clock, calls past their budget, old rows. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
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

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { tables, ownsDatabase, clock } = this.#options;
    if (ownsDatabase) await tables.freeAllClaims();
    await tables.wakeBeyond(longestDelayMs);
    this.#wallMs = await tables.now();
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
    const { clock, ownsDatabase } = this.#options;
    if (ownsDatabase) await this.#followClock();
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

  /** On SQLite the database's clock is this machine's: when it is set, every waiting time moves with it. */
  async #followClock(): Promise<void> {
    const { tables, clock, log } = this.#options;
    const wallMs = await tables.now();
    const monotonicMs = clock.monotonicMs();
    const jumpedMs = Math.round(wallMs - this.#wallMs - (monotonicMs - this.#monotonicMs));
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    if (Math.abs(jumpedMs) < jumpMs) return;
    log.warn({ jumpedMs }, 'the clock was set: waiting deliveries keep their waits');
    await tables.shiftWaits(jumpedMs);
    this.onDue();
  }

  async #count(): Promise<void> {
    const counts = await this.#options.tables.countLanes();
    parkedCalls.reset();
    waitingCalls.reset();
    this.parked = 0;
    for (const { endpoint, parked, waiting } of counts) {
      this.parked += parked;
      parkedCalls.set({ endpoint }, parked);
      waitingCalls.set({ endpoint }, waiting);
    }
  }

  /** Calls that an absent endpoint has held for longer than the budget wait for an operator instead. */
  async #parkOverdue(): Promise<void> {
    const { tables, config, log } = this.#options;
    const failingSince = (await tables.now()) - config.retryBudgetMs - graceMs;
    const reason = `the endpoint did not take it for ${Math.round(config.retryBudgetMs / 3_600_000)} h`;
    let calls = 0;
    for (let isMore = true; isMore && !this.#stopped;) {
      const endpoints = await tables.parkOverdue(failingSince, reason, parkAtOnce);
      for (const endpoint of endpoints) parkedTotal.inc({ endpoint });
      calls += endpoints.length;
      isMore = endpoints.length === parkAtOnce;
    }
    if (calls === 0) return;
    log.error({ calls, reason }, 'calls parked: their events wait for an operator');
    this.countSoon();
  }

  /** Old events go: delivered ones after their time, others after a longer time and a notice the day before. */
  async #purge(): Promise<void> {
    const { tables, config, log } = this.#options;
    const now = await tables.now();
    const gone = await this.#purgeBefore(now - config.retainDeliveredMs, true);
    const dropped = await this.#purgeBefore(now - config.retainUndeliveredMs, false);
    if (dropped > 0)
      log.error(
        { events: dropped },
        'events that never arrived are past their retention and were removed',
      );
    if (gone + dropped > 0) await tables.forgetDeleted();
    await this.#warnBefore(now - config.retainUndeliveredMs + day);
  }

  async #purgeBefore(beforeMs: number, settledOnly: boolean): Promise<number> {
    let total = 0;
    for (;;) {
      const gone = await this.#options.tables.purge(beforeMs, settledOnly, purgeAtOnce);
      total += gone;
      if (gone < purgeAtOnce || this.#stopped) return total;
    }
  }

  async #warnBefore(beforeMs: number): Promise<void> {
    const calls = await this.#options.tables.undeliveredCalls(beforeMs, maxCallsWarned);
    const fresh = calls.filter((callId) => !this.#warned.has(callId));
    if (fresh.length === 0) return;
    this.#warned = new Set(calls);
    this.#options.log.error(
      { calls: fresh.length },
      'undelivered events will be removed within a day: see trunkline deliveries --state parked',
    );
  }
}

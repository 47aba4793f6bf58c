import { within, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { OutboxConfig } from './config.ts';
import { parkedTotal, showLanes } from './metrics.ts';
import { longestDelayMs } from './retry-rules.ts';
import type { OutboxTables } from './tables.ts';

type HousekeepingOptions = {
  config: OutboxConfig;
  tables: OutboxTables;
  /** True where no other process uses the database: SQLite. Its clock is then this machine's. */
  ownsDatabase: boolean;
  clock: Clock;
  log: Logger;
};

const tickMs = 1_000;
const countEveryMs = 5_000;
const sweepEveryMs = 60_000;
/** A wall clock that moved by more than this beside the monotonic one was set by somebody. */
const jumpMs = 2_000;
/** While an endpoint is only probed, its calls get this much longer than the budget before they are parked. */
const graceMs = 3_600_000;
const day = 86_400_000;
/** Events that one step of the purge removes: a commit of some milliseconds, and 500 in a second outpace any traffic. */
const maxPurgedPerStep = 500;
/** Calls that one step parks. */
const maxParkedPerStep = 200;
/** Calls whose coming removal is remembered as told. */
const maxCallsWarned = 1_000;

/** What has to be done now and then: claims of a dead process, jumps of the clock, calls past their budget, old rows. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  onDue: () => void = () => undefined;
  parked = 0;
  #wallMs = 0;
  #monotonicMs = 0;
  #countAtMs = 0;
  /** The first sweep is a second after the start, however short a process lives. */
  #sweepAtMs = 0;
  #purged = 0;
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

  /** Waits for the step under way, but not for a database that does not answer. */
  async stop(maxMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    if (this.#tick) await within(this.#options.clock, maxMs, this.#tick);
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
      const isMore = [await this.#parkOverdue(), await this.#purge()].includes(true);
      // A long backlog is done step by step, one each tick: other writes have their turn in between.
      this.#sweepAtMs = isMore ? nowMs : nowMs + sweepEveryMs;
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
    const { tables, clock } = this.#options;
    const lanes = await tables.countLanes();
    const now = await tables.now();
    const readAtMs = clock.monotonicMs();
    // Between two counts what waits grows older: the age is reckoned when it is asked for.
    showLanes(lanes, () => now + clock.monotonicMs() - readAtMs);
    this.parked = lanes.reduce((sum, { parked }) => sum + parked, 0);
  }

  /** Calls that an absent endpoint has held for longer than the budget wait for an operator. True when more are left. */
  async #parkOverdue(): Promise<boolean> {
    const { tables, config, log } = this.#options;
    const failingSince = (await tables.now()) - config.retryBudgetMs - graceMs;
    const reason = `the endpoint did not take it for ${Math.round(config.retryBudgetMs / 3_600_000)} h`;
    const endpoints = await tables.parkOverdue(failingSince, reason, maxParkedPerStep);
    for (const endpoint of endpoints) parkedTotal.inc({ endpoint });
    const calls = endpoints.length;
    if (calls === 0) return false;
    log.error({ calls, reason }, 'calls parked: their events wait for an operator');
    this.countSoon();
    return calls === maxParkedPerStep;
  }

  /**
   * One step of the purge: delivered events go after their time, others after a longer time and a notice the day
   * before. True when more are left.
   */
  async #purge(): Promise<boolean> {
    const { tables, config, log } = this.#options;
    const now = await tables.now();
    const gone = await tables.purge(now - config.retainDeliveredMs, true, maxPurgedPerStep);
    const dropped = await tables.purge(now - config.retainUndeliveredMs, false, maxPurgedPerStep);
    const leftovers = await tables.purgeLeftovers(maxPurgedPerStep);
    if (dropped > 0)
      log.error(
        { events: dropped },
        'events that never arrived are past their retention and were removed',
      );
    this.#purged += gone + dropped + leftovers;
    if (Math.max(gone, dropped, leftovers) === maxPurgedPerStep) return true;
    // Once per sweep, not per step: it cuts the database's log, and writes wait for that.
    if (this.#purged > 0) await tables.forgetDeleted();
    this.#purged = 0;
    await this.#warnBefore(now - config.retainUndeliveredMs + day);
    return false;
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

import { within, type Clock } from '../lib/clock.ts';
import { every, type Loop, type Next } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import { SettledTime } from '../lib/settled-time.ts';
import type { OutboxConfig } from './config.ts';
import { parkedTotal, purgedTotal, showLanes, showPurgeLag } from './metrics.ts';
import { longestDelayMs } from './retry-rules.ts';
import type { OutboxTables } from './tables.ts';
import { firstPlace, type EventPlace } from './upkeep-rows.ts';

type HousekeepingOptions = {
  config: OutboxConfig;
  tables: OutboxTables;
  /** True if no other process uses the database (SQLite). Its clock is then this machine's. */
  ownsDatabase: boolean;
  clock: Clock;
  log: Logger;
};

const tickMs = 1_000;
const countEveryMs = 5_000;
const sweepEveryMs = 60_000;
/** A wall clock that moves by more than this against the monotonic one was set by somebody. */
const jumpMs = 2_000;
/** While an endpoint is only probed, its calls get this much more time before they are parked. */
const graceMs = 3_600_000;
const day = 86_400_000;
/** Events per purge step. A commit takes some milliseconds, and less time if there is only one writer. */
const maxPurgedPerStep = { oneWriter: 500, many: 2_000 };
/**
 * Between two purge steps there is a pause of this many times the last step's duration. Other writes thus have the
 * database for most of the time, however slow it is.
 */
const restPerStep = 2;
/**
 * Up to this many old events that stay are examined again by each sweep. If there are more, they are examined rarely.
 */
const maxStayingLooked = 10_000;
const lookAgainMs = 3_600_000;
/** Calls parked per step. */
const maxParkedPerStep = 200;
/** At most this many calls are remembered whose coming removal was reported. */
const maxCallsWarned = 1_000;

/** The place that the purge has reached among expired events. */
type Walk = {
  place: EventPlace;
  beganMs: number;
  stayed: number;
  isMore: boolean;
  /** Time since the next events expired; 0 when the purge is finished. */
  lagMs: number;
};

const newWalk = (): Walk => ({
  place: firstPlace,
  beganMs: -Infinity,
  stayed: 0,
  isMore: false,
  lagMs: 0,
});

/** Regular work: claims of a dead process, jumps of the clock, calls past their budget, old rows. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  #settled: SettledTime;
  onDue: () => void = () => undefined;
  /** Called after the database's clock was set by `byMs` and every waiting time was moved with it. */
  onSet: (byMs: number) => void = () => undefined;
  parked = 0;
  /** Milliseconds by which the database's clock is ahead of the monotonic one, according to the stored times. */
  #aheadMs = 0;
  #moving: Promise<void> | undefined;
  #countAtMs = 0;
  /** The first sweep comes a second after the start, so that even a short-lived process does one. */
  #sweepAtMs = 0;
  readonly #walks = { settled: newWalk(), undelivered: newWalk() };
  #purged = 0;
  #ticks: Loop | undefined;
  /** Waits to be woken by a sweep, then goes step after step until nothing is due. */
  #purges: Loop | undefined;
  #isPurging = false;
  #warned = new Set<string>();

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#settled = new SettledTime(options.clock);
  }

  async start(): Promise<void> {
    const { tables, ownsDatabase, clock } = this.#options;
    if (ownsDatabase) await tables.upkeep.freeAllClaims();
    await tables.upkeep.wakeBeyond(longestDelayMs);
    this.#settled = new SettledTime(clock, await tables.time.now());
    if (ownsDatabase) {
      this.#aheadMs = clock.now() - clock.monotonicMs();
      tables.time.beforeNow = () => this.#followClock();
    }
    const { log } = this.#options;
    this.#purges = every(clock, Infinity, () => this.#purgeStep(), {
      failed: (error) => {
        this.#isPurging = false;
        log.warn({ err: error }, 'old events could not be removed; tried again');
      },
    });
    this.#ticks = every(clock, tickMs, () => this.#work(), {
      failed: (error) => log.warn({ err: error }, 'the outbox could not tidy up'),
    });
  }

  /** Waits for the step in progress, but not for a database that does not answer. */
  async stop(maxMs: number): Promise<void> {
    const working = Promise.all([this.#ticks?.stop(), this.#purges?.stop()]);
    await within(this.#options.clock, maxMs, working);
  }

  countSoon(): void {
    this.#countAtMs = 0;
  }

  async #work(): Promise<void> {
    const { clock, ownsDatabase, tables } = this.#options;
    if (ownsDatabase) await this.#followClock();
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#countAtMs) {
      this.#countAtMs = nowMs + countEveryMs;
      if (ownsDatabase && (await tables.upkeep.wakeUntried())) this.onDue();
      await this.#count();
    }
    if (nowMs >= this.#sweepAtMs) {
      const isMore = await this.#parkOverdue();
      // A long backlog takes one step per tick, so that other writes get their turn in between.
      this.#sweepAtMs = isMore ? nowMs : nowMs + sweepEveryMs;
      if (!isMore && !this.#isPurging) {
        this.#isPurging = true;
        this.#purges?.wake();
      }
    }
  }

  /**
   * On SQLite the database's clock is this machine's. When it is set, every waiting time is moved with it. A reader
   * of the time waits until that is done: a time read from the new clock and stored before the move would be moved
   * too, and an event could wait for as long as the machine had slept.
   */
  async #followClock(): Promise<void> {
    const { clock } = this.#options;
    // The clock is read again after each move, because it may have been set once more meanwhile.
    for (;;) {
      const setMs = Math.round(clock.now() - clock.monotonicMs() - this.#aheadMs);
      if (Math.abs(setMs) >= jumpMs)
        await (this.#moving ??= this.#move(setMs).finally(() => (this.#moving = undefined)));
      // Clocks drift. Waiting times are off by that small amount, and later times are not.
      else return void (this.#aheadMs += setMs);
    }
  }

  /**
   * If the move fails, no time is stored by the new clock: readers that wait for it fail, and the next reader tries
   * the move again.
   */
  async #move(byMs: number): Promise<void> {
    const { tables, log } = this.#options;
    log.warn({ jumpedMs: byMs }, 'the clock was set: waiting deliveries keep their waits');
    await tables.upkeep.shiftWaits(byMs);
    this.#aheadMs += byMs;
    this.onSet(byMs);
    this.onDue();
  }

  async #count(): Promise<void> {
    const { tables, clock } = this.#options;
    const lanes = await tables.upkeep.countLanes();
    const now = await tables.time.now();
    const readAtMs = clock.monotonicMs();
    // Between two counts the age grows, so it is computed when it is asked for.
    showLanes(lanes, () => now + clock.monotonicMs() - readAtMs);
    this.parked = lanes.reduce((sum, { parked }) => sum + parked, 0);
  }

  /** Parks calls that an unreachable endpoint has held for longer than the budget. Returns true if more are left. */
  async #parkOverdue(): Promise<boolean> {
    const { tables, config, log } = this.#options;
    const failingSince = (await tables.time.now()) - config.retryBudgetMs - graceMs;
    const reason = `the endpoint did not take it for ${Math.round(config.retryBudgetMs / 3_600_000)} h`;
    const endpoints = await tables.claims.parkOverdue(failingSince, reason, maxParkedPerStep);
    for (const endpoint of endpoints) parkedTotal.inc({ endpoint });
    const calls = endpoints.length;
    if (calls === 0) return false;
    log.error({ calls, reason }, 'calls parked: their events wait for an operator');
    this.countSoon();
    return calls === maxParkedPerStep;
  }

  async #purgeStep(): Promise<Next> {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    this.#isPurging = await this.#purge();
    if (this.#isPurging)
      return { inMs: Math.max(1, (clock.monotonicMs() - beganMs) * restPerStep) };
  }

  /**
   * One step of the purge. Delivered events are removed after their time, others later and after a notice on the day
   * before. Returns true if more are left.
   */
  async #purge(): Promise<boolean> {
    const { tables, config, log } = this.#options;
    const now = this.#settled.now(await tables.time.now());
    const { settled, undelivered } = this.#walks;
    const gone = await this.#step(settled, now - config.retainDeliveredMs, true);
    const dropped = await this.#step(undelivered, now - config.retainUndeliveredMs, false);
    const leftovers = await tables.upkeep.purgeLeftovers(this.#stepSize);
    if (dropped > 0)
      log.error(
        { events: dropped },
        'events that never arrived are past their retention and were removed',
      );
    this.#purged += gone + dropped + leftovers;
    purgedTotal.inc(gone + dropped);
    showPurgeLag(Math.max(settled.lagMs, undelivered.lagMs));
    if (settled.isMore || undelivered.isMore || leftovers === this.#stepSize) return true;
    // This runs once per sweep and not per step: it truncates the database's log, and writes wait for that.
    if (this.#purged > 0) await tables.upkeep.forgetDeleted();
    this.#purged = 0;
    await this.#warnBefore(now - config.retainUndeliveredMs + day);
    return false;
  }

  get #stepSize(): number {
    return this.#options.ownsDatabase ? maxPurgedPerStep.oneWriter : maxPurgedPerStep.many;
  }

  async #step(walk: Walk, beforeMs: number, settledOnly: boolean): Promise<number> {
    const { tables, clock } = this.#options;
    const limit = this.#stepSize;
    const nowMs = clock.monotonicMs();
    if (!walk.isMore && (walk.stayed <= maxStayingLooked || nowMs - walk.beganMs >= lookAgainMs))
      Object.assign(walk, newWalk(), { beganMs: nowMs });
    const step = await tables.upkeep.purge(beforeMs, settledOnly, limit, walk.place);
    walk.place = step.place;
    walk.stayed += step.stayed;
    walk.isMore = step.looked === limit;
    walk.lagMs = walk.isMore ? beforeMs - step.place.occurredAt : 0;
    return step.removed;
  }

  async #warnBefore(beforeMs: number): Promise<void> {
    const calls = await this.#options.tables.upkeep.undeliveredCalls(beforeMs, maxCallsWarned);
    const fresh = calls.filter((callId) => !this.#warned.has(callId));
    if (fresh.length === 0) return;
    this.#warned = new Set(calls);
    this.#options.log.error(
      { calls: fresh.length },
      'undelivered events will be removed within a day: see trunkline deliveries --state parked',
    );
  }
}

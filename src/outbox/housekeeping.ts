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
/** Events that one step of the purge looks at: a commit of some milliseconds, shorter where there is one writer alone. */
const maxPurgedPerStep = { oneWriter: 500, many: 2_000 };
/**
 * While more is due, the purge rests for so many times as long as its last step took: other writes have the database for
 * the larger part of the time, however slow it is, and a backlog goes steadily.
 */
const restPerStep = 2;
/** Old events that stay are looked at again by each sweep while they are so few; beyond, once in so long. */
const maxStayingLooked = 10_000;
const lookAgainMs = 3_600_000;
/** Calls that one step parks. */
const maxParkedPerStep = 200;
/** Calls whose coming removal is remembered as told. */
const maxCallsWarned = 1_000;

/** The place that the purge has reached among the events that are past their time. */
type Walk = {
  place: EventPlace;
  beganMs: number;
  stayed: number;
  isMore: boolean;
  /** By how much the events that it comes to next are past their time; 0 when it is through. */
  lagMs: number;
};

const newWalk = (): Walk => ({
  place: firstPlace,
  beganMs: -Infinity,
  stayed: 0,
  isMore: false,
  lagMs: 0,
});

/** Work that is due now and then: claims of a dead process, jumps of the clock, calls past their budget, old rows. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  #settled: SettledTime;
  onDue: () => void = () => undefined;
  /** The database's clock was set by so much, and every waiting time was moved with it. */
  onSet: (byMs: number) => void = () => undefined;
  parked = 0;
  /** By how much the database's clock is ahead of the monotonic one, as far as the waiting times know. */
  #aheadMs = 0;
  #moving: Promise<void> | undefined;
  #countAtMs = 0;
  /** The first sweep is a second after the start, however short a process lives. */
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

  /** Waits for the step under way, but not for a database that does not answer. */
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
      // A long backlog is done step by step, one each tick: other writes have their turn in between.
      this.#sweepAtMs = isMore ? nowMs : nowMs + sweepEveryMs;
      if (!isMore && !this.#isPurging) {
        this.#isPurging = true;
        this.#purges?.wake();
      }
    }
  }

  /**
   * On SQLite the database's clock is this machine's: when it is set, every waiting time moves with it. Whoever asks for
   * the time waits for that: a time that was read on the new clock and stored before the move would be moved too, and an
   * event would wait for as long as a machine had slept.
   */
  async #followClock(): Promise<void> {
    const { clock } = this.#options;
    // Asked again after each move: the clock may have been set once more under it.
    for (;;) {
      const setMs = Math.round(clock.now() - clock.monotonicMs() - this.#aheadMs);
      if (Math.abs(setMs) >= jumpMs)
        await (this.#moving ??= this.#move(setMs).finally(() => (this.#moving = undefined)));
      // Two clocks drift: what waits is off by that little, and what is stored from now on is not.
      else return void (this.#aheadMs += setMs);
    }
  }

  /** If the move fails nothing is stored on the new clock: whoever waits for it fails, and the next asks for it again. */
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
    // Between two counts what waits grows older: the age is reckoned when it is asked for.
    showLanes(lanes, () => now + clock.monotonicMs() - readAtMs);
    this.parked = lanes.reduce((sum, { parked }) => sum + parked, 0);
  }

  /** Calls that an absent endpoint has held for longer than the budget wait for an operator. True when more are left. */
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
   * One step of the purge: delivered events go after their time, others after a longer time and a notice the day
   * before. True when more are left.
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
    // Once per sweep, not per step: it cuts the database's log, and writes wait for that.
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

import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import type { Breaker } from './breaker.ts';
import type { Endpoint } from './config.ts';
import type { AttemptRow, Claim, Item, Lanes } from './lanes.ts';
import { makeMarker } from './marker.ts';
import { attemptsTotal, attemptSeconds, delaySeconds, parkedTotal } from './metrics.ts';
import { pastAttempts } from './past.ts';
import { nextAttempt, type Rules } from './schedule.ts';
import type { Sender, Sent } from './sender.ts';
import type { Verdict } from './verdict.ts';

export type CourierOptions = {
  endpoint: Endpoint;
  lanes: Lanes;
  store: Store;
  sender: Sender;
  breaker: Breaker;
  rules: Rules;
  clock: Clock;
  random: () => number;
  log: Logger;
  onGone: (reason: string) => Promise<void>;
  onRecovered: () => Promise<void>;
  onParked: (callId: string, reason: string) => void;
};

/** Events of one call per claim: a long backlog must not keep other calls from their turn. */
const itemsPerClaim = 64;
const headsPerRead = 16;
/** An attempt is begun only when this much of the lease is left. */
const leaseReserveMs = 1_000;
const historyKept = 20;

/** Delivers one claimed call in order, until it is empty, fails, loses its lease or is told to stop. */
export class Courier {
  readonly claim: Claim;
  readonly #options: CourierOptions;
  readonly #stopped: AbortSignal;
  /** Ends the request under way when the claim is lost or the time to drain is over. */
  readonly #abort = new AbortController();
  /** On the clock that never jumps; moved by each renewal. */
  leaseEndsMs: number;
  readonly #claimedMs: number;

  constructor(claim: Claim, leaseEndsMs: number, stopped: AbortSignal, options: CourierOptions) {
    this.claim = claim;
    this.leaseEndsMs = leaseEndsMs;
    this.#claimedMs = options.clock.monotonicMs();
    this.#stopped = stopped;
    this.#options = options;
  }

  /** Somebody else has the lane, or nobody can tell: nothing more is sent. */
  abort(): void {
    this.#abort.abort();
  }

  /** True when the lane is due again at once. */
  async run(): Promise<boolean> {
    const { lanes } = this.#options;
    for (let done = 0; ; this.claim.wakes = await lanes.wakes(this.claim)) {
      // The claim told the wake count, so what comes from now on is seen when the lane is given back.
      const items = await lanes.heads(this.claim, headsPerRead);
      for (const item of items) {
        if (this.#abort.signal.aborted) return false;
        if (done++ >= itemsPerClaim || this.#stopped.aborted)
          return lanes.release(this.claim, true);
        const outcome = await this.#deliver(item);
        if (outcome !== 'delivered') return outcome === 'again';
      }
      if (items.length < headsPerRead) return lanes.release(this.claim, false);
    }
  }

  async #deliver(item: Item): Promise<'delivered' | 'held' | 'again'> {
    const { endpoint, sender, clock } = this.#options;
    const deadlineMs = Math.min(
      endpoint.timeoutMs,
      this.leaseEndsMs - clock.monotonicMs() - leaseReserveMs,
    );
    if (deadlineMs <= 0) return 'held'; // the lease is as good as lost: whoever has it next goes on
    const startedMs = clock.monotonicMs();
    const { verdict, progress } = await sender
      .send(item, deadlineMs, clock.now(), this.#abort.signal)
      .catch((error: unknown) => unsendable(item, error));
    if (this.#abort.signal.aborted) return 'held';
    const tookMs = clock.monotonicMs() - startedMs;
    attemptSeconds.observe({ endpoint: endpoint.name }, tookMs / 1000);
    attemptsTotal.inc({ endpoint: endpoint.name, outcome: outcomeOf(verdict) });
    if (verdict.kind === 'delivered')
      return this.#delivered(item, attemptRow(item, verdict, this.#about(), tookMs));
    // From here on a schedule is kept: its times are asked for, not reckoned.
    const now = await this.#options.store.databaseNow();
    const attempt = attemptRow(item, verdict, now, tookMs);
    if (verdict.kind === 'gone') return this.#gone(item, attempt, verdict.reason, progress);
    return this.#failed(item, attempt, verdict, progress);
  }

  /** The database's time as the claim told it, moved on: good enough for what people read, and no question each time. */
  #about(): number {
    return Math.round(this.claim.claimedAt + this.#options.clock.monotonicMs() - this.#claimedMs);
  }

  async #delivered(item: Item, attempt: AttemptRow): Promise<'delivered' | 'held'> {
    const { lanes, breaker, endpoint, clock } = this.#options;
    const held = await lanes.delivered(this.claim, item, attempt);
    this.claim.firstAttemptAt = null;
    delaySeconds.observe(
      { endpoint: endpoint.name },
      Math.max(0, clock.now() - item.occurredAt) / 1000,
    );
    if (breaker.succeeded(clock.monotonicMs())) await this.#options.onRecovered();
    return held ? 'delivered' : 'held';
  }

  async #failed(
    item: Item,
    attempt: AttemptRow,
    verdict: Verdict & { kind: 'failed' },
    progress: string | null,
  ): Promise<'held' | 'again'> {
    const { lanes, breaker, clock, random, rules, endpoint, log } = this.#options;
    const byEndpoint = verdict.scope === 'endpoint';
    const wasOpen = breaker.isOpen;
    if (byEndpoint)
      breaker.failed(
        item.callId,
        verdict.hard,
        clock.monotonicMs(),
        random(),
        verdict.retryAfterMs,
      );
    else breaker.succeeded(clock.monotonicMs()); // it answers: what it refuses is this event
    // Told when it begins, not at each attempt of three days.
    const about = { endpoint: endpoint.name, reason: verdict.reason };
    if (!wasOpen && breaker.isOpen)
      log.warn(about, 'endpoint does not take events: they wait in order and are tried again');
    else if (!wasOpen && item.attempts === 0)
      log.warn({ callId: item.callId, eventId: item.eventId, ...about }, 'event not delivered yet');
    const since = this.claim.firstAttemptAt ?? attempt.at;
    const next = nextAttempt(verdict, item.attempts + 1, since, attempt.endedAt, random(), rules);
    if (next.do === 'retry') {
      await lanes.retryAt(this.claim, item, attempt, { at: next.at, byEndpoint, progress });
      return 'held';
    }
    return this.#giveUp(item, attempt, verdict, next.reason);
  }

  async #giveUp(
    item: Item,
    attempt: AttemptRow,
    verdict: Verdict & { kind: 'failed' },
    reason: string,
  ): Promise<'held' | 'again'> {
    const { lanes, endpoint, clock, log, onParked } = this.#options;
    if (endpoint.ordering === 'skip' && verdict.scope === 'item' && item.type !== 'call.skipped') {
      const marker = makeMarker(item, { status: verdict.status, reason }, clock.now());
      if (await lanes.skip(this.claim, item, attempt, marker))
        log.error(
          { callId: item.callId, eventId: item.eventId, endpoint: endpoint.name, reason },
          'event skipped by the rule of its endpoint',
        );
      return 'again';
    }
    if (await lanes.park(this.claim, item, attempt, reason)) {
      parkedTotal.inc({ endpoint: endpoint.name });
      log.error(
        { callId: item.callId, eventId: item.eventId, endpoint: endpoint.name, reason },
        'call parked: its events wait for an operator',
      );
      onParked(item.callId, reason);
    }
    return 'held';
  }

  async #gone(
    item: Item,
    attempt: AttemptRow,
    reason: string,
    progress: string | null,
  ): Promise<'held'> {
    await this.#options.onGone(reason);
    // The item keeps its place: when the endpoint is switched on again its call goes on from here.
    await this.#options.lanes.retryAt(this.claim, item, attempt, {
      at: attempt.endedAt,
      byEndpoint: true,
      progress,
    });
    return 'held';
  }
}

/** A row that cannot be made into a request has its few tries like one that is refused, then it is parked. */
function unsendable(item: Item, error: unknown): Sent {
  const reason = `cannot be sent: ${reasonOf(error)}`.slice(0, 300);
  return {
    verdict: { kind: 'failed', scope: 'item', hard: false, status: null, answer: null, reason },
    progress: item.progress,
  };
}

function outcomeOf(verdict: Verdict): string {
  if (verdict.kind !== 'failed') return verdict.kind;
  return verdict.scope === 'item' ? 'refused' : verdict.status === null ? 'no_answer' : 'failed';
}

function attemptRow(item: Item, verdict: Verdict, endedAt: number, tookMs: number): AttemptRow {
  const at = endedAt - Math.round(tookMs);
  const error = verdict.kind === 'delivered' ? null : verdict.reason;
  const past = pastAttempts(item.history);
  past.push({ at, ms: Math.round(tookMs), status: verdict.status, error });
  return {
    at,
    endedAt,
    status: verdict.status,
    error,
    answer: verdict.answer,
    history: JSON.stringify(past.slice(-historyKept)),
  };
}

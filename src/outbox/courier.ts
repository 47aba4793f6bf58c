import type { Fate, DeliveryLane } from '../lib/claims.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Breaker, EndpointTrouble } from './breaker.ts';
import type { Endpoint } from './config.ts';
import {
  attemptsTotal,
  attemptSeconds,
  delaySeconds,
  parkedTotal,
  speechEndToWebhook,
  type AttemptOutcome,
} from './metrics.ts';
import { nextAttempt, type DeliveryVerdict, type RetryRules } from './retry-rules.ts';
import type { Sender } from './sender.ts';
import { makeMarker, type SendResult } from './sender.ts';
import type { AttemptRow, Claim, QueuedEvent } from './claim-rows.ts';
import { maxEventBytes } from './event-rows.ts';
import { pastAttempts } from './past-attempts.ts';
import type { OutboxTables } from './tables.ts';

export type CourierOptions = {
  endpoint: Endpoint;
  tables: OutboxTables;
  sender: Sender;
  breaker: Breaker;
  trouble: EndpointTrouble;
  rules: RetryRules;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** True if no place is free at the endpoint. Other calls may then wait for this call's place. */
  isCrowded: () => boolean;
  onGone: (reason: string) => Promise<void>;
  onRecovered: () => Promise<void>;
  onParked: (callId: string, reason: string) => void;
};

/** The most events of one call per claim: the long backlog of one call must not delay the others. */
const itemsPerClaim = 64;
/** The most events per claim while every place of the endpoint is taken. */
const itemsPerCrowdedClaim = 8;
/** The longest turn while every place is taken. A CRM may take seconds per event. */
const crowdedClaimMs = 100;
export const maxHeadsPerRead = 16;
/** An attempt begins only if more than this is left of the lease: its result must be written under the lease. */
const leaseReserveMs = 1_000;
/** At most this many attempts are stored with a delivery. */
const maxAttemptsKept = 20;

/** An attempt, and what is written about it. */
type CourierAttempt = {
  fate: Fate;
  row: AttemptRow;
  verdict: DeliveryVerdict;
  progress: string | null;
};

/** Delivers one claimed call in order, until it is empty, fails, loses its lease or is told to stop. */
export class Courier implements DeliveryLane<QueuedEvent, CourierAttempt> {
  readonly claim: Claim;
  readonly #options: CourierOptions;
  readonly #stopped: AbortSignal;
  /** Ends the request in progress when the claim is lost or the time to drain is over. */
  readonly #abort = new AbortController();
  /** The end of the lease on the monotonic clock. Each renewal moves it. */
  leaseEndsMs: number;
  readonly #claimedMs: number;
  /** The lane was given back with more in it. */
  isDue = false;
  #heads: QueuedEvent[] = [];
  /** No further event waits behind the heads. */
  #isAll = false;
  #done = 0;

  constructor(claim: Claim, leaseEndsMs: number, stopped: AbortSignal, options: CourierOptions) {
    this.claim = claim;
    this.leaseEndsMs = leaseEndsMs;
    this.#claimedMs = options.clock.monotonicMs();
    this.#stopped = stopped;
    this.#options = options;
  }

  /** Another process may have the lane. The request in progress is ended and nothing more is sent. */
  abort(): void {
    this.#abort.abort();
  }

  async next(): Promise<QueuedEvent | undefined> {
    const { claims } = this.#options.tables;
    while (this.#heads.length === 0) {
      if (this.#isAll) return this.#letGo(false);
      // The wake count is read before the events. An event that is enqueued after this read raises it, and giving
      // the lane back then makes the lane due again.
      if (this.#done > 0) this.claim.wakes = await claims.wakes(this.claim);
      const { items, isAll } = await claims.heads(this.claim, maxHeadsPerRead);
      this.#heads = items;
      this.#isAll = isAll;
    }
    if (this.#abort.signal.aborted) return undefined;
    if (this.#isShareOver(this.#done++) || this.#stopped.aborted) return this.#letGo(true);
    return this.#heads.shift();
  }

  async #letGo(more: boolean): Promise<undefined> {
    this.isDue = await this.#options.tables.claims.release(this.claim, more);
  }

  #isShareOver(done: number): boolean {
    if (done === 0 || done >= itemsPerClaim) return done > 0;
    if (!this.#options.isCrowded()) return false;
    const heldMs = this.#options.clock.monotonicMs() - this.#claimedMs;
    return done >= itemsPerCrowdedClaim || heldMs >= crowdedClaimMs;
  }

  async attempt(item: QueuedEvent): Promise<CourierAttempt | undefined> {
    if (item.bytes > maxEventBytes && item.type !== 'call.skipped') return this.#tooLong(item);
    const { endpoint, sender, clock } = this.#options;
    const deadlineMs = Math.min(
      endpoint.timeoutMs,
      this.leaseEndsMs - clock.monotonicMs() - leaseReserveMs,
    );
    if (deadlineMs <= 0) return undefined; // the lease is nearly over; its next holder continues
    const startedMs = clock.monotonicMs();
    const { verdict, progress, exchanges } = await sender
      .send(item, deadlineMs, clock.now(), this.#abort.signal)
      .catch((error: unknown) => unsendable(item, error));
    if (this.#abort.signal.aborted) return undefined;
    const tookMs = clock.monotonicMs() - startedMs;
    attemptSeconds.observe({ endpoint: endpoint.name }, tookMs / 1000);
    attemptsTotal.inc({ endpoint: endpoint.name, outcome: outcomeOf(verdict) });
    const isDelivered = verdict.kind === 'delivered';
    // A failure goes into the schedule, which uses the database's clock, so the exact time is asked for.
    const now = isDelivered ? this.#about() : await this.#options.tables.time.now();
    const row = attemptRow(item, verdict, now, tookMs, exchanges);
    return { row, verdict, progress, fate: this.#fateOf(item, row, verdict) };
  }

  #fateOf(item: QueuedEvent, row: AttemptRow, verdict: DeliveryVerdict): Fate {
    if (verdict.kind === 'delivered') return 'delivered';
    // The event keeps its place: its call continues from here when the endpoint is enabled again.
    if (verdict.kind === 'gone') return { retryAt: row.endedAt };
    this.#noteFailure(item, row, verdict);
    const { random, rules } = this.#options;
    const since = this.claim.firstAttemptAt ?? row.at;
    const next = nextAttempt(verdict, item.attempts + 1, since, row.endedAt, random(), rules);
    return next.do === 'retry' ? { retryAt: next.at } : { park: next.reason };
  }

  /** The database's time estimated from the claim. It is exact enough for people and needs no query. */
  #about(): number {
    return Math.round(this.claim.claimedAt + this.#options.clock.monotonicMs() - this.#claimedMs);
  }

  /** Another try would change nothing, so the event is given up at once. */
  async #tooLong(item: QueuedEvent): Promise<CourierAttempt> {
    const reason = `the event has ${item.bytes} bytes; at most ${maxEventBytes} are delivered`;
    const verdict = { kind: 'failed', scope: 'item', hard: false, status: null, answer: null, reason } as const; // prettier-ignore
    const row = attemptRow(item, verdict, await this.#options.tables.time.now(), 0, null);
    return { row, verdict, progress: item.progress, fate: { park: reason } };
  }

  async delivered(item: QueuedEvent, { row }: CourierAttempt): Promise<boolean> {
    const { tables, breaker, trouble, endpoint, clock, log } = this.#options;
    const held = await tables.claims.delivered(this.claim, item, row);
    this.claim.firstAttemptAt = null;
    delaySeconds.observe(
      { endpoint: endpoint.name },
      Math.max(0, clock.now() - item.occurredAt) / 1000,
    );
    // A marker in place of a skipped event reports no speech.
    if (item.speechEndedAt !== null && item.type === 'call.transcript')
      speechEndToWebhook.observe(
        { endpoint: endpoint.name },
        Math.max(0, clock.now() - item.speechEndedAt) / 1000,
      );
    if (trouble.ends()) log.info({ endpoint: endpoint.name }, 'endpoint answers again');
    if (breaker.succeeded(clock.monotonicMs())) await this.#options.onRecovered();
    // The claim is lost, or the event was purged meanwhile and only the lane is left. Then the lane is given back.
    if (!held) await this.#letGo(true);
    return held;
  }

  #noteFailure(
    item: QueuedEvent,
    row: AttemptRow,
    verdict: DeliveryVerdict & { kind: 'failed' },
  ): void {
    const { breaker, trouble, clock, random, endpoint, log } = this.#options;
    const byEndpoint = verdict.scope === 'endpoint';
    if (byEndpoint)
      breaker.failed(
        item.callId,
        verdict.hard,
        clock.monotonicMs(),
        random(),
        verdict.retryAfterMs,
      );
    else breaker.succeeded(clock.monotonicMs()); // the endpoint answers; it refuses only this event
    // The trouble is logged when it begins, not at each attempt of three days.
    const about = { endpoint: endpoint.name, reason: verdict.reason };
    // The endpoint answers and refuses only this event.
    if (!byEndpoint && trouble.ends())
      log.info({ endpoint: endpoint.name }, 'endpoint answers again');
    // A 500 for one call may be caused by that call. No answer at all is the endpoint's own trouble, even the first
    // time.
    if (byEndpoint && (verdict.hard || breaker.isOpen)) {
      if (trouble.begins(row.at, verdict.reason))
        log.warn(about, 'endpoint does not take events: they wait in order and are tried again');
    } else if (item.attempts === 0)
      log.warn({ callId: item.callId, eventId: item.eventId, ...about }, 'event not delivered yet');
  }

  async retry(item: QueuedEvent, attempt: CourierAttempt, at: number): Promise<boolean> {
    const { row, verdict, progress } = attempt;
    const byEndpoint = verdict.kind !== 'failed' || verdict.scope === 'endpoint';
    const next = { at, byEndpoint, progress };
    const isOurs = await this.#options.tables.claims.retryAt(this.claim, item, row, next);
    // The process stalled, and the answer may be old: the endpoint may have been enabled again since.
    if (isOurs && verdict.kind === 'gone') await this.#options.onGone(verdict.reason);
    return false;
  }

  async park(
    item: QueuedEvent,
    { row, verdict }: CourierAttempt,
    reason: string,
  ): Promise<boolean> {
    const { tables, endpoint, clock, log, onParked } = this.#options;
    const isRefused = verdict.kind === 'failed' && verdict.scope === 'item';
    if (endpoint.ordering === 'skip' && isRefused && item.type !== 'call.skipped') {
      const marker = makeMarker(item, { status: verdict.status, reason }, clock.now());
      if (await tables.claims.skip(this.claim, item, row, marker))
        log.error(
          { callId: item.callId, eventId: item.eventId, endpoint: endpoint.name, reason },
          'event skipped by the rule of its endpoint',
        );
      this.isDue = true;
      return false;
    }
    if (await tables.claims.park(this.claim, item, row, reason)) {
      parkedTotal.inc({ endpoint: endpoint.name });
      log.error(
        { callId: item.callId, eventId: item.eventId, endpoint: endpoint.name, reason },
        'call parked: its events wait for an operator',
      );
      onParked(item.callId, reason);
    }
    return false;
  }
}

/** A row that cannot be made into a request is tried a few times like a refused event, and then parked. */
function unsendable(item: QueuedEvent, error: unknown): SendResult {
  const reason = `cannot be sent: ${reasonOf(error)}`.slice(0, 300);
  return {
    verdict: { kind: 'failed', scope: 'item', hard: false, status: null, answer: null, reason },
    progress: item.progress,
    exchanges: null,
  };
}

function outcomeOf(verdict: DeliveryVerdict): AttemptOutcome {
  if (verdict.kind !== 'failed') return verdict.kind;
  return verdict.scope === 'item' ? 'refused' : verdict.status === null ? 'no_answer' : 'failed';
}

function attemptRow(
  item: QueuedEvent,
  verdict: DeliveryVerdict,
  endedAt: number,
  tookMs: number,
  exchanges: string | null,
): AttemptRow {
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
    history: JSON.stringify(past.slice(-maxAttemptsKept)),
    exchanges,
  };
}

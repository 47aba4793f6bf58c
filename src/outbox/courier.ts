import { type Clock } from '../lib/clock.ts';
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
  /** No place is free at the endpoint: other calls may wait for this one's. */
  isCrowded: () => boolean;
  onGone: (reason: string) => Promise<void>;
  onRecovered: () => Promise<void>;
  onParked: (callId: string, reason: string) => void;
};

/** Events of one call per claim: the long backlog of one call must not keep other calls from their turn. */
const itemsPerClaim = 64;
/** The same while every place of the endpoint is taken, so that others may wait for one. */
const itemsPerCrowdedClaim = 8;
/** And how long such a turn lasts before the next event is left to a later one: a CRM may take seconds for each. */
const crowdedClaimMs = 100;
export const maxHeadsPerRead = 16;
/** An attempt is begun only when more than this is left of the lease: its result must be written under the lease. */
const leaseReserveMs = 1_000;
/** Attempts that a delivery's row remembers. */
const maxAttemptsKept = 20;

/** Delivers one claimed call in order, until it is empty, fails, loses its lease or is told to stop. */
export class Courier {
  readonly claim: Claim;
  readonly #options: CourierOptions;
  readonly #stopped: AbortSignal;
  /** Ends the request under way when the claim is lost or the time to drain is over. */
  readonly #abort = new AbortController();
  /** On the monotonic clock; moved by each renewal. */
  leaseEndsMs: number;
  readonly #claimedMs: number;

  constructor(claim: Claim, leaseEndsMs: number, stopped: AbortSignal, options: CourierOptions) {
    this.claim = claim;
    this.leaseEndsMs = leaseEndsMs;
    this.#claimedMs = options.clock.monotonicMs();
    this.#stopped = stopped;
    this.#options = options;
  }

  /** Another process may have the lane: the request under way is ended and nothing more is sent. */
  abort(): void {
    this.#abort.abort();
  }

  /** Resolves when the lane is given back; true when it is due again at once. */
  async run(): Promise<boolean> {
    const { tables } = this.#options;
    for (let done = 0; ; this.claim.wakes = await tables.claims.wakes(this.claim)) {
      // The wake count was read before the events. An event that is enqueued after this read raises it, and giving
      // the lane back then makes the lane due again.
      const { items, isAll } = await tables.claims.heads(this.claim, maxHeadsPerRead);
      for (const item of items) {
        if (this.#abort.signal.aborted) return false;
        if (this.#isTurnOver(done++) || this.#stopped.aborted)
          return tables.claims.release(this.claim, true);
        const outcome = await this.#deliver(item);
        if (outcome !== 'delivered') return outcome === 'again';
      }
      if (isAll) return tables.claims.release(this.claim, false);
    }
  }

  #isTurnOver(done: number): boolean {
    if (done === 0 || done >= itemsPerClaim) return done > 0;
    if (!this.#options.isCrowded()) return false;
    const heldMs = this.#options.clock.monotonicMs() - this.#claimedMs;
    return done >= itemsPerCrowdedClaim || heldMs >= crowdedClaimMs;
  }

  async #deliver(item: QueuedEvent): Promise<'delivered' | 'held' | 'again'> {
    if (item.bytes > maxEventBytes && item.type !== 'call.skipped') return this.#tooLong(item);
    const { endpoint, sender, clock } = this.#options;
    const deadlineMs = Math.min(
      endpoint.timeoutMs,
      this.leaseEndsMs - clock.monotonicMs() - leaseReserveMs,
    );
    if (deadlineMs <= 0) return 'held'; // the lease is as good as lost: its next holder goes on
    const startedMs = clock.monotonicMs();
    const { verdict, progress, exchanges } = await sender
      .send(item, deadlineMs, clock.now(), this.#abort.signal)
      .catch((error: unknown) => unsendable(item, error));
    if (this.#abort.signal.aborted) return 'held';
    const tookMs = clock.monotonicMs() - startedMs;
    attemptSeconds.observe({ endpoint: endpoint.name }, tookMs / 1000);
    attemptsTotal.inc({ endpoint: endpoint.name, outcome: outcomeOf(verdict) });
    if (verdict.kind === 'delivered')
      return this.#delivered(item, attemptRow(item, verdict, this.#about(), tookMs, exchanges));
    // A failure goes into the schedule, whose times are the database's: they are asked for, not reckoned.
    const now = await this.#options.tables.time.now();
    const attempt = attemptRow(item, verdict, now, tookMs, exchanges);
    if (verdict.kind === 'gone') return this.#gone(item, attempt, verdict.reason, progress);
    return this.#failed(item, attempt, verdict, progress);
  }

  /** The database's time as of the claim, moved on: near enough for what people read, and it costs no question. */
  #about(): number {
    return Math.round(this.claim.claimedAt + this.#options.clock.monotonicMs() - this.#claimedMs);
  }

  /** Tries would change nothing: the event is given up at once. */
  async #tooLong(item: QueuedEvent): Promise<'held' | 'again'> {
    const reason = `the event has ${item.bytes} bytes; at most ${maxEventBytes} are delivered`;
    const verdict = { kind: 'failed', scope: 'item', hard: false, status: null, answer: null, reason } as const; // prettier-ignore
    const attempt = attemptRow(item, verdict, await this.#options.tables.time.now(), 0, null);
    return this.#giveUp(item, attempt, verdict, reason);
  }

  async #delivered(
    item: QueuedEvent,
    attempt: AttemptRow,
  ): Promise<'delivered' | 'held' | 'again'> {
    const { tables, breaker, trouble, endpoint, clock, log } = this.#options;
    const held = await tables.claims.delivered(this.claim, item, attempt);
    this.claim.firstAttemptAt = null;
    delaySeconds.observe(
      { endpoint: endpoint.name },
      Math.max(0, clock.now() - item.occurredAt) / 1000,
    );
    // A marker in the place of an event that was skipped tells no speech.
    if (item.speechEndedAt !== null && item.type === 'call.transcript')
      speechEndToWebhook.observe(
        { endpoint: endpoint.name },
        Math.max(0, clock.now() - item.speechEndedAt) / 1000,
      );
    if (trouble.ends()) log.info({ endpoint: endpoint.name }, 'endpoint answers again');
    if (breaker.succeeded(clock.monotonicMs())) await this.#options.onRecovered();
    if (held) return 'delivered';
    // The claim is lost, or the event was purged meanwhile and only the lane is left: then the lane is given back.
    return (await tables.claims.release(this.claim, true)) ? 'again' : 'held';
  }

  async #failed(
    item: QueuedEvent,
    attempt: AttemptRow,
    verdict: DeliveryVerdict & { kind: 'failed' },
    progress: string | null,
  ): Promise<'held' | 'again'> {
    const { tables, breaker, trouble, clock, random, rules, endpoint, log } = this.#options;
    const byEndpoint = verdict.scope === 'endpoint';
    if (byEndpoint)
      breaker.failed(
        item.callId,
        verdict.hard,
        clock.monotonicMs(),
        random(),
        verdict.retryAfterMs,
      );
    else breaker.succeeded(clock.monotonicMs()); // the endpoint answers: it refuses only this event
    // Logged when the trouble begins, not at each attempt of three days.
    const about = { endpoint: endpoint.name, reason: verdict.reason };
    // The endpoint answers: it refuses only this event.
    if (!byEndpoint && trouble.ends())
      log.info({ endpoint: endpoint.name }, 'endpoint answers again');
    // A 500 to one call may be caused by that call; no answer at all is the endpoint's own trouble, at the first time.
    if (byEndpoint && (verdict.hard || breaker.isOpen)) {
      if (trouble.begins(attempt.at, verdict.reason))
        log.warn(about, 'endpoint does not take events: they wait in order and are tried again');
    } else if (item.attempts === 0)
      log.warn({ callId: item.callId, eventId: item.eventId, ...about }, 'event not delivered yet');
    const since = this.claim.firstAttemptAt ?? attempt.at;
    const next = nextAttempt(verdict, item.attempts + 1, since, attempt.endedAt, random(), rules);
    if (next.do === 'retry') {
      await tables.claims.retryAt(this.claim, item, attempt, { at: next.at, byEndpoint, progress });
      return 'held';
    }
    return this.#giveUp(item, attempt, verdict, next.reason);
  }

  async #giveUp(
    item: QueuedEvent,
    attempt: AttemptRow,
    verdict: DeliveryVerdict & { kind: 'failed' },
    reason: string,
  ): Promise<'held' | 'again'> {
    const { tables, endpoint, clock, log, onParked } = this.#options;
    if (endpoint.ordering === 'skip' && verdict.scope === 'item' && item.type !== 'call.skipped') {
      const marker = makeMarker(item, { status: verdict.status, reason }, clock.now());
      if (await tables.claims.skip(this.claim, item, attempt, marker))
        log.error(
          { callId: item.callId, eventId: item.eventId, endpoint: endpoint.name, reason },
          'event skipped by the rule of its endpoint',
        );
      return 'again';
    }
    if (await tables.claims.park(this.claim, item, attempt, reason)) {
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
    item: QueuedEvent,
    attempt: AttemptRow,
    reason: string,
    progress: string | null,
  ): Promise<'held'> {
    // The event keeps its place: when the endpoint is switched on again its call goes on from here.
    const isOurs = await this.#options.tables.claims.retryAt(this.claim, item, attempt, {
      at: attempt.endedAt,
      byEndpoint: true,
      progress,
    });
    // An answer from before this process stood still says nothing of an endpoint that was switched on again since.
    if (isOurs) await this.#options.onGone(reason);
    return 'held';
  }
}

/** A row that cannot be made into a request has its few tries, like an event that is refused, then it is parked. */
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

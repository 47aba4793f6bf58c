import { within, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import { maxDatabaseWaitMs } from '../store/backend.ts';
import { Breaker, EndpointTrouble } from './breaker.ts';
import type { Endpoint, OutboxConfig } from './config.ts';
import {
  attemptsTotal,
  attemptSeconds,
  breakerOpen,
  countFromZero,
  delaySeconds,
  parkedTotal,
  speechEndToWebhook,
  type AttemptOutcome,
} from './metrics.ts';
import { nextAttempt, type DeliveryVerdict, type RetryRules } from './retry-rules.ts';
import { makeMarker, Sender, type SendResult, type WebhookClient } from './sender.ts';
import type { AttemptRow, Claim, QueuedEvent } from './claim-rows.ts';
import type { DisabledEndpoints } from './endpoint-rows.ts';
import { maxEventBytes } from './event-rows.ts';
import { pastAttempts } from './past-attempts.ts';
import type { OutboxTables } from './tables.ts';

type DispatcherOptions = {
  config: OutboxConfig;
  endpoints: readonly Endpoint[];
  tables: OutboxTables;
  clock: Clock;
  random: () => number;
  log: Logger;
  client: WebhookClient | undefined;
  onParked(endpoint: string, callId: string, reason: string): void;
};

/** The work of this process for one endpoint. */
type EndpointWork = {
  endpoint: Endpoint;
  sender: Sender;
  breaker: Breaker;
  trouble: EndpointTrouble;
  couriers: Set<Courier>;
  /** The last claim took all that there was room for. More may wait, so a place that becomes free is worth a look. */
  full: boolean;
};

/** Lanes that one round claims at most. More wait in the table for the next round, a moment later. */
export const maxClaimsPerRound = 64;
const renewalsPerLease = 3;

/**
 * Claims lanes that are due and lets a courier run each, as many at once as the endpoint's breaker gives room for.
 * A look is caused by an event that was enqueued, by a courier that ends, and by the clock. A look that is asked for
 * while one is under way follows it: no event waits for the next poll because it came in the wrong moment.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #tables: OutboxTables;
  readonly #works: Map<string, EndpointWork>;
  readonly #stop = new AbortController();
  #disabled: DisabledEndpoints = new Map();
  #isDisabledOld = false;
  #round: Promise<void> | undefined;
  #again = false;
  #failures = 0;
  #polls: Loop | undefined;
  #renewals: Loop | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#tables = options.tables;
    this.#works = new Map(
      options.endpoints.map((endpoint) => [
        endpoint.name,
        {
          endpoint,
          sender: new Sender(endpoint, options.clock, options.client),
          breaker: new Breaker(endpoint.concurrency),
          trouble: new EndpointTrouble(),
          couriers: new Set(),
          full: false,
        },
      ]),
    );
  }

  start(disabled: DisabledEndpoints): void {
    this.#disabled = disabled;
    for (const name of this.#works.keys()) countFromZero(name);
    this.wake();
    const { clock, config } = this.#options;
    this.#polls = every(clock, config.pollMs, () => this.wake());
    this.#renewals = every(clock, config.leaseMs / renewalsPerLease, () => this.#renew());
  }

  /** Something may be due: looks soon, and once more when a look is under way already. */
  wake(): void {
    if (this.#stop.signal.aborted) return;
    this.#again = true;
    this.#round ??= this.#rounds().finally(() => {
      this.#round = undefined;
      // Woken in the moment between the last look and this line.
      if (this.#again && this.#failures === 0) this.wake();
    });
  }

  /** Looks in a row that failed at the database. */
  get failures(): number {
    return this.#failures;
  }

  get disabled(): DisabledEndpoints {
    return this.#disabled;
  }

  /** Endpoints that take no events now, one line each, with the reason of the last attempt. */
  get troubles(): string[] {
    return [...this.#works.values()].flatMap(({ endpoint: { name }, trouble: { current } }) =>
      current === undefined || this.#disabled.has(name)
        ? []
        : [
            `${name} takes no events since ${new Date(current.sinceMs).toISOString().slice(11, 19)} UTC: ${current.reason}`,
          ],
    );
  }

  get inFlight(): number {
    return this.#couriers().length;
  }

  /** The database's clock was set: what is being tried has not failed for longer, or shorter, because of that. */
  shiftClaims(byMs: number): void {
    for (const { claim } of this.#couriers()) {
      claim.claimedAt += byMs;
      if (claim.firstAttemptAt !== null) claim.firstAttemptAt += byMs;
    }
  }

  /** Nothing new is begun. Attempts under way may end until the deadline, then they are given up. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stop.abort();
    void this.#polls?.stop();
    const { clock, log } = this.#options;
    const idle = this.#idle();
    await within(clock, deadlineMs, idle);
    const left = this.#couriers();
    for (const courier of left) courier.abort();
    await within(clock, maxDatabaseWaitMs, idle);
    void this.#renewals?.stop(); // no courier is left whose lease could be renewed
    if (left.length === 0) return;
    const givenBack = this.#tables.claims
      .giveBack(left.map(({ claim }) => claim))
      .catch((error: unknown) => log.warn({ err: error }, 'claims end with their leases'));
    await within(clock, maxDatabaseWaitMs, givenBack);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#works.values()].map((work) => work.sender[Symbol.asyncDispose]()));
  }

  async #idle(): Promise<void> {
    for (;;) {
      await this.#round?.catch(() => undefined);
      const running = [...this.#running];
      if (running.length === 0) return;
      await Promise.allSettled(running);
    }
  }

  readonly #running = new Set<Promise<void>>();

  #couriers(): Courier[] {
    return [...this.#works.values()].flatMap((work) => [...work.couriers]);
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      try {
        if (this.#isDisabledOld) {
          this.#disabled = await this.#tables.endpoints.disabledEndpoints();
          this.#isDisabledOld = false;
        }
        for (const work of this.#works.values()) await this.#claimFor(work);
        this.#failures = 0;
      } catch (error) {
        this.#failures++;
        this.#options.log.warn({ err: error }, 'the outbox cannot read its table; it tries again');
        return;
      }
    }
  }

  async #claimFor(work: EndpointWork): Promise<void> {
    const { clock, config } = this.#options;
    if (this.#disabled.has(work.endpoint.name)) return;
    const room = work.breaker.room(work.couriers.size, clock.monotonicMs());
    breakerOpen.set({ endpoint: work.endpoint.name }, work.breaker.isOpen ? 1 : 0);
    const limit = Math.min(room.calls, maxClaimsPerRound);
    work.full = limit === 0;
    if (limit === 0) return;
    const leaseEndsMs = clock.monotonicMs() + config.leaseMs;
    const claims = await this.#tables.claims.claim(
      work.endpoint.name,
      limit,
      config.leaseMs,
      room.probe,
    );
    work.full = claims.length === limit;
    if (work.full && !room.probe) this.#again = true; // there may be more, and room for it
    for (const claim of claims) {
      const courier = new Courier(
        claim,
        leaseEndsMs,
        this.#stop.signal,
        this.#courierOptions(work),
      );
      work.couriers.add(courier);
      const running = this.#run(work, courier).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #run(work: EndpointWork, courier: Courier): Promise<void> {
    const { log } = this.#options;
    const { callId } = courier.claim;
    let isDue = false;
    try {
      isDue = await courier.run();
    } catch (error) {
      // The lane stays claimed until its lease ends, then it is tried again.
      log.error({ err: error, callId, endpoint: work.endpoint.name }, 'a delivery broke off');
    } finally {
      work.couriers.delete(courier);
    }
    if (isDue || work.full) this.wake();
  }

  #courierOptions(work: EndpointWork): CourierOptions {
    const { tables, config, clock, random, log } = this.#options;
    const { endpoint } = work;
    return {
      endpoint,
      tables,
      sender: work.sender,
      breaker: work.breaker,
      trouble: work.trouble,
      rules: config,
      clock,
      random,
      log,
      isCrowded: () => work.full,
      onGone: async (reason) => {
        log.error({ endpoint: endpoint.name, reason }, 'endpoint switched off: its events wait');
        await tables.endpoints.disableEndpoint(endpoint.name, reason);
        this.#disabled.set(endpoint.name, reason);
      },
      onRecovered: async () => {
        await tables.claims.wakeHeld(endpoint.name);
        this.wake();
      },
      onParked: (callId, reason) => this.#options.onParked(endpoint.name, callId, reason),
    };
  }

  /** An operator changed something: the next look reads the endpoints anew. */
  changed(): void {
    this.#isDisabledOld = true;
    this.wake();
  }

  /** Never rejects: a lease that cannot be renewed ends by itself. */
  async #renew(): Promise<void> {
    const { clock, config, log } = this.#options;
    const held = this.#couriers();
    if (held.length === 0) return;
    const leaseEndsMs = clock.monotonicMs() + config.leaseMs;
    try {
      const still = await this.#tables.claims.renew(
        held.map(({ claim }) => claim),
        config.leaseMs,
      );
      for (const courier of held) {
        const { claimId, callId, endpoint } = courier.claim;
        if (still.has(`${claimId} ${callId} ${endpoint}`)) courier.leaseEndsMs = leaseEndsMs;
        else courier.abort(); // the lane was given back or another process has it: nothing more may be sent
      }
    } catch (error) {
      log.warn({ err: error }, 'leases could not be renewed');
    }
  }
}

/* ---- One claimed call ---- */

type CourierOptions = {
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
class Courier {
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

import { within, type Clock } from '../lib/clock.ts';
import { Claims, deliver } from '../lib/claims.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import { maxDatabaseWaitMs } from '../store/backend.ts';
import { Breaker, EndpointTrouble } from './breaker.ts';
import type { ApiEndpoint } from '../protocol/delivery-reports.ts';
import { failureSince } from './deliveries.ts';
import { Courier, type CourierOptions } from './courier.ts';
import type { Endpoint, OutboxConfig } from './config.ts';
import { breakerOpen, countFromZero } from './metrics.ts';
import { Sender, type WebhookClient } from './sender.ts';
import type { DisabledEndpoints } from './endpoint-rows.ts';
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
  /**
   * The last claim used up the free places. More lanes may wait, so the dispatcher looks again when a place becomes
   * free.
   */
  full: boolean;
};

type ClaimedLane = { work: EndpointWork; courier: Courier };

/** At most this many lanes are claimed per round. Further ones wait in the table for the next round, a moment later. */
export const maxClaimsPerRound = 64;
const renewalsPerLease = 3;

/**
 * Claims lanes that are due and lets a courier run each, as many at once as the endpoint's breaker gives room for.
 * A look is caused by an event that was enqueued, by a courier that ends, and by the clock.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #tables: OutboxTables;
  readonly #works: Map<string, EndpointWork>;
  readonly #claims: Claims<ClaimedLane>;
  /** Endpoints that were taken away and whose couriers have not ended yet. */
  readonly #leaving = new Set<EndpointWork>();
  readonly #stop = new AbortController();
  #disabled: DisabledEndpoints = new Map();
  #isDisabledOld = false;
  #renewals: Loop | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#tables = options.tables;
    this.#works = new Map(
      options.endpoints.map((endpoint) => [endpoint.name, this.#workFor(endpoint)]),
    );
    const { clock, config, log } = options;
    this.#claims = new Claims({
      table: { claim: (begin) => this.#claim(begin), work: (lane) => this.#work(lane) },
      clock,
      lookMs: config.pollMs,
      unreadable: (error) =>
        log.warn({ err: error }, 'the outbox could not read its table; will retry'),
      brokeOff: (error, { work, courier: { claim } }) =>
        log.error(
          { err: error, callId: claim.callId, endpoint: work.endpoint.name },
          'a delivery broke off',
        ),
    });
  }

  #workFor(endpoint: Endpoint): EndpointWork {
    const { clock, client, tables } = this.#options;
    return {
      endpoint,
      sender: new Sender(endpoint, clock, client, tables.crm),
      breaker: new Breaker(endpoint.concurrency),
      trouble: new EndpointTrouble(),
      couriers: new Set(),
      full: false,
    };
  }

  /** Takes an endpoint up while the process runs. One of the same name ends. */
  async take(endpoint: Endpoint): Promise<void> {
    await this.letGo(endpoint.name);
    this.#works.set(endpoint.name, this.#workFor(endpoint));
    countFromZero(endpoint.name);
    this.changed();
  }

  /** Delivers nothing more to the endpoint. What an attempt was sending may arrive, and is sent again by the next. */
  async letGo(name: string): Promise<void> {
    const work = this.#works.get(name);
    if (work === undefined) return;
    this.#works.delete(name);
    this.#leaving.add(work);
    const claims = [...work.couriers].map(({ claim }) => claim);
    for (const courier of work.couriers) courier.abort();
    if (claims.length > 0)
      await this.#tables.claims.giveBack(claims).catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'claims end with their leases');
      });
    await this.#endIfIdle(work);
  }

  async #endIfIdle(work: EndpointWork): Promise<void> {
    if (work.couriers.size > 0 || !this.#leaving.delete(work)) return;
    await work.sender[Symbol.asyncDispose]();
  }

  start(disabled: DisabledEndpoints): void {
    this.#disabled = disabled;
    for (const name of this.#works.keys()) countFromZero(name);
    this.#claims.start();
    const { clock, config } = this.#options;
    this.#renewals = every(clock, config.leaseMs / renewalsPerLease, () => this.#renew());
  }

  /** An earlier process saw endpoints fail. Such a trouble is over when the endpoint takes an event from this one. */
  remember(endpoints: readonly ApiEndpoint[]): void {
    for (const endpoint of endpoints) {
      const failure = failureSince(endpoint);
      if (failure === undefined) continue;
      const { trouble } = this.#works.get(endpoint.name) ?? {};
      trouble?.begins(Date.parse(failure.at), failure.reason ?? 'unknown');
    }
  }

  /** Something may be due. */
  wake(): void {
    this.#claims.wake();
  }

  /** The number of looks in a row that failed at the database. */
  get failures(): number {
    return this.#claims.failures;
  }

  get disabled(): DisabledEndpoints {
    return this.#disabled;
  }

  /** Endpoints that accept no events now, one line each, with the reason of the last attempt. */
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

  /** The database's clock was set. Failing lanes must not count as failing for longer, or shorter, because of that. */
  shiftClaims(byMs: number): void {
    for (const { claim } of this.#couriers()) {
      claim.claimedAt += byMs;
      if (claim.firstAttemptAt !== null) claim.firstAttemptAt += byMs;
    }
  }

  /** Starts no new delivery. Attempts in progress may end until the deadline; then they are aborted. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stop.abort();
    const { clock, log } = this.#options;
    const idle = this.#claims.stop();
    await within(clock, deadlineMs, idle);
    const left = this.#couriers();
    for (const courier of left) courier.abort();
    await within(clock, maxDatabaseWaitMs, idle);
    void this.#renewals?.stop(); // no courier is left whose lease could be renewed
    if (left.length === 0) return;
    const givenBack = this.#tables.claims
      .giveBack(left.map(({ claim }) => claim))
      .catch((error: unknown) =>
        log.warn({ err: error }, 'claims could not be given up; they end with their leases'),
      );
    await within(clock, maxDatabaseWaitMs, givenBack);
  }

  async close(): Promise<void> {
    const works = [...this.#works.values(), ...this.#leaving];
    await Promise.all(works.map((work) => work.sender[Symbol.asyncDispose]()));
  }

  #couriers(): Courier[] {
    return [...this.#works.values(), ...this.#leaving].flatMap((work) => [...work.couriers]);
  }

  async #claim(begin: (lane: ClaimedLane) => void): Promise<boolean> {
    if (this.#isDisabledOld) {
      this.#disabled = await this.#tables.endpoints.disabledEndpoints();
      this.#isDisabledOld = false;
    }
    let isMore = false;
    for (const work of this.#works.values()) if (await this.#claimFor(work, begin)) isMore = true;
    return isMore;
  }

  /** True where there may be more, and room for it. */
  async #claimFor(work: EndpointWork, begin: (lane: ClaimedLane) => void): Promise<boolean> {
    const { clock, config } = this.#options;
    if (this.#disabled.has(work.endpoint.name)) return false;
    const room = work.breaker.room(work.couriers.size, clock.monotonicMs());
    breakerOpen.set({ endpoint: work.endpoint.name }, work.breaker.isOpen ? 1 : 0);
    const limit = Math.min(room.calls, maxClaimsPerRound);
    work.full = limit === 0;
    if (limit === 0) return false;
    const leaseEndsMs = clock.monotonicMs() + config.leaseMs;
    const claims = await this.#tables.claims.claim(
      work.endpoint.name,
      limit,
      config.leaseMs,
      room.probe,
    );
    // It was switched off while the claims were made.
    if (claims.length > 0 && this.#disabled.has(work.endpoint.name)) {
      await this.#tables.claims.giveBack(claims);
      return false;
    }
    work.full = claims.length === limit;
    for (const claim of claims) {
      const courier = new Courier(
        claim,
        leaseEndsMs,
        this.#stop.signal,
        this.#courierOptions(work),
      );
      work.couriers.add(courier);
      begin({ work, courier });
    }
    return work.full && !room.probe;
  }

  async #work({ work, courier }: ClaimedLane): Promise<boolean> {
    try {
      await deliver(courier);
    } finally {
      work.couriers.delete(courier);
      if (this.#leaving.has(work)) await this.#endIfIdle(work);
    }
    return courier.isDue || work.full;
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
        // Nothing more is sent while this is written.
        this.#disabled.set(endpoint.name, reason);
        await tables.endpoints.disableEndpoint(endpoint.name, reason).catch((error: unknown) => {
          this.changed();
          throw error;
        });
      },
      onRecovered: async () => {
        await tables.claims.wakeHeld(endpoint.name);
        this.wake();
      },
      onParked: (callId, reason) => this.#options.onParked(endpoint.name, callId, reason),
    };
  }

  /** An operator changed something. The next look reads the endpoints again. */
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
        else courier.abort(); // the lane was given back or another process has it, so nothing more may be sent
      }
    } catch (error) {
      log.warn({ err: error }, 'leases could not be renewed');
    }
  }
}

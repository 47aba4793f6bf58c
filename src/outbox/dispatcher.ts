import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { Breaker } from './breaker.ts';
import type { Endpoint, OutboxConfig } from './config.ts';
import { Courier, type CourierOptions } from './courier.ts';
import { disabledEndpoints, disableEndpoint, type Disabled } from './endpoints.ts';
import { Lanes } from './lanes.ts';
import { breakerOpen } from './metrics.ts';
import { Sender, type Client } from './sender.ts';

export type DispatcherOptions = {
  config: OutboxConfig;
  endpoints: readonly Endpoint[];
  store: Store;
  clock: Clock;
  random: () => number;
  log: Logger;
  client: Client | undefined;
  onParked(endpoint: string, callId: string, reason: string): void;
};

type Way = {
  endpoint: Endpoint;
  sender: Sender;
  breaker: Breaker;
  couriers: Set<Courier>;
  /** The last claim took all that there was room for: a place that becomes free is worth a look. */
  full: boolean;
};

/** Claims a round at once: more lanes than this wait for the next one, a moment later. */
const claimAtOnce = 64;
const renewalsPerLease = 3;

/**
 * Claims lanes that are due and lets a courier run each, as many at once as the endpoint's breaker gives
 * room for. Woken by enqueuing, by a courier that ends, and by the clock.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #lanes: Lanes;
  readonly #ways: Map<string, Way>;
  readonly #stop = new AbortController();
  #disabled: Disabled = new Map();
  #round: Promise<void> | undefined;
  #again = false;
  #failures = 0;
  #cancelPoll: () => void = () => undefined;
  #cancelRenewal: () => void = () => undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.store);
    this.#ways = new Map(
      options.endpoints.map((endpoint) => [
        endpoint.name,
        {
          endpoint,
          sender: new Sender(endpoint, options.client),
          breaker: new Breaker(endpoint.concurrency),
          couriers: new Set(),
          full: false,
        },
      ]),
    );
  }

  start(disabled: Disabled): void {
    this.#disabled = disabled;
    this.#poll();
    this.#scheduleRenewal();
  }

  /** Something may be due: looks soon, and once more when a look was under way. */
  wake(): void {
    if (this.#stop.signal.aborted) return;
    this.#again = true;
    this.#round ??= this.#rounds().finally(() => {
      this.#round = undefined;
      // Woken in the moment between the last look and this line.
      if (this.#again && this.#failures === 0) this.wake();
    });
  }

  /** Rounds of the database that failed in a row. */
  get failures(): number {
    return this.#failures;
  }

  get disabled(): Disabled {
    return this.#disabled;
  }

  get openBreakers(): string[] {
    return [...this.#ways.values()]
      .filter((way) => way.breaker.isOpen)
      .map((way) => way.endpoint.name);
  }

  get inFlight(): number {
    return this.#couriers().length;
  }

  /** Nothing new is begun; what is under way may end until the deadline, then it is given up. */
  async stop(deadlineMs: number): Promise<void> {
    if (!this.#stop.signal.aborted) {
      this.#stop.abort();
      this.#cancelPoll();
    }
    const late = Promise.withResolvers<undefined>();
    const cancel = this.#options.clock.after(deadlineMs, () => late.resolve(undefined));
    const idle = this.#idle();
    await Promise.race([idle, late.promise]);
    cancel();
    const left = this.#couriers();
    for (const courier of left) courier.abort();
    await idle;
    this.#cancelRenewal();
    if (left.length > 0)
      await this.#lanes
        .giveBack([...new Set(left.map((courier) => courier.claim.claimId))])
        .catch((error: unknown) =>
          this.#options.log.warn({ err: error }, 'claims end with their leases'),
        );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#ways.values()].map((way) => way.sender[Symbol.asyncDispose]()));
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
    return [...this.#ways.values()].flatMap((way) => [...way.couriers]);
  }

  #poll(): void {
    this.wake();
    this.#cancelPoll = this.#options.clock.after(this.#options.config.pollMs, () => this.#poll());
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      try {
        for (const way of this.#ways.values()) await this.#claimFor(way);
        this.#failures = 0;
      } catch (error) {
        this.#failures++;
        this.#options.log.warn({ err: error }, 'the outbox cannot read its table; it tries again');
        return;
      }
    }
  }

  async #claimFor(way: Way): Promise<void> {
    const { clock, config } = this.#options;
    if (this.#disabled.has(way.endpoint.name)) return;
    const room = way.breaker.room(way.couriers.size, clock.monotonicMs());
    breakerOpen.set({ endpoint: way.endpoint.name }, way.breaker.isOpen ? 1 : 0);
    const limit = Math.min(room.calls, claimAtOnce);
    way.full = limit === 0;
    if (limit === 0) return;
    const leaseEndsMs = clock.monotonicMs() + config.leaseMs;
    const claims = await this.#lanes.claim(way.endpoint.name, limit, config.leaseMs, room.probe);
    way.full = claims.length === limit;
    if (way.full && !room.probe) this.#again = true; // there may be more, and room for it
    for (const claim of claims) {
      const courier = new Courier(claim, leaseEndsMs, this.#stop.signal, this.#courierOptions(way));
      way.couriers.add(courier);
      const running = this.#run(way, courier).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #run(way: Way, courier: Courier): Promise<void> {
    const { log } = this.#options;
    const { callId } = courier.claim;
    let isDue = false;
    try {
      isDue = await courier.run();
    } catch (error) {
      // The lane stays claimed until its lease ends, then it is tried again.
      log.error({ err: error, callId, endpoint: way.endpoint.name }, 'a delivery broke off');
    } finally {
      way.couriers.delete(courier);
    }
    if (isDue || way.full) this.wake();
  }

  #courierOptions(way: Way): CourierOptions {
    const { store, config, clock, random, log } = this.#options;
    const { endpoint } = way;
    return {
      endpoint,
      lanes: this.#lanes,
      store,
      sender: way.sender,
      breaker: way.breaker,
      rules: config,
      clock,
      random,
      log,
      onGone: async (reason) => {
        log.error({ endpoint: endpoint.name, reason }, 'endpoint switched off: its events wait');
        await disableEndpoint(store, endpoint.name, reason);
        this.#disabled.set(endpoint.name, reason);
      },
      onRecovered: async () => {
        log.info({ endpoint: endpoint.name }, 'endpoint answers again');
        await this.#lanes.wakeHeld(endpoint.name);
        this.wake();
      },
      onParked: (callId, reason) => this.#options.onParked(endpoint.name, callId, reason),
    };
  }

  async refreshDisabled(): Promise<void> {
    this.#disabled = await disabledEndpoints(this.#options.store);
    this.wake();
  }

  #scheduleRenewal(): void {
    const { clock, config } = this.#options;
    this.#cancelRenewal = clock.after(config.leaseMs / renewalsPerLease, () => {
      void this.#renew().finally(() => this.#scheduleRenewal());
    });
  }

  async #renew(): Promise<void> {
    const { clock, config, log } = this.#options;
    const held = this.#couriers();
    if (held.length === 0) return;
    const leaseEndsMs = clock.monotonicMs() + config.leaseMs;
    try {
      const ids = [...new Set(held.map((courier) => courier.claim.claimId))];
      const still = await this.#lanes.renew(ids, config.leaseMs);
      for (const courier of held) {
        const { claimId, callId, endpoint } = courier.claim;
        if (still.has(`${claimId} ${callId} ${endpoint}`)) courier.leaseEndsMs = leaseEndsMs;
        else courier.abort(); // already given back, or another process has it: nothing more is sent under it
      }
    } catch (error) {
      log.warn({ err: error }, 'leases could not be renewed');
    }
  }
}

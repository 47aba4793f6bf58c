/*
 * One endpoint's health, by the attempts of this process.
 *
 *   closed ──failures──▶ open ──wait──▶ probing ──success──▶ closed, slowly at first
 *                          ▲                └──failure──▶ open, waiting longer
 */
type BreakerState =
  | { at: 'closed'; failures: number; hard: number; calls: Set<string>; ramp: number }
  | { at: 'open'; probeAt: number; waitMs: number };

const failuresToOpen = 5;
/** A 500 to one call alone says little about the endpoint: it may be caused by the content of that call. */
const callsToOpen = 3;
const firstWaitMs = 1_000;
const longestWaitMs = 60_000;
/** A receiver that comes back meets two requests at once, then twice as many with each success. */
const rampFrom = 2;

/** Decides how many calls may be delivered to one endpoint at once. Pure but for its own state: the caller has the clock. */
export class Breaker {
  readonly #concurrency: number;
  #state: BreakerState;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#state = {
      at: 'closed',
      failures: 0,
      hard: 0,
      calls: new Set(),
      ramp: Math.min(rampFrom * 4, concurrency),
    };
  }

  get isOpen(): boolean {
    return this.#state.at === 'open';
  }

  /** The number of calls that may be claimed now. A probe claims one call, whether or not that call is due. */
  room(inFlight: number, nowMs: number): { calls: number; probe: boolean } {
    const state = this.#state;
    if (state.at === 'open')
      return { calls: inFlight === 0 && nowMs >= state.probeAt ? 1 : 0, probe: true };
    return { calls: Math.max(0, Math.min(this.#concurrency, state.ramp) - inFlight), probe: false };
  }

  /** The endpoint answered. Returns true if it had been considered down. */
  succeeded(nowMs: number): boolean {
    const state = this.#state;
    if (state.at === 'open') {
      // This attempt began before the breaker opened. The pause that the receiver asked for is kept all the same.
      if (nowMs < state.probeAt) return false;
      this.#state = {
        at: 'closed',
        failures: 0,
        hard: 0,
        calls: new Set(),
        ramp: Math.min(rampFrom, this.#concurrency),
      };
      return true;
    }
    state.failures = 0;
    state.hard = 0;
    state.calls.clear();
    state.ramp = Math.min(this.#concurrency, state.ramp * 2);
    return false;
  }

  /** `hard`: the endpoint did not answer at all, or asked for a pause. */
  failed(callId: string, hard: boolean, nowMs: number, random: number, askedMs?: number): void {
    const state = this.#state;
    if (state.at === 'open') {
      // Attempts that were in progress when the breaker opened fail one after the other. Together they count as one
      // failure.
      if (nowMs < state.probeAt) return;
      const waitMs = Math.min(longestWaitMs, state.waitMs * 2);
      this.#open(Math.max(waitMs, askedMs ?? 0), waitMs, nowMs, random);
      return;
    }
    state.failures++;
    if (hard) state.hard++;
    state.calls.add(callId);
    if (askedMs !== undefined) this.#open(askedMs, firstWaitMs, nowMs, 0);
    else if (
      state.hard >= failuresToOpen ||
      (state.failures >= failuresToOpen && state.calls.size >= callsToOpen)
    )
      this.#open(firstWaitMs, firstWaitMs, nowMs, random);
  }

  #open(forMs: number, waitMs: number, nowMs: number, random: number): void {
    this.#state = { at: 'open', probeAt: nowMs + forMs * (1 + 0.2 * random), waitMs };
  }
}

/**
 * The time since which an endpoint accepts no events, with the reason. It begins with the first failure: a single
 * call fails for a long time before the breaker opens.
 */
export class EndpointTrouble {
  #current: { sinceMs: number; reason: string } | undefined;

  get current(): Readonly<{ sinceMs: number; reason: string }> | undefined {
    return this.#current;
  }

  /** Notes a failure. Returns true if the trouble has just begun. */
  begins(atMs: number, reason: string): boolean {
    const before = this.#current;
    this.#current = { sinceMs: before?.sinceMs ?? atMs, reason };
    return before === undefined;
  }

  /** Notes that the endpoint accepts events again. Returns true if there was trouble until now. */
  ends(): boolean {
    const was = this.#current !== undefined;
    this.#current = undefined;
    return was;
  }
}

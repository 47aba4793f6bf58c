/*
 * One endpoint's health, by the attempts of this process.
 *
 *   closed ──failures──▶ open ──wait──▶ probing ──success──▶ closed, slowly at first
 *                          ▲                └──failure──▶ open, waiting longer
 */
type State =
  | { at: 'closed'; failures: number; hard: number; calls: Set<string>; ramp: number }
  | { at: 'open'; probeAt: number; waitMs: number };

const failuresToOpen = 5;
/** An answered 500 says little when one call alone gets it: it may be that call's content. */
const callsToOpen = 3;
const firstWaitMs = 1_000;
const longestWaitMs = 60_000;
/** After a silence the receiver meets two requests at once, then twice as many with each success. */
const rampFrom = 2;

export class Breaker {
  readonly #concurrency: number;
  #state: State;

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

  /** How many more calls may be taken up now; a probe takes one whether or not it is due. */
  room(inFlight: number, nowMs: number): { calls: number; probe: boolean } {
    const state = this.#state;
    if (state.at === 'open')
      return { calls: inFlight === 0 && nowMs >= state.probeAt ? 1 : 0, probe: true };
    return { calls: Math.max(0, Math.min(this.#concurrency, state.ramp) - inFlight), probe: false };
  }

  /** When the endpoint answered; true when it had been thought lost. */
  succeeded(nowMs: number): boolean {
    const state = this.#state;
    if (state.at === 'open') {
      // An attempt from before it opened: the quiet that was asked for is kept all the same.
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

  /** `hard`: it did not answer at all, or asked for quiet. */
  failed(callId: string, hard: boolean, nowMs: number, random: number, askedMs?: number): void {
    const state = this.#state;
    if (state.at === 'open') {
      // Attempts that were under way when it opened fail one after the other: they are one failure.
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

import { deliver, type Fate, type DeliveryLane } from '../../lib/claims.ts';
import { type Clock, wait } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';

/** Only acks and partials may be dropped: later ones replace them. */
export type MessageKind = 'ack' | 'partial' | 'message';

export type CallbackOutcome =
  | { outcome: 'delivered' }
  | { outcome: 'failed'; reason: string; retryAfterMs?: number | undefined }
  | { outcome: 'refused'; reason: string };
/** The id is the same in all attempts, so a receiver recognises a repetition. */
type SendCallback = (id: string, body: string) => Promise<CallbackOutcome>;

/**
 * The first attempt is made at once and further attempts after these waits. Then the callback is given up and logged.
 */
const retryDelaysMs: readonly number[] = [5_000, 30_000, 120_000, 600_000];
/** A receiver may ask for a longer pause by `Retry-After`, up to this long for each attempt. */
export const longestAskedMs = 600_000;

/** The decision after the attempt of this number, counted from 1. */
export function fateOf(outcome: CallbackOutcome, attempts: number, nowMs: number): Fate {
  if (outcome.outcome === 'delivered') return 'delivered';
  const delayMs = outcome.outcome === 'refused' ? undefined : retryDelaysMs[attempts - 1];
  if (outcome.outcome === 'refused' || delayMs === undefined) return { park: outcome.reason };
  return { retryAt: nowMs + Math.max(delayMs, outcome.retryAfterMs ?? 0) };
}

/** At most this many callbacks of one session wait for one URL. */
export const maxWaitingCallbacks = 2_000;

type CallbackQueueOptions = {
  deliver: SendCallback;
  /** A prefix that is unique to the session. The number of the callback follows it. */
  idPrefix: string;
  clock: Clock;
  /** The number of callbacks that an earlier run of the process delivered or gave up. */
  settledBefore?: number;
  /** Called when the first `count` callbacks are delivered or given up. */
  onSettled(count: number): void;
  onGivenUp(reason: string): void;
};

type QueuedCallback = { body: string; kind: MessageKind; ordinal: number };

/**
 * The callbacks of one session to one URL. They are sent in order, one at a time, until each is delivered or given up.
 * Adding never waits. A full queue drops acks and partials first, because later ones replace them. The waiting
 * callbacks are in memory; after a restart they are taken from the session's log.
 */
export class CallbackQueue implements DeliveryLane<QueuedCallback, { fate: Fate }> {
  readonly #options: CallbackQueueOptions;
  #waiting: QueuedCallback[] = [];
  #added: number;
  #working = false;
  /** The callback that must be tried again, and its attempts so far. */
  #again: QueuedCallback | undefined;
  #attempts = 0;
  #closed = false;
  #idle: (() => void)[] = [];
  dropped = 0;

  constructor(options: CallbackQueueOptions) {
    this.#options = options;
    this.#added = options.settledBefore ?? 0;
  }

  get isIdle(): boolean {
    return !this.#working && this.#waiting.length === 0;
  }

  add(body: string, kind: MessageKind): void {
    if (this.#closed) return;
    this.#waiting.push({ body, kind, ordinal: ++this.#added });
    if (this.#waiting.length > maxWaitingCallbacks) this.#dropOne();
    if (!this.#working) this.#work().catch(() => this.#options.onGivenUp('unexpected error'));
  }

  /** Resolves when everything added so far is delivered or given up. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Stops sending. The waiting callbacks are in the session's log and are sent after a restart. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  next(): Promise<QueuedCallback | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const again = this.#again;
    this.#again = undefined;
    if (again === undefined) this.#attempts = 0;
    return Promise.resolve(again ?? this.#waiting.shift());
  }

  async attempt(item: QueuedCallback): Promise<{ fate: Fate } | undefined> {
    const { deliver: send, idPrefix, clock } = this.#options;
    const outcome = await send(`${idPrefix}${item.ordinal}`, item.body).catch(
      (error: unknown): CallbackOutcome => ({ outcome: 'failed', reason: reasonOf(error) }),
    );
    return this.#closed
      ? undefined
      : { fate: fateOf(outcome, ++this.#attempts, clock.monotonicMs()) };
  }

  delivered({ ordinal }: QueuedCallback): Promise<boolean> {
    if (!this.#closed) this.#options.onSettled(ordinal);
    return Promise.resolve(true);
  }

  async retry(item: QueuedCallback, _attempt: unknown, at: number): Promise<boolean> {
    await wait(this.#options.clock, at - this.#options.clock.monotonicMs());
    this.#again = item;
    return !this.#closed;
  }

  park(item: QueuedCallback, _attempt: unknown, reason: string): Promise<boolean> {
    this.#options.onGivenUp(reason);
    return this.delivered(item);
  }

  async #work(): Promise<void> {
    this.#working = true;
    await deliver(this);
    this.#working = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Drops the least important callback. The callback that is being sent has already left the list. */
  #dropOne(): void {
    this.dropped++;
    for (const kind of ['ack', 'partial', 'message'] as const) {
      const index = this.#waiting.findIndex((item) => item.kind === kind);
      if (index !== -1) {
        this.#waiting.splice(index, 1);
        return;
      }
    }
  }
}

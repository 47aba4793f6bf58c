import { type Clock, wait } from '../../lib/clock.ts';

/** Only acks and partials may be dropped: later ones replace them. */
export type MessageKind = 'ack' | 'partial' | 'message';

export type CallbackOutcome =
  { outcome: 'delivered' } | { outcome: 'failed' | 'refused'; reason: string };
/** The id is the same in all attempts, so a receiver recognises a repetition. */
type SendCallback = (id: string, body: string) => Promise<CallbackOutcome>;

/**
 * The first attempt is made at once and further attempts after these waits. Then the callback is given up and logged.
 */
export const retryDelaysMs: readonly number[] = [5_000, 30_000, 120_000, 600_000];

/** At most this many callbacks of one session wait for one URL. */
export const maxWaitingCallbacks = 2_000;

type CallbackQueueOptions = {
  deliver: SendCallback;
  /** A prefix that is unique to the session. The number of the callback follows it. */
  idPrefix: string;
  clock: Clock;
  retryDelaysMs?: readonly number[];
  /** The number of callbacks that an earlier run of the process delivered or gave up. */
  settledBefore?: number;
  /** Called when the first `count` callbacks are delivered or given up. */
  onSettled(count: number): void;
  onGivenUp(reason: string): void;
};

type QueuedCallback = { body: string; kind: MessageKind; ordinal: number };

/**
 * The callbacks of one session to one URL. They are sent in order, one at a time, until each is delivered or given up.
 * Adding never waits. A full queue drops acks and partials first, because later ones replace them.
 */
export class CallbackQueue {
  readonly #options: CallbackQueueOptions;
  readonly #delays: readonly number[];
  #waiting: QueuedCallback[] = [];
  #added: number;
  #working = false;
  #closed = false;
  #idle: (() => void)[] = [];
  dropped = 0;

  constructor(options: CallbackQueueOptions) {
    this.#options = options;
    this.#added = options.settledBefore ?? 0;
    this.#delays = options.retryDelaysMs ?? retryDelaysMs;
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

  async #work(): Promise<void> {
    this.#working = true;
    for (let item = this.#waiting.shift(); item && !this.#closed; item = this.#waiting.shift()) {
      await this.#settle(item);
      if (!this.#closed) this.#options.onSettled(item.ordinal);
    }
    this.#working = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #settle(item: QueuedCallback): Promise<void> {
    for (let attempt = 0; !this.#closed; attempt++) {
      const delivery = await this.#try(item);
      if (delivery.outcome === 'delivered') return;
      const delayMs = delivery.outcome === 'refused' ? undefined : this.#delays[attempt];
      if (delayMs === undefined) {
        this.#options.onGivenUp(delivery.reason);
        return;
      }
      await wait(this.#options.clock, delayMs);
    }
  }

  async #try({ body, ordinal }: QueuedCallback): Promise<CallbackOutcome> {
    try {
      return await this.#options.deliver(`${this.#options.idPrefix}${ordinal}`, body);
    } catch (error) {
      return { outcome: 'failed', reason: error instanceof Error ? error.message : 'unknown' };
    }
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

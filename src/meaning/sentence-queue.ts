import type { Clock } from '../lib/clock.ts';
import type { SentenceDirection } from './directions.ts';
import { meaningMetrics } from './metrics.ts';

/** At most this many sentences of live calls wait. */
export const maxSentencesWaiting = 64;
/** A sentence of a live call that has waited this long is judged without its meaning. */
export const liveWithinMs = 300;
/** At most this many directions are kept in memory, by their texts. */
const maxKept = 10_000;

type AskedSentence = { text: string; done: (direction: SentenceDirection | undefined) => void };

/** Sentences that wait for their direction. One is asked for at a time, so a live one never waits behind a list. */
export class SentenceQueue {
  readonly #clock: Clock;
  readonly #ask: (text: string) => Promise<SentenceDirection | undefined>;
  readonly #kept = new Map<string, SentenceDirection>();
  readonly #live: AskedSentence[] = [];
  readonly #later: AskedSentence[] = [];
  #isAsking = false;

  constructor(clock: Clock, ask: (text: string) => Promise<SentenceDirection | undefined>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Undefined where there is no room or no time. */
  async live(text: string): Promise<SentenceDirection | undefined> {
    const kept = this.#keptOf(text);
    if (kept !== undefined) return kept;
    if (this.#live.length >= maxSentencesWaiting) {
      meaningMetrics.dropped.inc({ why: 'full' });
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<SentenceDirection | undefined>();
    const asked: AskedSentence = { text, done: resolve };
    const stop = this.#clock.after(liveWithinMs, () => {
      const at = this.#live.indexOf(asked);
      if (at >= 0) this.#live.splice(at, 1);
      meaningMetrics.dropped.inc({ why: 'late' });
      resolve(undefined);
    });
    const sinceMs = this.#clock.monotonicMs();
    this.#live.push(asked);
    void this.#work();
    const direction = await promise;
    stop();
    if (direction !== undefined)
      meaningMetrics.waited.observe((this.#clock.monotonicMs() - sinceMs) / 1_000);
    return direction;
  }

  /** For work that nobody waits for in a call. The caller asks for one sentence after the other. */
  later(text: string): Promise<SentenceDirection | undefined> {
    const kept = this.#keptOf(text);
    if (kept !== undefined) return Promise.resolve(kept);
    const { promise, resolve } = Promise.withResolvers<SentenceDirection | undefined>();
    this.#later.push({ text, done: resolve });
    void this.#work();
    return promise;
  }

  /** The one that was asked for last is forgotten last. */
  #keptOf(text: string): SentenceDirection | undefined {
    const kept = this.#kept.get(text);
    if (kept === undefined) return undefined;
    this.#kept.delete(text);
    this.#kept.set(text, kept);
    return kept;
  }

  async #work(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    for (let asked = this.#next(); asked !== undefined; asked = this.#next()) {
      const { text, done } = asked;
      const direction = this.#keptOf(text) ?? (await this.#ask(text));
      if (direction !== undefined) this.#keep(text, direction);
      done(direction);
    }
    this.#isAsking = false;
  }

  #next(): AskedSentence | undefined {
    return this.#live.shift() ?? this.#later.shift();
  }

  #keep(text: string, direction: SentenceDirection): void {
    this.#kept.set(text, direction);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}

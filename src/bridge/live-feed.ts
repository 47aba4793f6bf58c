import type { PartialMessage } from '../protocol/api.ts';

/** A stored event as the feed passes it on: the envelope's own bytes. */
export type FeedEvent = {
  id: string;
  callId: string;
  sequence: number;
  type: string;
  body: string;
};

export type FeedMessage =
  | { kind: 'event'; event: FeedEvent }
  | { kind: 'partial'; callId: string; message: PartialMessage }
  /** Something about the call changed that its events do not say; who watches reads it anew. */
  | { kind: 'call'; callId: string }
  | { kind: 'deleted'; callId: string }
  /** Something was missed, nobody knows what: whoever watches loads anew. */
  | { kind: 'reset' };

type Watcher = (message: FeedMessage) => void;

type Missed =
  | { outcome: 'known'; events: FeedEvent[] }
  /** Older than what is kept in memory: the rows know. */
  | { outcome: 'unknown' };

/**
 * What happens to calls, as it happens, for the event streams of pages and agent-assist tools. Keeps the
 * last events, bounded, so that a watcher that was away for a moment goes on where it was.
 */
export class LiveFeed {
  readonly #bufferEvents: number;
  readonly #watchers = new Set<Watcher>();
  /** Other nodes: they hear of the calls of this one alone. */
  readonly #ownWatchers = new Set<Watcher>();
  #tellWatched: (isWatched: boolean) => void = () => undefined;
  #recent: FeedEvent[] = [];

  constructor(bufferEvents: number) {
    this.#bufferEvents = bufferEvents;
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0 || this.#ownWatchers.size > 0;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  publish(message: FeedMessage): void {
    if (message.kind === 'event') this.#keep(message.event);
    if (message.kind === 'deleted')
      this.#recent = this.#recent.filter((event) => event.callId !== message.callId);
    for (const watcher of this.#ownWatchers) watcher(message);
    for (const watcher of this.#watchers) watcher(message);
  }

  /** Of a call of another node: for those who watch here. */
  publishRemote(message: FeedMessage): void {
    for (const watcher of this.#watchers) watcher(message);
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#tellWatched(true);
    return () => {
      if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.#tellWatched(false);
    };
  }

  watchOwn(watcher: Watcher): () => void {
    this.#ownWatchers.add(watcher);
    return () => this.#ownWatchers.delete(watcher);
  }

  /** Told when the first begins to watch here, and when the last has stopped. */
  onWatched(tell: (isWatched: boolean) => void): void {
    this.#tellWatched = tell;
  }

  /** Everything published after the event of that id. */
  since(id: string): Missed {
    const at = this.#recent.findLastIndex((event) => event.id === id);
    return at < 0
      ? { outcome: 'unknown' }
      : { outcome: 'known', events: this.#recent.slice(at + 1) };
  }

  #keep(event: FeedEvent): void {
    this.#recent.push(event);
    // Trimmed in strides: moving the whole array for each event would cost more than the events.
    if (this.#recent.length >= this.#bufferEvents * 2)
      this.#recent = this.#recent.slice(-this.#bufferEvents);
  }
}

import type { PartialMessage } from '../protocol/api.ts';

/** A stored event as the feed passes it on, with the exact bytes of its envelope. */
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
  /** Something about the call has changed that no event reports. Watchers read the call again. */
  | { kind: 'call'; callId: string }
  | { kind: 'deleted'; callId: string }
  /** An unknown number of events was missed. Watchers reload everything. */
  | { kind: 'reset' };

type Watcher = (message: FeedMessage) => void;

type Missed =
  | { outcome: 'known'; events: FeedEvent[] }
  /** The event is older than those in memory, so later events must be read from the rows. */
  | { outcome: 'unknown' };

/**
 * Live notices about calls, for the event streams of pages and agent-assist tools. The last events are kept, up to a
 * limit, so that a watcher with a short interruption can continue.
 */
export class LiveFeed {
  readonly #bufferEvents: number;
  readonly #watchers = new Set<Watcher>();
  /** Watchers at other nodes. They get only notices about calls of this node. */
  readonly #ownWatchers = new Set<Watcher>();
  /** Parts that only forget erased calls. They do not count as watchers. */
  readonly #forgetters = new Set<(callId: string) => void>();
  #tellWatched: (isWatched: boolean) => void = () => undefined;
  #recent: FeedEvent[] = [];
  /** True if watchers here also see calls of other nodes, whose events are not kept here. */
  #isShared = false;

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
    if (message.kind === 'deleted') for (const forget of this.#forgetters) forget(message.callId);
    for (const watcher of this.#ownWatchers) watcher(message);
    for (const watcher of this.#watchers) watcher(message);
  }

  /** Calls `forget` for each call that is erased by this node. */
  whenErased(forget: (callId: string) => void): () => void {
    this.#forgetters.add(forget);
    return () => this.#forgetters.delete(forget);
  }

  /** Publishes a notice about another node's call to the watchers of this node. */
  publishRemote(message: FeedMessage): void {
    this.#isShared = true;
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

  /** Calls `tell` when the first watcher arrives here and when the last one has left. */
  onWatched(tell: (isWatched: boolean) => void): void {
    this.#tellWatched = tell;
  }

  /** Returns everything published after the event with that id. Only the rows tell it for calls of other nodes. */
  since(id: string): Missed {
    if (this.#isShared) return { outcome: 'unknown' };
    const at = this.#recent.findLastIndex((event) => event.id === id);
    return at < 0
      ? { outcome: 'unknown' }
      : { outcome: 'known', events: this.#recent.slice(at + 1) };
  }

  #keep(event: FeedEvent): void {
    this.#recent.push(event);
    // The array is trimmed rarely, in large steps: moving it for each event would cost more than the events.
    if (this.#recent.length >= this.#bufferEvents * 2)
      this.#recent = this.#recent.slice(-this.#bufferEvents);
  }
}

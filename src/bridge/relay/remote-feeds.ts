import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { FeedEvent, FeedMessage, LiveFeed } from '../live-feed.ts';

/** A node that watches us and reads too slowly is disconnected. It then reloads everything. */
export const maxUnreadFeedBytes = 4_000_000;
const lookEveryMs = 2_000;

type RemoteFeedsOptions = {
  feed: LiveFeed;
  /** The running nodes that have an address, by name. */
  peers(): Promise<ReadonlyMap<string, string>>;
  connect: (address: string) => WebSocket;
  /** Reads the events of all nodes that were stored since a time. Undefined if there are too many. */
  eventsSince(ms: number): Promise<FeedEvent[] | undefined>;
  clock: Clock;
};

/** While somebody watches calls here, shows the calls of all nodes. */
export class RemoteFeeds implements Disposable {
  readonly #options: RemoteFeedsOptions;
  readonly #sockets = new Map<string, WebSocket>();
  #looks: Loop | undefined;
  /** When the first watcher came. What other nodes told before, watchers read from the rows. */
  #watchedAtMs = 0;
  /** When the connection to a node was cut. */
  readonly #cutAtMs = new Map<string, number>();

  constructor(options: RemoteFeedsOptions) {
    this.#options = options;
    options.feed.onWatched((isWatched) => {
      this.#stop();
      this.#watchedAtMs = options.clock.now();
      if (isWatched)
        this.#looks = every(options.clock, lookEveryMs, () => this.#look(), {
          firstMs: 0,
          failed: () => undefined, // the database's health check reports that it is unreachable; the next look follows
        });
    });
  }

  /** Sends notices of our own calls to another node that watches. */
  serve(socket: WebSocket): void {
    const stop = this.#options.feed.watchOwn((message) => {
      if (socket.bufferedAmount > maxUnreadFeedBytes) socket.terminate();
      else socket.send(JSON.stringify(message), () => undefined);
    });
    socket.on('close', stop);
    socket.on('message', () => socket.terminate()); // the other node has nothing to say here
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #stop(): void {
    void this.#looks?.stop();
    this.#looks = undefined;
    for (const socket of this.#sockets.values()) socket.terminate();
    this.#sockets.clear();
    this.#cutAtMs.clear();
  }

  async #look(): Promise<void> {
    for (const [node, address] of await this.#options.peers())
      if (this.#looks !== undefined && !this.#sockets.has(node)) this.#watch(node, address);
  }

  #watch(node: string, address: string): void {
    const { feed, connect } = this.#options;
    const socket = connect(address);
    this.#sockets.set(node, socket);
    let wasOpen = false;
    socket.on('open', () => {
      wasOpen = true;
      void this.#catchUp(socket, node);
    });
    socket.on('message', (data: RawData) => {
      // The message comes from our own node, proved by its key. A message that cannot be parsed is of another version
      // and is ignored.
      try {
        feed.publishRemote(JSON.parse((data as Buffer).toString('utf8')) as FeedMessage);
      } catch {
        socket.terminate();
      }
    });
    socket.on('close', () => {
      if (this.#sockets.get(node) !== socket) return;
      this.#sockets.delete(node);
      if (!wasOpen || this.#looks === undefined) return;
      // Messages may be on their way that nobody will get, so watchers reload everything.
      this.#cutAtMs.set(node, this.#options.clock.now());
      feed.publishRemote({ kind: 'reset' });
    });
  }

  /** Tells what the node's calls told before this connection was open: since somebody watches, or since the last one. */
  async #catchUp(socket: WebSocket, node: string): Promise<void> {
    const { feed } = this.#options;
    const sinceMs = this.#cutAtMs.get(node) ?? this.#watchedAtMs;
    try {
      const events = await this.#options.eventsSince(sinceMs);
      if (this.#sockets.get(node) !== socket) return;
      if (events === undefined) feed.publishRemote({ kind: 'reset' });
      for (const event of events ?? []) feed.publishRemote({ kind: 'event', event });
      this.#cutAtMs.delete(node);
    } catch {
      // The rows cannot be read now. The next connection tries it again.
      socket.terminate();
    }
  }
}

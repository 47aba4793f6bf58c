import ipaddr from 'ipaddr.js';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIPv6, type DropArgument, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import { counter } from '../lib/metrics.ts';
import type { IsProxy } from './addresses.ts';

/**
 * One connection may need this many file handles: its own, and one for each socket of a call's two legs to the speech
 * service.
 */
const handlesPerConnection = 3;
/** A port accepts this many connections even if few handles are available. */
export const leastConnections = 16;
/** This many handles stay free for the store, the journals, deliveries to the CRM and the recognisers. */
const handlesReserved = 96;
/**
 * One address may always have this many connections. They are enough for the requests of this machine and of one page.
 */
const leastOfOneAddress = 32;
/** At most one line about refused connections is logged in this time. */
const toldEveryMs = 10_000;

/** The number of files and sockets that this process may have open; undefined where the system does not say. */
export function handleLimit(): number | undefined {
  try {
    // Node has already raised the soft limit to the hard one, so both columns are equal.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // this is not Linux, and other systems allow far more than any number of calls needs
  }
}

type ConnectionRoom = {
  /** Beyond this number the system closes a connection at once. */
  connectionsAtMost: number;
  /**
   * Beyond this number no new call is accepted. The remaining connections are for running calls and for refusals that
   * give a reason.
   */
  newCallsBelow: number;
  /** The most connections of one address that wait for an answer or have sent nothing yet. Streams do not count. */
  ofOneAddress: number;
};

/** Returns the wanted number of connections, or fewer if the limit of handles does not leave as many. */
export function connectionRoom(wanted: number, limit: number | undefined): ConnectionRoom {
  const possible =
    limit === undefined ? wanted : Math.floor((limit - handlesReserved) / handlesPerConnection);
  const connectionsAtMost = Math.max(leastConnections, Math.min(wanted, possible));
  return {
    connectionsAtMost,
    newCallsBelow: connectionsAtMost - Math.ceil(connectionsAtMost / 8),
    ofOneAddress: Math.max(leastOfOneAddress, Math.floor(connectionsAtMost / 2)),
  };
}

/**
 * Limits how much of a resource for strangers one address may take, so that one that takes all it can leaves room for
 * the others. A proxy speaks for many clients and is not counted. IPv6 is counted by network, because a stranger can
 * have any number of addresses in one.
 */
export class AddressShare {
  readonly atMost: number;
  readonly #isProxy: IsProxy;
  readonly #held = new Map<string, number>();

  constructor(atMost: number, isProxy: IsProxy) {
    this.atMost = atMost;
    this.#isProxy = isProxy;
  }

  isUsedUp(address: string | undefined): boolean {
    return (
      address !== undefined &&
      (this.#held.get(networkOf(address)) ?? 0) >= this.atMost &&
      !this.#isProxy(address)
    );
  }

  /** Takes a place. The returned function gives the place back; a second call does nothing. */
  take(address: string | undefined): () => void {
    if (address === undefined) return () => undefined;
    const network = networkOf(address);
    this.#held.set(network, (this.#held.get(network) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#held.get(network) ?? 0) - 1;
      if (left > 0) this.#held.set(network, left);
      else this.#held.delete(network);
    };
  }
}

/** The address itself, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : parsed.toByteArray().slice(0, 8).join('.') + '/64';
}

const droppedTotal = counter(
  'trunkline_connections_dropped_total',
  'Connections closed at once because there was no room for them.',
);

const endedTotal = counter(
  'trunkline_connections_ended_total',
  'Connections ended because of what their peer did: `unread` took no bytes for 15 s, `unanswered` asked on without waiting, `crowded` held too much of what strangers share, `slow` did not send its body in time.',
  ['reason'],
);

/**
 * At most this many requests of one connection may wait for an answer: a browser sends one at a time, a pipelining
 * client a few.
 */
export const maxUnansweredOfConnection = 16;
/**
 * At most this many requests without a key may wait for an answer, over all connections. One address has half of
 * them.
 */
export const maxUnansweredOfStrangers = 4_096;
/** A connection is ended when its peer has taken none of the waiting bytes for this long. */
export const unreadMs = 15_000;
/**
 * At most this many bytes may wait for all peers without a key. Beyond that, the peers that have read nothing for the
 * longest time are ended.
 */
export const maxUnreadBytesOfStrangers = 67_108_864;
/** The open connections are checked at this interval. */
const lookEveryMs = 1_000;
/** A request is ended if its body is not complete after this time, unless its route gave it more. */
export const bodyMs = 30_000;

/** Times that routes gave to single requests. `sinceMs` is set at the next check of the connections. */
const bodyTimes = new WeakMap<IncomingMessage, { ms: number; sinceMs: number | undefined }>();

/**
 * Gives the body of this request this much time from now on. An upload takes minutes, but the rest of a refused request
 * is read only for a few seconds. Routes call this after the key was checked: strangers have `bodyMs`.
 */
export function giveBodyTime(request: IncomingMessage, ms: number): void {
  bodyTimes.set(request, { ms, sinceMs: undefined });
}

type EndedBecause = 'unread' | 'unanswered' | 'crowded' | 'slow';

/**
 * The handle of a socket shows how much of the current chunk the system has not taken yet. Node's own time-outs use it
 * too.
 */
type WithHandle = Socket & { _handle?: { writeQueueSize?: number } | null };

/**
 * The HTTP parser that Node attaches to a socket. If a version of Node has no such member, a refused packet only takes
 * longer.
 */
type WithParser = Socket & { parser?: { onIncoming?: (() => number) | null } | null };

type OpenConnection = {
  readonly socket: Socket;
  readonly giveBack: () => void;
  /** Answers in progress or waiting for their turn. Each has a function that frees its place. */
  readonly unanswered: Map<ServerResponse, () => void>;
  /** The request that was parsed last, and its time. Only this request's body can still be arriving. */
  latest: { request: IncomingMessage; sinceMs: number } | undefined;
  /** True once a request of this connection showed a key. */
  isKnown: boolean;
  /** The waiting bytes at the last check: in total, on the socket, and in the chunk that the system is taking. */
  waitingBytes: number;
  waitingOnSocket: number;
  queuedBytes: number;
  /** The time since when the peer has taken none of these bytes. */
  unreadSinceMs: number | undefined;
};

type ConnectionsOptions = {
  server: Server;
  room: ConnectionRoom;
  isProxy: IsProxy;
  log: Logger;
  clock: Clock;
  /** Further work of the port, called once a second. */
  eachLook?: () => void;
};

/**
 * Holds the open connections of the port, whatever protocol they speak. No connection has more requests waiting than
 * its limit. A connection whose peer reads nothing is ended. The bytes that wait for strangers are bounded. A peer that
 * takes all it can therefore costs running calls neither memory nor time of the event loop.
 */
export class Connections implements Disposable {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Duplex, OpenConnection>();
  readonly #share: AddressShare;
  readonly #unansweredShare: AddressShare;
  #unansweredOfStrangers = 0;
  #notLogged = 0;
  #loggedMs = -Infinity;
  readonly #looks: Loop;

  constructor(options: ConnectionsOptions) {
    const { server, room, isProxy, clock } = options;
    this.#options = options;
    this.#share = new AddressShare(room.ofOneAddress, isProxy);
    this.#unansweredShare = new AddressShare(maxUnansweredOfStrangers / 2, isProxy);
    server.maxConnections = room.connectionsAtMost;
    server.on('connection', (socket) => this.#opened(socket));
    server.on('drop', (dropped?: DropArgument) => {
      this.#dropped(dropped?.remoteAddress, room.connectionsAtMost);
    });
    this.#looks = every(clock, lookEveryMs, () => {
      this.#look();
      options.eachLook?.();
    });
  }

  get count(): number {
    return this.#open.size;
  }

  [Symbol.dispose](): void {
    void this.#looks.stop();
  }

  /**
   * Accepts a request, or ends its connection. Node parses all requests of a packet before the first is answered, and a
   * thousand of them in 45 KB would delay every running call.
   */
  admit(request: IncomingMessage, response: ServerResponse, hasKey: () => boolean): boolean {
    const connection = this.#open.get(request.socket);
    // This request came in the same packet as the one that exceeded the limit. The connection has ended.
    if (connection === undefined || request.socket.destroyed) return false;
    const { unanswered, socket } = connection;
    connection.latest = { request, sinceMs: this.#options.clock.monotonicMs() };
    if (unanswered.size >= maxUnansweredOfConnection) {
      this.#end(connection, 'unanswered');
      return false;
    }
    const isStranger = !connection.isKnown;
    const isCrowded =
      this.#unansweredOfStrangers >= maxUnansweredOfStrangers ||
      this.#unansweredShare.isUsedUp(socket.remoteAddress);
    if (isStranger && isCrowded && !hasKey()) {
      this.#end(connection, 'crowded');
      return false;
    }
    const giveBack = isStranger ? this.#unansweredShare.take(socket.remoteAddress) : undefined;
    if (isStranger) this.#unansweredOfStrangers++;
    const answered = (): void => {
      if (!unanswered.delete(response)) return;
      giveBack?.();
      if (isStranger) this.#unansweredOfStrangers--;
    };
    unanswered.set(response, answered);
    response.once('close', answered);
    return true;
  }

  /** The number of answers of this connection that are in progress or wait for their turn. */
  unansweredOf(socket: Duplex): number {
    return this.#open.get(socket)?.unanswered.size ?? 0;
  }

  /** Notes that a request of this connection showed a key. The connection no longer counts as a stranger's. */
  know(request: IncomingMessage): void {
    const connection = this.#open.get(request.socket);
    if (connection !== undefined) connection.isKnown = true;
  }

  /**
   * Gives back the place of a stream's connection in the share of its address once the stream has shown its proof.
   * Proven streams have places of their own.
   */
  admitted(socket: Duplex): void {
    this.#open.get(socket)?.giveBack();
  }

  #opened(socket: Socket): void {
    const { remoteAddress } = socket;
    const isUsedUp = this.#share.isUsedUp(remoteAddress);
    const giveBack = this.#share.take(remoteAddress);
    this.#open.set(socket, {
      socket,
      giveBack,
      unanswered: new Map(),
      latest: undefined,
      isKnown: false,
      waitingBytes: 0,
      waitingOnSocket: 0,
      queuedBytes: 0,
      unreadSinceMs: undefined,
    });
    socket.once('close', () => {
      const connection = this.#open.get(socket);
      this.#open.delete(socket);
      giveBack();
      // An answer that waited for another one gets no event when its connection closes.
      for (const answered of connection?.unanswered.values() ?? []) answered();
    });
    if (!isUsedUp) return;
    this.#dropped(remoteAddress, this.#share.atMost);
    socket.destroy();
  }

  #look(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const unread: OpenConnection[] = [];
    let bytes = 0;
    for (const connection of this.#open.values()) {
      // A connection that was ended holds nothing any more, even if its close event has not come yet.
      if (connection.socket.destroyed) continue;
      lookAt(connection, nowMs);
      if (isSlow(connection, nowMs)) {
        this.#end(connection, 'slow');
        continue;
      }
      if (connection.unreadSinceMs === undefined) continue;
      if (nowMs - connection.unreadSinceMs >= unreadMs) this.#end(connection, 'unread');
      else if (!connection.isKnown) {
        bytes += connection.waitingBytes;
        unread.push(connection);
      }
    }
    if (bytes <= maxUnreadBytesOfStrangers) return;
    unread.sort((a, b) => (a.unreadSinceMs ?? 0) - (b.unreadSinceMs ?? 0));
    for (const connection of unread) {
      if (bytes <= maxUnreadBytesOfStrangers) return;
      bytes -= connection.waitingBytes;
      this.#end(connection, 'crowded');
    }
  }

  #end({ socket }: OpenConnection, reason: EndedBecause): void {
    endedTotal.inc({ reason });
    this.#tell({ reason, address: socket.remoteAddress }, 'a connection was ended');
    parseNoFurther(socket);
    socket.destroy();
  }

  #dropped(address: string | undefined, atMost: number): void {
    droppedTotal.inc();
    this.#tell({ address, atMost }, 'no room for more connections');
  }

  /**
   * Writes one line at an interval and says how many refusals it stands for, because a flood of lines would fill the
   * disk.
   */
  #tell(fields: Record<string, unknown>, message: string): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#notLogged++;
    if (nowMs - this.#loggedMs < toldEveryMs) return;
    this.#loggedMs = nowMs;
    this.#options.log.warn({ ...fields, dropped: this.#notLogged }, message);
    this.#notLogged = 0;
  }
}

/**
 * Stops parsing the rest of the packet. The parser does not know that its socket was destroyed. It would make a
 * thousand requests of a packet of 45 KB in vain, at 0.1 ms of the event loop each. The 2 is Node's code for a
 * connection that changes to another protocol.
 */
function parseNoFurther(socket: WithParser): void {
  const { parser } = socket;
  if (parser?.onIncoming) parser.onIncoming = () => 2;
}

/** True if the body of a request has used up its time. Node's own time-out is the same for all requests. */
function isSlow({ latest }: OpenConnection, nowMs: number): boolean {
  if (latest === undefined || latest.request.complete) return false;
  const given = bodyTimes.get(latest.request);
  if (given === undefined) return nowMs - latest.sinceMs >= bodyMs;
  given.sinceMs ??= nowMs;
  return nowMs - given.sinceMs >= given.ms;
}

/**
 * Notes the bytes that wait for a peer, and since when it has taken none. A peer takes bytes when the current chunk
 * becomes shorter.
 */
function lookAt(connection: OpenConnection, nowMs: number): void {
  const { socket, unanswered } = connection;
  const waiting = socket.writableLength;
  const queued = (socket as WithHandle)._handle?.writeQueueSize ?? waiting;
  const hasTaken = queued !== connection.queuedBytes || waiting < connection.waitingOnSocket;
  connection.queuedBytes = queued;
  connection.waitingOnSocket = waiting;
  if (waiting === 0) connection.unreadSinceMs = undefined;
  else if (hasTaken || connection.unreadSinceMs === undefined) connection.unreadSinceMs = nowMs;
  // The length of the current answer includes that of its socket. The answers that wait after it have only their own.
  let behind = 0;
  for (const response of unanswered.keys())
    if (response.socket === null) behind += response.writableLength;
  connection.waitingBytes = waiting + behind;
}

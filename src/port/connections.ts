import ipaddr from 'ipaddr.js';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { isIPv6, type DropArgument } from 'node:net';
import { Counter } from 'prom-client';
import type { Duplex } from 'node:stream';
import type { Logger } from '../lib/log.ts';
import { metrics } from '../lib/metrics.ts';
import type { IsProxy } from './addresses.ts';

/** Handles that one connection may bring with it: its own and the sockets of a call's two legs to the speech service. */
export const handlesPerConnection = 3;
/** Handles for the store, the journals, deliveries to the CRM and the recognisers. */
export const handlesReserved = 96;
/** Connections of one address however few there are in all: our own requests and those of one page fit. */
export const leastOfOneAddress = 32;
/** A flood of dropped connections is one line of the log in this time. */
const droppedLogMs = 10_000;

/** How many files and sockets this process may have open; undefined where the system does not say. */
export function handleLimit(): number | undefined {
  try {
    // The runtime has raised its soft limit to the hard one by now: both columns are the same.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux; the usual bound of other systems is far above any number of calls
  }
}

export type ConnectionRoom = {
  /** Beyond it the system closes a connection at once. */
  connectionsAtMost: number;
  /** Beyond it no new call is taken. The rest is for calls that go on, and for refusals that say why. */
  newCallsBelow: number;
  /** Connections of one address that wait for an answer or have said nothing yet. Streams do not count. */
  ofOneAddress: number;
};

/** As many connections as wanted, or as the limit of handles leaves when everything else has its own. */
export function connectionRoom(wanted: number, limit: number | undefined): ConnectionRoom {
  const possible =
    limit === undefined ? wanted : Math.floor((limit - handlesReserved) / handlesPerConnection);
  const connectionsAtMost = Math.max(16, Math.min(wanted, possible));
  return {
    connectionsAtMost,
    newCallsBelow: connectionsAtMost - Math.ceil(connectionsAtMost / 8),
    ofOneAddress: Math.max(leastOfOneAddress, Math.floor(connectionsAtMost / 2)),
  };
}

/**
 * Bounds what one address takes of something that strangers share, so that one that takes all it can leaves room for
 * the others. A proxy speaks for many and is not counted. Of IPv6 the network counts: a stranger has as many
 * addresses of it as wanted.
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

  /** Takes a place; the answer gives it back, and does nothing the second time. */
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

const droppedTotal = new Counter({
  name: 'trunkline_connections_dropped_total',
  help: 'Connections closed at once because there was no room for them.',
  registers: [metrics],
});

/**
 * Answers how many connections are open. An address that has used up its share of those that are no streams is closed
 * at once. What was dropped is counted, and a flood of it is one line now and then.
 */
export function countConnections(server: Server, share: AddressShare, log: Logger): () => number {
  let open = 0;
  let dropped = 0;
  let loggedMs = -Infinity;
  const drop = (address: string | undefined, atMost: number): void => {
    droppedTotal.inc();
    dropped++;
    if (performance.now() - loggedMs < droppedLogMs) return;
    loggedMs = performance.now();
    log.warn({ dropped, address, atMost }, 'no room for more connections');
    dropped = 0;
  };
  const shares = new WeakMap<Duplex, () => void>();
  server.on('connection', (socket) => {
    open++;
    const { remoteAddress } = socket;
    const isUsedUp = share.isUsedUp(remoteAddress);
    const giveBack = share.take(remoteAddress);
    shares.set(socket, giveBack);
    socket.once('close', () => {
      open--;
      giveBack();
    });
    if (!isUsedUp) return;
    drop(remoteAddress, share.atMost);
    socket.destroy();
  });
  // A connection that becomes a stream has places of its own elsewhere: the share of its address is free again.
  server.on('upgrade', (_request, socket) => shares.get(socket)?.());
  server.on('drop', (connection?: DropArgument) => {
    drop(connection?.remoteAddress, server.maxConnections);
  });
  return () => open;
}

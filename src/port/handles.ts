import { readFileSync } from 'node:fs';

/** What one connection may bring with it: the sockets of a call's two legs towards the speech service. */
const handlesPerConnection = 3;
/** For the store, the journals, deliveries to the CRM and the recognisers (T11). */
const handlesReserved = 96;

/** Our own requests, and those of a page, have this much however small the room is. */
const leastOfOneAddress = 32;

/** How many files and sockets this process may have open; undefined where the system does not say. */
export function handleLimit(): number | undefined {
  try {
    // The runtime has raised its soft limit to the hard one by now: both columns are the same.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // no Linux; elsewhere the usual bound is far above any number of calls
  }
}

export type ConnectionRoom = {
  /** Beyond it the system closes a connection at once. */
  connectionsAtMost: number;
  /** Beyond it no new call is taken; what stands between is for those that are in, and to refuse in words. */
  newCallsBelow: number;
  /** So many of one address wait for an answer or for their first word; streams are not counted (T7). */
  ofOneAddress: number;
};

/** As many connections as wanted, or as the limit of handles leaves when everything else still has its own. */
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

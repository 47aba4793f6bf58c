import { WebSocket, type RawData } from 'ws';

/** If one side has this many unread bytes, nothing more is read from the other side. */
const maxUnreadBytes = 1_048_576;

/**
 * Passes messages between a client and the node that has its session, in both directions, with their close codes. A
 * slow reader slows down the other side; nothing is stored here.
 */
export function tunnel(client: WebSocket, node: WebSocket): void {
  passOn(client, node);
  passOn(node, client);
  node.resume();
}

function passOn(from: WebSocket, to: WebSocket): void {
  from.on('message', (data: RawData, isBinary: boolean) => {
    to.send(data as Buffer, { binary: isBinary }, () => {
      if (to.bufferedAmount <= maxUnreadBytes) from.resume();
    });
    if (to.bufferedAmount > maxUnreadBytes) from.pause();
  });
  from.on('ping', (data) => to.readyState === WebSocket.OPEN && to.ping(data));
  from.on('error', () => from.terminate());
  from.on('close', (code: number, reason: Buffer) => {
    if (to.readyState !== WebSocket.OPEN) return to.terminate();
    // 1005 and 1006 describe how a socket ended and cannot be sent. The other end sees the same: its socket is gone.
    if (code === 1005) to.close();
    else if (code === 1006) to.terminate();
    else to.close(code, reason);
  });
}

import { WebSocket, type RawData } from 'ws';

/** Bytes that one side has not read: then the other is not read either. */
const maxUnreadBytes = 1_048_576;

/**
 * Message by message from a client to the node that has its session, and back, with the codes of the ends. Whoever reads
 * slowly slows the other down; nothing is kept here.
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
    // 1005 and 1006 say how a socket ended and may not be sent: the other end sees the same, a socket that is gone.
    if (code === 1005) to.close();
    else if (code === 1006) to.terminate();
    else to.close(code, reason);
  });
}

import type { Duplex } from 'node:stream';

const statusTexts = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

export type RefusalStatus = keyof typeof statusTexts;

/** A peer that takes no bytes must not keep the connection for the sake of its refusal. */
const unreadMs = 1_000;

/**
 * Answers an upgrade with a refusal, with a line of words where there are any, and the connection goes with it:
 * nobody reads an upgraded socket, so nobody would notice that its peer has left.
 */
export function refuseUpgrade(socket: Duplex, status: RefusalStatus, words = ''): void {
  if (socket.destroyed) return;
  const unread = setTimeout(() => socket.destroy(), unreadMs);
  unread.unref();
  const body = words && `${words}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status]}\r\nConnection: close\r\n` +
      (words && 'Content-Type: text/plain; charset=utf-8\r\n') +
      (status === 401 ? 'WWW-Authenticate: Bearer\r\n' : '') +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => {
      clearTimeout(unread);
      socket.destroy();
    },
  );
}

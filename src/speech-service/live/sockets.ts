import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Upgrade } from '../../port/part.ts';
import { closeStranger, refuseUpgrade } from '../../port/upgrades.ts';
import { acknowledgedBytesHeader } from '../../protocol/acknowledged-bytes.ts';
import type { Sessions } from './sessions.ts';

type SocketsOptions = {
  sessions: Sessions;
  log: Logger;
  refuseTokenWith401: boolean;
};

const paths = new Set(['/v2/live', '/v2/live/', '/v2/live/ws']);
/** The largest message of a socket that is about to be refused: nothing of it is read. */
const strangerFrameBytes = 1_024;

/**
 * The sockets of live sessions. The handshake is completed even for a wrong token: released clients retry
 * after an HTTP error, and only a close code tells them that coming back is useless.
 */
export function liveSockets(options: SocketsOptions): Upgrade & { close(): void } {
  const servers = new Map<number, WebSocketServer>();
  const serverFor = (frameLimitBytes: number): WebSocketServer => {
    // The limit of a message is fixed when a server is made, so there is one for each power of two.
    const limit = 2 ** Math.ceil(Math.log2(frameLimitBytes));
    const existing = servers.get(limit);
    if (existing) return existing;
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: limit,
      maxFragments: 1_024,
      maxBufferedChunks: 4_096,
      perMessageDeflate: false,
      // One network chunk can hold thousands of tiny frames. Other sessions get their turn between them.
      allowSynchronousEvents: false,
      clientTracking: true,
      ...({ closeTimeout: 5_000 } as object), // newer than the published types
    });
    servers.set(limit, server);
    return server;
  };

  async function decide(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admitted: () => void,
  ): Promise<void> {
    const token = new URL(request.url ?? '', 'http://local').searchParams.get('token') ?? '';
    const found = await options.sessions.find(token);
    if (socket.destroyed) return;
    if (found.outcome === 'unknown' && options.refuseTokenWith401) {
      refuseUpgrade(socket, 401);
      return;
    }
    const limit = found.outcome === 'session' ? found.frameLimitBytes : strangerFrameBytes;
    serverFor(limit).handleUpgrade(request, socket, head, (webSocket) => {
      // ws reports a peer's mistakes here and closes by itself. Without a listener the process would end.
      webSocket.on('error', (error) => {
        options.log.debug({ reason: reasonOf(error) }, 'a live socket failed');
      });
      switch (found.outcome) {
        case 'session':
          admitted();
          found.session.connect(webSocket, acknowledgedBytesOf(request));
          return;
        case 'ended':
          closeStranger(webSocket, socket, 4403, 'session ended');
          return;
        case 'unknown':
          closeStranger(webSocket, socket, 4401, 'unknown or expired token');
      }
    });
  }

  return {
    owns: (pathname) => paths.has(pathname),
    handle(request, socket, head, admitted) {
      return decide(request, socket, head, admitted).catch((error: unknown) => {
        options.log.error({ reason: reasonOf(error) }, 'a live socket could not be opened');
        refuseUpgrade(socket, 503);
      });
    },
    close() {
      for (const server of servers.values()) {
        for (const client of server.clients) client.terminate();
        server.close();
      }
    },
  };
}

/** The byte with which the client says it begins; undefined for one that does not say a number. */
function acknowledgedBytesOf(request: IncomingMessage): number | undefined {
  const said = request.headers[acknowledgedBytesHeader];
  return typeof said === 'string' && /^\d{1,15}$/.test(said) ? Number(said) : undefined;
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Upgrade } from '../../port/part.ts';
import { closeStranger, refuseUpgrade } from '../../port/upgrades.ts';
import { acknowledgedBytesHeader } from '../../protocol/acknowledged-bytes.ts';
import { takesHintsHeader } from '../../protocol/session-hints.ts';
import type { Sessions } from './live-sessions.ts';
import { tunnel } from './tunnel.ts';

type SocketsOptions = {
  sessions: Sessions;
  log: Logger;
  refuseTokenWith401: boolean;
  others?: OtherSpeechNodes | undefined;
};

/** The other nodes of this service. A socket is forwarded to the node that has its session. */
export type OtherSpeechNodes = {
  /** A socket to that node's side of the session, or undefined if the node is not there. */
  connect: (
    node: string,
    query: string,
    headers: Record<string, string>,
  ) => Promise<WebSocket | undefined>;
  /** Forwards a request without a body. Returns false if that node is not there or did not answer in time. */
  forward: (
    node: string,
    request: IncomingMessage,
    response: ServerResponse,
    withinMs: number,
  ) => Promise<boolean>;
  /** Serves what other nodes forward, and what bridges at other nodes request. */
  serve: (duties: {
    sockets?: (socket: WebSocket, request: IncomingMessage) => void;
    requests?: RequestListener;
  }) => void;
};

const paths = new Set(['/v2/live', '/v2/live/', '/v2/live/ws']);
/** The largest message from a client that is about to be refused. Its content is not read. */
const strangerFrameBytes = 1_024;
/** The limit for a client whose session another node has. That node applies the real limit. */
const tunnelledFrameBytes = 4_194_304;

/**
 * The sockets of live sessions. The handshake is completed even for a wrong token: released clients retry after an HTTP
 * error, and only a close code tells them to stop.
 */
export class LiveSockets implements Upgrade {
  readonly #options: SocketsOptions;
  readonly #servers = new Map<number, WebSocketServer>();

  constructor(options: SocketsOptions) {
    this.#options = options;
    options.others?.serve({ sockets: (webSocket, request) => this.#take(webSocket, request) });
  }

  owns(pathname: string): boolean {
    return paths.has(pathname);
  }

  handle(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admitted: () => void,
  ): Promise<void> {
    return this.#decide(request, socket, head, admitted).catch((error: unknown) => {
      this.#options.log.error({ reason: reasonOf(error) }, 'a live socket could not be opened');
      refuseUpgrade(socket, 503);
    });
  }

  close(): void {
    for (const server of this.#servers.values()) {
      for (const client of server.clients) client.terminate();
      server.close();
    }
  }

  #serverFor(frameLimitBytes: number): WebSocketServer {
    // The limit of a message is fixed when a server is created, so there is one server for each power of two.
    const limit = 2 ** Math.ceil(Math.log2(frameLimitBytes));
    const existing = this.#servers.get(limit);
    if (existing) return existing;
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: limit,
      maxFragments: 1_024,
      maxBufferedChunks: 4_096,
      perMessageDeflate: false,
      // One network chunk can hold thousands of tiny frames. With this setting other sessions are served between them.
      allowSynchronousEvents: false,
      clientTracking: true,
      ...({ closeTimeout: 5_000 } as object), // this option is newer than the published types
    });
    server.on('headers', (headers) => headers.push(`${takesHintsHeader}: 1`));
    this.#servers.set(limit, server);
    return server;
  }

  async #decide(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admitted: () => void,
  ): Promise<void> {
    const token = tokenOf(request);
    const found = await this.#options.sessions.find(token);
    if (socket.destroyed) return;
    if (found.outcome === 'unknown' && this.#options.refuseTokenWith401) {
      refuseUpgrade(socket, 401);
      return;
    }
    const node =
      found.outcome === 'elsewhere' ? await this.#toNode(found.node, token, request) : undefined;
    if (socket.destroyed) {
      node?.terminate();
      return;
    }
    if (found.outcome === 'elsewhere' && node === undefined) {
      // The client will come back. By then the row has the session's end, or its node is here again.
      refuseUpgrade(socket, 503);
      return;
    }
    const limit =
      found.outcome === 'session'
        ? found.frameLimitBytes
        : node === undefined
          ? strangerFrameBytes
          : tunnelledFrameBytes;
    this.#serverFor(limit).handleUpgrade(request, socket, head, (webSocket) => {
      // ws reports a peer's errors here and closes by itself. Without a listener the process would end.
      webSocket.on('error', (error) => {
        this.#options.log.debug({ reason: reasonOf(error) }, 'a live socket failed');
      });
      switch (found.outcome) {
        case 'session':
          admitted();
          found.session.connect(webSocket, acknowledgedBytesOf(request));
          return;
        case 'elsewhere':
          if (node === undefined) return;
          admitted();
          tunnel(webSocket, node);
          return;
        case 'ended':
          closeStranger(webSocket, socket, 4403, 'session ended');
          return;
        case 'unknown':
          closeStranger(webSocket, socket, 4401, 'unknown or expired token');
      }
    });
  }

  /** An open socket to the node that has the session, or undefined. */
  async #toNode(
    node: string,
    token: string,
    request: IncomingMessage,
  ): Promise<WebSocket | undefined> {
    const said = request.headers[acknowledgedBytesHeader];
    const headers = typeof said === 'string' ? { [acknowledgedBytesHeader]: said } : {};
    const query = new URLSearchParams({ token }).toString();
    const line = await this.#options.others?.connect(node, query, headers);
    if (line === undefined) return undefined;
    return new Promise((resolve) => {
      line.once('open', () => {
        line.pause(); // paused until the client's own socket is there to receive
        resolve(line);
      });
      line.once('close', () => resolve(undefined));
    });
  }

  /** Takes a client that another node forwards. */
  #take(webSocket: WebSocket, request: IncomingMessage): void {
    webSocket.pause();
    this.#options.sessions
      .find(tokenOf(request))
      .then((found) => {
        webSocket.resume();
        if (found.outcome === 'session')
          found.session.connect(webSocket, acknowledgedBytesOf(request));
        else if (found.outcome === 'ended') webSocket.close(4403, 'session ended');
        else webSocket.close(4401, 'unknown or expired token');
      })
      .catch(() => webSocket.terminate());
  }
}

function tokenOf(request: IncomingMessage): string {
  return new URL(request.url ?? '', 'http://local').searchParams.get('token') ?? '';
}

/** The byte at which the client says it starts. Undefined if it gives no number. */
function acknowledgedBytesOf(request: IncomingMessage): number | undefined {
  const said = request.headers[acknowledgedBytesHeader];
  return typeof said === 'string' && /^\d{1,15}$/.test(said) ? Number(said) : undefined;
}

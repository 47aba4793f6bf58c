import { readFileSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { withoutUndefined } from '../lib/without-undefined.ts';
import { equalSecrets } from '../port/secrets.ts';
import { connectionRoom, handleLimit, networkOf } from '../port/connections.ts';
import { pathOf } from '../port/problem.ts';
import type { NodesConfig } from './config.ts';

/** The paths of sockets between nodes: relayed streams, the events of their calls, and live sessions. */
export type LinkPath = '/node/streams' | '/node/feed' | '/node/sessions' | '/v2/live';

export type LinkDuties = {
  /** Answers operator requests that another node passed on. */
  api?: RequestListener;
  /** The speech interface, for bridges at other nodes. */
  speech?: RequestListener | undefined;
  sockets: Partial<Record<LinkPath, (socket: WebSocket, request: IncomingMessage) => void>>;
};

export const maxNodeSockets = 20_000;
/**
 * At most this many connections may be open without a key: in total, and from one address. Beyond that, the oldest of
 * them is ended.
 */
export const maxStrangersAtLink = 256;
const maxStrangersOfOneAddress = 64;
/** One message of the speech interface may hold all the audio that a returning client had lost. */
const maxMessageBytes = 16_777_216;
const answerWithinMs = 30_000;
const connectWithinMs = 3_000;
/** Another node may send hours of a recording, which takes this long at most. */
const bodyWithinMs = 1_900_000;
/**
 * A node that sends nothing for this long in the middle of a request counts as gone. The speech service probes a file
 * for a minute at most.
 */
const quietMs = 120_000;
const speechPath = /^\/(?:v2|file)(?:\/|$)/;

type NodeLinkOptions = {
  config: NodesConfig & { url: string; key: string };
  clock: Clock;
  log: Logger;
};

/** Tells the node that has a call that the request showed a token, which opens less than a key. */
export const byTokenHeader = 'x-by-token';

/**
 * The port that only nodes use. A peer that knows the key is a node. Other peers get no answer that says what this port
 * is.
 */
export class NodeLink implements AsyncDisposable {
  readonly url: string;
  readonly #key: string;
  readonly #ca: string | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #server: ReturnType<typeof createServer>;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    allowSynchronousEvents: false,
  });
  readonly #duties: LinkDuties = { sockets: {} };
  /** The key is the peer's address and port, because over TLS a request has another socket than its connection. */
  readonly #strangers = new Map<string, Socket>();
  #open = 0;

  private constructor({ config, clock, log }: NodeLinkOptions) {
    this.#clock = clock;
    this.url = config.url.replace(/\/$/, '');
    this.#key = config.key;
    this.#log = log.child({ part: 'nodes' });
    const file = (path: string | undefined): string | undefined =>
      path === undefined ? undefined : readFileSync(path, 'utf8');
    this.#ca = file(config.tlsCa);
    const limits = {
      headersTimeout: 5_000,
      requestTimeout: bodyWithinMs,
      connectionsCheckingInterval: 1_000,
    };
    this.#server = this.url.startsWith('https:')
      ? createTlsServer({ ...limits, cert: file(config.tlsCert), key: file(config.tlsKey) })
      : createServer(limits);
    this.#server.maxConnections = connectionRoom(maxNodeSockets, handleLimit()).connectionsAtMost;
    this.#server.on('connection', (socket: Socket) => this.#opened(socket));
    this.#server.setTimeout(quietMs);
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const isOfSpeech = speechPath.test(pathOf(request.url ?? ''));
      const duty = isOfSpeech ? this.#duties.speech : this.#duties.api;
      // A stranger's body is not read: the connection ends with the answer.
      if (!this.#isNode(request)) response.writeHead(401, { connection: 'close' }).end();
      else if (duty === undefined) response.writeHead(503, { 'retry-after': '5' }).end();
      else duty(request, response);
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Without this listener, a stranger who hangs up early would end the process.
      socket.on('error', () => socket.destroy());
      const take = this.#duties.sockets[pathOf(request.url ?? '') as LinkPath];
      if (!this.#isNode(request) || take === undefined) {
        socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n');
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (opened) => {
        opened.on('error', () => opened.terminate());
        take(opened, request);
      });
    });
  }

  /** Listens at the address that the other nodes are told. */
  static async open(options: NodeLinkOptions): Promise<NodeLink> {
    const link = new NodeLink(options);
    const { hostname, port, protocol } = new URL(link.url);
    const at = Number(port || (protocol === 'https:' ? 443 : 80));
    await new Promise<void>((resolve, reject) => {
      link.#server.once('error', (error) => {
        reject(
          new TrunklineError(
            'CONFIG_INVALID',
            `TRUNKLINE_NODE_URL: this machine cannot listen at ${hostname}:${at}: ${reasonOf(error)}`,
          ),
        );
      });
      link.#server.listen(at, hostname.replace(/^\[|\]$/g, ''), resolve);
    });
    link.#server.on('error', (error) =>
      link.#log.error({ err: error }, 'the port of the nodes failed'),
    );
    return link;
  }

  /** The number of open connections, those of strangers included. */
  get connections(): number {
    return this.#open;
  }

  /** Ends the oldest connection without a key if there are too many. A node shows its key at once, a stranger never. */
  #opened(socket: Socket): void {
    const peer = peerOf(socket);
    this.#open++;
    socket.once('close', () => {
      this.#open--;
      this.#strangers.delete(peer);
    });
    this.#strangers.set(peer, socket);
    const network = networkOf(socket.remoteAddress ?? '');
    const near = [...this.#strangers].filter(
      ([, { remoteAddress }]) => networkOf(remoteAddress ?? '') === network,
    );
    if (near.length > maxStrangersOfOneAddress) this.#endStranger(near[0]);
    else if (this.#strangers.size > maxStrangersAtLink)
      this.#endStranger(this.#strangers.entries().next().value);
  }

  #endStranger(entry: [string, Socket] | undefined): void {
    if (entry === undefined) return;
    const [peer, socket] = entry;
    this.#strangers.delete(peer);
    socket.destroy();
  }

  /** Adds work that a part of this process does for other nodes. */
  serve({ api, speech, sockets }: LinkDuties): void {
    if (api !== undefined) this.#duties.api = api;
    if (speech !== undefined) this.#duties.speech = speech;
    Object.assign(this.#duties.sockets, sockets);
  }

  /** The certificate authority that signed the certificates of the other nodes. */
  get ca(): string | undefined {
    return this.#ca;
  }

  get authorization(): string {
    return `Bearer ${this.#key}`;
  }

  connect(
    address: string,
    path: LinkPath | `${LinkPath}?${string}`,
    headers: Record<string, string> = {},
  ): WebSocket {
    const socket = new WebSocket(`${address.replace(/^http/, 'ws')}${path}`, {
      headers: { ...headers, ...this.#headers },
      perMessageDeflate: false,
      // Messages come one at a time, so that a listener that is added for the first message also hears the second.
      allowSynchronousEvents: false,
      maxPayload: maxMessageBytes,
      handshakeTimeout: connectWithinMs,
      followRedirects: false,
      ca: this.#ca,
    });
    socket.on('error', () => socket.terminate()); // 'close' follows, and tells
    return socket;
  }

  /**
   * Passes a request on to the node at this address, with its JSON body if it was parsed, and passes the answer back as
   * it comes. Returns false if no answer began in time; nothing has then been sent to the client.
   */
  forward(
    address: string,
    request: IncomingMessage & { body?: unknown },
    response: ServerResponse,
    withinMs: number,
  ): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const target = `${address}${request.url ?? '/'}`;
    const send = target.startsWith('https:') ? httpsRequest : httpRequest;
    const { range, accept } = request.headers;
    const lastId = request.headers['last-event-id'];
    const byToken = request.headers[byTokenHeader];
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const passed = send(target, {
      method: request.method,
      headers: {
        ...this.#headers,
        ...withoutUndefined({ range, accept, 'last-event-id': lastId, [byTokenHeader]: byToken }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ca: this.#ca,
      timeout: answerWithinMs,
    });
    const stopWaiting = this.#clock.after(withinMs, () => passed.destroy());
    passed.on('timeout', () => passed.destroy());
    passed.on('error', () => undefined); // 'close' follows
    passed.on('close', () => {
      stopWaiting();
      if (response.headersSent && !response.writableFinished) response.destroy();
      resolve(response.headersSent);
    });
    passed.on('response', (answer) => {
      stopWaiting();
      const { connection: _own, 'keep-alive': _alive, ...headers } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    response.on('close', () => passed.destroy());
    passed.end(body);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get #headers(): Record<string, string> {
    return { authorization: this.authorization };
  }

  #isNode({ headers: { authorization }, socket }: IncomingMessage): boolean {
    const isNode = authorization !== undefined && equalSecrets(authorization, this.authorization);
    if (isNode) this.#strangers.delete(peerOf(socket));
    return isNode;
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

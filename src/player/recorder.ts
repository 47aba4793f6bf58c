import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer, type RawData } from 'ws';
import { reasonOf } from '../lib/errors.ts';
import type { RecordedFrame } from './fixture.ts';

export type RecorderOptions = {
  host: string;
  port: number;
  /** The bridge that answers. If absent, every upgrade is accepted and nothing is answered. */
  to?: string | undefined;
  /** Called when a conversation begins. Returns the object that takes the frames of this conversation. */
  onConversation: (path: string) => {
    frame(frame: RecordedFrame): void;
    end(reason: string): void;
  };
};

export type Recorder = AsyncDisposable & { readonly port: number };

/**
 * At most this many bytes of the carrier wait until the socket to the bridge is open. In the other direction nothing
 * can wait.
 */
export const maxWaitingBytes = 1_048_576;
/**
 * Headers of the upgrade that belong to one connection. They are not passed on, because the socket to the bridge makes
 * its own.
 */
const ownHeaders = new Set([
  'host',
  'connection',
  'upgrade',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
]);

/** Starts a server between a carrier and its bridge. It passes every frame on unchanged and reports it. */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const server = createServer((_request, response) => {
    response.writeHead(426).end();
  });
  const sockets = new WebSocketServer({
    server,
    perMessageDeflate: false,
    maxPayload: 1_048_576,
    // A target that is not a path could name another host, which would then get the carrier's proof. Such upgrades are
    // refused.
    verifyClient: ({ req }: { req: IncomingMessage }) => addressAt(options.to, req) !== undefined,
  });
  sockets.on('connection', (socket, request) => record(socket, request, options));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const client of sockets.clients) client.close(1001);
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function record(carrier: WebSocket, request: IncomingMessage, options: RecorderOptions): void {
  const conversation = options.onConversation((request.url ?? '/').split('?')[0] ?? '/');
  const startedMs = performance.now();
  const note = (from: 'carrier' | 'bridge', data: RawData, isBinary: boolean): void => {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
    const atMs = Math.round(performance.now() - startedMs);
    conversation.frame(
      isBinary
        ? { atMs, from, base64: bytes.toString('base64') }
        : { atMs, from, text: bytes.toString('utf8') },
    );
  };
  let reason = '';
  const address = options.to === undefined ? undefined : addressAt(options.to, request);
  const bridge = address && connectBridge(address, request, carrier);
  carrier.on('message', (data, isBinary) => {
    note('carrier', data, isBinary);
    bridge?.send(data, isBinary);
  });
  carrier.on('error', (error) => (reason ||= reasonOf(error)));
  carrier.on('close', (code) => {
    reason ||= `the carrier closed with ${code}`;
    bridge?.close(code);
    conversation.end(reason);
  });
  bridge?.onMessage((data, isBinary) => {
    note('bridge', data, isBinary);
    if (carrier.readyState === WebSocket.OPEN) carrier.send(data, { binary: isBinary });
  });
  bridge?.onClose((code, text) => {
    reason ||= text;
    carrier.close(isSendable(code) ? code : 1011);
  });
}

type BridgeSide = {
  send(data: RawData, isBinary: boolean): void;
  close(code: number): void;
  onMessage(told: (data: RawData, isBinary: boolean) => void): void;
  onClose(told: (code: number, text: string) => void): void;
};

/**
 * Returns the bridge's address with the path and query of a request. Undefined if the request names anything but a path
 * (`//host/...`, `ftp://...`), because only the operator decides where a conversation goes.
 */
function addressAt(to = 'ws://nowhere', { url: target = '/' }: IncomingMessage): URL | undefined {
  if (!target.startsWith('/') || /^[/\\]{2}/.test(target)) return undefined;
  const bridge = new URL(to.replace(/^http/, 'ws'));
  const address = URL.parse(target, bridge.href);
  return address?.host === bridge.host && address.protocol === bridge.protocol
    ? address
    : undefined;
}

/**
 * Connects to the bridge with the carrier's path, query and headers. The carrier's proof stays valid if the address
 * that it signed is the bridge's.
 */
function connectBridge(url: URL, request: IncomingMessage, carrier: WebSocket): BridgeSide {
  const headers = Object.fromEntries(
    Object.entries(request.headersDistinct)
      .filter(([name]) => !ownHeaders.has(name))
      .map(([name, values]) => [name, values?.join(', ')]),
  );
  const bridge = new WebSocket(url.href, carrier.protocol === '' ? [] : [carrier.protocol], {
    headers,
    perMessageDeflate: false,
    handshakeTimeout: 10_000,
  });
  const waiting: { data: RawData; isBinary: boolean }[] = [];
  let waitingBytes = 0;
  bridge.on('open', () => {
    for (const { data, isBinary } of waiting.splice(0)) bridge.send(data, { binary: isBinary });
  });
  let failure = '';
  bridge.on('error', (error) => (failure = `the bridge refused: ${reasonOf(error)}`));
  return {
    send(data, isBinary) {
      if (bridge.readyState === WebSocket.OPEN) bridge.send(data, { binary: isBinary });
      if (bridge.readyState !== WebSocket.CONNECTING) return;
      waitingBytes += Buffer.isBuffer(data) ? data.length : 0;
      if (waitingBytes <= maxWaitingBytes) waiting.push({ data, isBinary });
    },
    close: (code) => bridge.close(isSendable(code) ? code : undefined),
    onMessage: (told) => void bridge.on('message', told),
    onClose: (told) =>
      void bridge.on('close', (code, text) =>
        told(code, failure || `the bridge closed with ${code} ${text.toString('utf8')}`.trim()),
      ),
  };
}

/** False for close codes that describe a broken connection, because they must not be sent. */
function isSendable(code: number): boolean {
  return (
    code === 1000 ||
    (code >= 1001 && code <= 1014 && ![1004, 1005, 1006].includes(code)) ||
    (code >= 3000 && code <= 4999)
  );
}

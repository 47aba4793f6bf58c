import { once } from 'node:events';
import type { Socket } from 'node:net';
import { WebSocket, type ClientOptions } from 'ws';

/** A socket for playing a carrier by hand. It records the answers and how it was closed. */
export class CarrierClient implements AsyncDisposable {
  readonly socket: WebSocket;
  readonly received: string[] = [];
  closed: { code: number; reason: string } | undefined;
  pings = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => this.received.push((data as Buffer).toString('utf8')));
    socket.on('ping', () => this.pings++);
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }));
  }

  /** Resolves with the status of a refusal or with the open socket. */
  static async connect(
    url: string,
    headers: Record<string, string> = {},
    options: ClientOptions & { protocols?: string[] } = {},
  ): Promise<CarrierClient | { status: number; body: string }> {
    const { protocols = [], ...rest } = options;
    const socket = new WebSocket(url, protocols, { headers, perMessageDeflate: false, ...rest });
    const client = new CarrierClient(socket);
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(client));
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response) => {
        let body = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (body += chunk))
          .on('end', () => {
            resolve({ status: response.statusCode ?? 0, body });
          });
      });
    });
  }

  static async open(
    url: string,
    headers: Record<string, string> = {},
    options: ClientOptions & { protocols?: string[] } = {},
  ): Promise<CarrierClient> {
    const client = await CarrierClient.connect(url, headers, options);
    if (!(client instanceof CarrierClient))
      throw new Error(`refused with ${client.status}: ${client.body}`);
    return client;
  }

  send(...messages: (string | Buffer | object)[]): void {
    for (const message of messages)
      this.socket.send(
        typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
      );
  }

  /** The connection under the socket, for bytes outside any message and for counting bytes. */
  get wire(): Socket {
    return (this.socket as unknown as { _socket: Socket })._socket;
  }

  async close(code?: number): Promise<void> {
    if (this.closed) return;
    this.socket.close(code);
    await this.untilClosed();
  }

  async untilClosed(): Promise<{ code: number; reason: string }> {
    if (!this.closed) await once(this.socket, 'close', { signal: AbortSignal.timeout(20_000) });
    return this.closed ?? { code: 0, reason: '' };
  }

  /**
   * Resolves when the socket answers: the other side has then read everything sent before. A closed socket never
   * answers.
   */
  async ping(): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(20_000)]);
    const onClose = (): void => {
      over.abort(new Error(`closed under a ping: ${JSON.stringify(this.closed)}`));
    };
    this.socket.once('close', onClose);
    if (this.closed) onClose();
    try {
      const answered = once(this.socket, 'pong', { signal });
      this.socket.ping();
      await answered;
    } finally {
      this.socket.off('close', onClose);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    return Promise.resolve();
  }
}

/** Twilio's first two messages and one audio message. */
export const twilioConnected = { event: 'connected', protocol: 'Call', version: '1.0.0' };

export function twilioStart(
  options: {
    callSid?: string;
    streamSid?: string;
    tracks?: string[];
    customParameters?: Record<string, unknown>;
    encoding?: string;
  } = {},
): object {
  const streamSid = options.streamSid ?? 'MZ0f5a61e0b1c24d7f8a9be2c3d4e5f601';
  return {
    event: 'start',
    sequenceNumber: '1',
    streamSid,
    start: {
      streamSid,
      accountSid: 'AC5d2c8f10a9b84e3f9c7a6b5d4e3f2a10',
      callSid: options.callSid ?? 'CA77d0c1b2a3f44e5d8c9b0a1f2e3d4c5b',
      tracks: options.tracks ?? ['inbound', 'outbound'],
      mediaFormat: { encoding: options.encoding ?? 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      customParameters: options.customParameters ?? {},
    },
  };
}

export function twilioMedia(sequence: number, bytes: Buffer, track = 'inbound'): string {
  return JSON.stringify({
    event: 'media',
    sequenceNumber: String(sequence),
    streamSid: 'MZ0f5a61e0b1c24d7f8a9be2c3d4e5f601',
    media: {
      track,
      chunk: String(sequence - 1),
      timestamp: String(sequence * 20),
      payload: bytes.toString('base64'),
    },
  });
}

export const twilioStop = {
  event: 'stop',
  sequenceNumber: '999',
  streamSid: 'MZ0f5a61e0b1c24d7f8a9be2c3d4e5f601',
  stop: {},
};

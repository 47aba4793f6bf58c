import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { WebSocket, type RawData } from 'ws';
import type { Clock } from '../lib/clock.ts';
import { takesHintsHeader } from '../protocol/session-hints.ts';

const connectMs = 5_000;
/** A ping is sent after this long without a byte from the service ... */
const pingMs = 10_000;
/** ... and the socket counts as dead after this long, because a half-open connection looks exactly like this. */
const deadMs = 15_000;
/** At most this much may wait for a service that reads slowly. The rest stays in the journal. */
export const maxUnsentBytes = 1_048_576;
/** The API keeps its messages below 1 MB; a post_final_transcript comes close. */
const maxMessageBytes = 4_194_304;

/**
 * Random bytes for this many bytes of masks are drawn at once: a call of the generator per frame would cost more than
 * the frame.
 */
const maskPoolBytes = 8_192;

/**
 * Returns masks for a client's frames, never zeros. Under a zero mask ws would send our buffer without copying it, and
 * we overwrite that buffer while a full socket still waits with it.
 */
export function maskGenerator(
  fill: (pool: Buffer) => void = randomFillSync,
): (mask: Buffer) => void {
  const pool = Buffer.allocUnsafeSlow(maskPoolBytes);
  let at = pool.length;
  return (mask) => {
    if (at === pool.length) {
      fill(pool);
      at = 0;
    }
    for (let index = 0; index < 4; index++) mask[index] = pool[at++] ?? 0;
    if (mask.readUInt32LE(0) === 0) mask[0] = 1;
  };
}

// A variable, because the published types do not know the last three options yet.
const socketOptions = {
  perMessageDeflate: false,
  followRedirects: false,
  maxPayload: maxMessageBytes,
  maxFragments: 1_024,
  maxBufferedChunks: 16_384,
  closeTimeout: 5_000,
  generateMask: maskGenerator(),
};

export type ConnectionEnd = {
  code: number;
  reason: string;
  /** The HTTP status with which the service answered the upgrade instead. */
  httpStatus?: number | undefined;
  opened: boolean;
};

/** The options of a socket beside its address. */
export type SessionLine = {
  headers: Record<string, string>;
  /** The authority that signed the other side's certificate, if it is not publicly known. */
  ca?: string | undefined;
};

type ConnectionEvents = {
  onOpen(): void;
  onMessage(message: Buffer): void;
  /** Called once, for any reason. */
  onEnd(end: ConnectionEnd): void;
};

/** One WebSocket to a live session. It opens, pings and ends once. It knows nothing of audio or acks. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  #heardAtMs: number;
  #heardSinceTick = false;
  #pinged = false;
  #httpStatus: number | undefined;
  #opened = false;
  #takesHints = false;
  #over = false;
  readonly #stopConnectTimer: () => void;

  constructor(url: string, { headers, ca }: SessionLine, clock: Clock, events: ConnectionEvents) {
    this.#clock = clock;
    this.#events = events;
    this.#heardAtMs = clock.monotonicMs();
    this.#socket = new WebSocket(url, {
      ...socketOptions,
      headers,
      ca,
    });
    // ws has its own handshake deadline, but that does not cover name lookup and connect together.
    this.#stopConnectTimer = clock.after(connectMs, () => {
      if (!this.#opened) this.drop();
    });
    this.#socket.on('upgrade', (response: IncomingMessage) => {
      this.#takesHints = takesHintsHeader in response.headers;
    });
    this.#socket.on('open', () => {
      this.#opened = true;
      this.#stopConnectTimer();
      this.#heardAtMs = this.#clock.monotonicMs();
      this.#events.onOpen();
    });
    this.#socket.on('message', (data, isBinary) => this.#message(data, isBinary));
    this.#socket.on('pong', () => this.#heard());
    this.#socket.on('ping', () => this.#heard());
    this.#socket.on('unexpected-response', (_request, response: IncomingMessage) => {
      this.#httpStatus = response.statusCode ?? 0;
      response.resume();
      this.drop();
    });
    // 'close' follows every error. Without a listener the error would end the process.
    this.#socket.on('error', () => this.drop());
    this.#socket.on('close', (code, reason) => this.#end(code, reason.toString('utf8')));
  }

  /** False while the service leaves too many bytes unread. The caller then keeps its audio. */
  get writable(): boolean {
    return this.#opened && !this.#over && this.#socket.bufferedAmount < maxUnsentBytes;
  }

  /** The service is one of ours, which says so. */
  get takesHints(): boolean {
    return this.#takesHints;
  }

  /** The bytes are copied before this returns. */
  send(bytes: Buffer): void {
    this.#socket.send(bytes, ignoreSendError);
  }

  sendText(text: string): void {
    this.#socket.send(text, ignoreSendError);
  }

  /** Called about once per second by the client, with one timer for all connections. */
  tick(nowMs: number): void {
    if (!this.#opened || this.#over) return;
    if (this.#heardSinceTick) {
      this.#heardSinceTick = false;
      this.#heardAtMs = nowMs;
      this.#pinged = false;
    }
    const quietMs = nowMs - this.#heardAtMs;
    if (quietMs >= deadMs) {
      this.drop();
    } else if (quietMs >= pingMs && !this.#pinged) {
      this.#pinged = true;
      this.#socket.ping();
    }
  }

  /** Starts a closing handshake. ws gives up on it after its own deadline. */
  close(code: number): void {
    if (!this.#over) this.#socket.close(code);
  }

  /** Ends all events of this connection. A closing handshake that has begun continues; anything else ends here. */
  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopConnectTimer();
    if (this.#socket.readyState !== WebSocket.CLOSING) this.#socket.terminate();
  }

  /** Ends the connection without a closing handshake. `onEnd` follows at once. */
  drop(): void {
    if (this.#over) return;
    this.#socket.terminate();
    this.#end(1006, '');
  }

  /**
   * Counts whole seconds, which is exact enough for deadlines of ten seconds. This avoids reading the clock for each
   * ack.
   */
  #heard(): void {
    this.#heardSinceTick = true;
  }

  #message(data: RawData, isBinary: boolean): void {
    if (this.#over) return;
    this.#heard();
    // The API sends text only. The bytes are passed on unparsed, so that an ack need not become a string.
    if (!isBinary && Buffer.isBuffer(data)) this.#events.onMessage(data);
  }

  #end(code: number, reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopConnectTimer();
    this.#events.onEnd({
      code,
      reason,
      opened: this.#opened,
      httpStatus: this.#httpStatus,
    });
  }
}

/** A failed write is followed by 'close', which is handled. */
function ignoreSendError(): void {
  // nothing to do here
}

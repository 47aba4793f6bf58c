import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { WebSocket, type RawData } from 'ws';
import type { Clock } from '../lib/clock.ts';

const connectMs = 5_000;
/** A ping goes out after this long without a byte from the service ... */
const pingMs = 10_000;
/** ... and the socket is dead after this long: a connection that only one side still has looks exactly like this. */
const deadMs = 15_000;
/** A service that reads slowly leaves this much with us at most; the rest stays in the journal. */
export const maxUnsentBytes = 1_048_576;
/** The interface keeps its messages under 1 MB; a post_final_transcript comes near. */
const maxMessageBytes = 4_194_304;

/** Random bytes are drawn for this many masks at once: a call of the generator for each frame costs more than the frame. */
const maskPoolBytes = 8_192;

/**
 * Masks for the frames of a client, never of zeros: under such a mask ws sends the memory that it was given and not
 * a copy of it, and ours is written over while a full socket still waits with it.
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

// A variable, because the published types do not know the last three yet.
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
  /** The upgrade was answered with this HTTP status instead. */
  httpStatus?: number;
  opened: boolean;
};

/** The options that a socket needs besides its address. */
export type SessionLine = {
  headers: Record<string, string>;
  /** The authority that signed the certificate of the other end, where nobody else knows it. */
  ca?: string | undefined;
};

type ConnectionEvents = {
  onOpen(): void;
  onMessage(message: Buffer): void;
  /** Once, whatever ended it. */
  onEnd(end: ConnectionEnd): void;
};

/** One WebSocket to a live session: opens, pings, dies once. Knows nothing of audio or acks. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  #heardAtMs: number;
  #heardSinceTick = false;
  #pinged = false;
  #httpStatus: number | undefined;
  #opened = false;
  #over = false;
  readonly #stopConnectTimer: () => void;

  constructor(url: string, { headers, ca }: SessionLine, clock: Clock, events: ConnectionEvents) {
    this.#clock = clock;
    this.#events = events;
    this.#heardAtMs = clock.monotonicMs();
    this.#socket = new WebSocket(url, {
      ...socketOptions,
      headers,
      ...(ca === undefined ? {} : { ca }),
    });
    // ws has a handshake deadline of its own, but not over name look-up and connect together.
    this.#stopConnectTimer = clock.after(connectMs, () => {
      if (!this.#opened) this.drop();
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
    // Whatever the error is, 'close' follows it; without a listener it would end the process.
    this.#socket.on('error', () => this.drop());
    this.#socket.on('close', (code, reason) => this.#end(code, reason.toString('utf8')));
  }

  /** False while the service leaves too much unread: the caller keeps its audio. */
  get writable(): boolean {
    return this.#opened && !this.#over && this.#socket.bufferedAmount < maxUnsentBytes;
  }

  /** The bytes are copied before this returns. */
  send(bytes: Buffer): void {
    this.#socket.send(bytes, ignoreSendError);
  }

  sendText(text: string): void {
    this.#socket.send(text, ignoreSendError);
  }

  /** Called about once a second by the client's sweep, for all connections with one timer. */
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

  /** A closing handshake; ws gives up on it after its own deadline. */
  close(code: number): void {
    if (!this.#over) this.#socket.close(code);
  }

  /** No more events come of it: a closing handshake that was begun goes on, anything else ends here. */
  release(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopConnectTimer();
    if (this.#socket.readyState !== WebSocket.CLOSING) this.#socket.terminate();
  }

  /** Without a closing handshake. `onEnd` follows at once. */
  drop(): void {
    if (this.#over) return;
    this.#socket.terminate();
    this.#end(1006, '');
  }

  /** The second in which a byte came is fine enough for deadlines of ten: no clock is read for each ack. */
  #heard(): void {
    this.#heardSinceTick = true;
  }

  #message(data: RawData, isBinary: boolean): void {
    if (this.#over) return;
    this.#heard();
    // The interface sends text only; its bytes are handed on unread, so that an ack need not become a string.
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
      ...(this.#httpStatus === undefined ? {} : { httpStatus: this.#httpStatus }),
    });
  }
}

/** A failed write is followed by 'close', where it is dealt with. */
function ignoreSendError(): void {
  // nothing to do here
}

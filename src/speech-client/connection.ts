import type { IncomingMessage } from 'node:http';
import { WebSocket, type RawData } from 'ws';
import type { Clock } from '../lib/clock.ts';
import { maskGenerator } from './mask.ts';

const connectMs = 5_000;
/** A ping goes out after this long without a byte from the service ... */
const pingMs = 10_000;
/** ... and the socket is dead after this long: half-open TCP looks exactly like this (F23, F78). */
const deadMs = 15_000;
/** A service that reads slowly leaves this much with us at most; the rest stays in the journal (F29). */
const bufferedBytes = 1_048_576;
/** The interface keeps its messages under 1 MB; a post_final_transcript comes near. */
const maxMessageBytes = 4_194_304;

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

export type ConnectionEvents = {
  onOpen(): void;
  onMessage(message: Buffer): void;
  /** Once, whatever ended it. */
  onEnd(end: ConnectionEnd): void;
};

/** One WebSocket to a live session: opens, pings, dies once. Knows nothing of audio or acks. */
export class Connection {
  private readonly socket: WebSocket;
  private readonly clock: Clock;
  private readonly events: ConnectionEvents;
  private heardAtMs: number;
  private heardSinceTick = false;
  private pinged = false;
  private httpStatus: number | undefined;
  private opened = false;
  private over = false;
  private readonly stopConnectTimer: () => void;

  constructor(
    url: string,
    headers: Record<string, string>,
    clock: Clock,
    events: ConnectionEvents,
  ) {
    this.clock = clock;
    this.events = events;
    this.heardAtMs = clock.monotonicMs();
    this.socket = new WebSocket(url, { ...socketOptions, headers });
    // ws has a handshake deadline of its own, but not over name look-up and connect together.
    this.stopConnectTimer = clock.after(connectMs, () => {
      if (!this.opened) this.drop();
    });
    this.socket.on('open', () => {
      this.opened = true;
      this.stopConnectTimer();
      this.heardAtMs = this.clock.monotonicMs();
      this.events.onOpen();
    });
    this.socket.on('message', (data, isBinary) => this.message(data, isBinary));
    this.socket.on('pong', () => this.heard());
    this.socket.on('ping', () => this.heard());
    this.socket.on('unexpected-response', (_request, response: IncomingMessage) => {
      this.httpStatus = response.statusCode ?? 0;
      response.resume();
      this.drop();
    });
    // Whatever the error is, 'close' follows it; without a listener it would end the process.
    this.socket.on('error', () => this.drop());
    this.socket.on('close', (code, reason) => this.end(code, reason.toString('utf8')));
  }

  /** False while the service leaves too much unread: the caller keeps its audio. */
  get writable(): boolean {
    return this.opened && !this.over && this.socket.bufferedAmount < bufferedBytes;
  }

  /** The bytes are copied before this returns. */
  send(bytes: Buffer): void {
    this.socket.send(bytes, ignoreSendError);
  }

  sendText(text: string): void {
    this.socket.send(text, ignoreSendError);
  }

  /** Called about once a second by the client's sweep, for all connections with one timer. */
  tick(nowMs: number): void {
    if (!this.opened || this.over) return;
    if (this.heardSinceTick) {
      this.heardSinceTick = false;
      this.heardAtMs = nowMs;
      this.pinged = false;
    }
    const quietMs = nowMs - this.heardAtMs;
    if (quietMs >= deadMs) {
      this.drop();
    } else if (quietMs >= pingMs && !this.pinged) {
      this.pinged = true;
      this.socket.ping();
    }
  }

  /** A closing handshake; ws gives up on it after its own deadline. */
  close(code: number): void {
    if (!this.over) this.socket.close(code);
  }

  /** Nothing more is said about it: a closing handshake that was begun goes on, anything else ends here. */
  release(): void {
    if (this.over) return;
    this.over = true;
    this.stopConnectTimer();
    if (this.socket.readyState !== WebSocket.CLOSING) this.socket.terminate();
  }

  /** Without a closing handshake. `onEnd` follows at once. */
  drop(): void {
    if (this.over) return;
    this.socket.terminate();
    this.end(1006, '');
  }

  /** The second it was heard in is fine enough for deadlines of ten: no clock is read for each ack. */
  private heard(): void {
    this.heardSinceTick = true;
  }

  private message(data: RawData, isBinary: boolean): void {
    if (this.over) return;
    this.heard();
    // The interface sends text only; its bytes are handed on unread, so that an ack need not become a string.
    if (!isBinary && Buffer.isBuffer(data)) this.events.onMessage(data);
  }

  private end(code: number, reason: string): void {
    if (this.over) return;
    this.over = true;
    this.stopConnectTimer();
    this.events.onEnd({
      code,
      reason,
      opened: this.opened,
      ...(this.httpStatus === undefined ? {} : { httpStatus: this.httpStatus }),
    });
  }
}

/** A failed write is followed by 'close', where it is dealt with. */
function ignoreSendError(): void {
  // nothing to do here
}

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { acknowledgedBytesHeader } from '../protocol/acknowledged-bytes.ts';
import { readServerMessage, type ServerMessage } from '../protocol/live-messages.ts';
import { backOffMs } from './back-off.ts';
import { boundedMessage } from './bounds.ts';
import type { CatchUp, SessionBehind } from './catch-up.ts';
import { Connection, type ConnectionEnd, type SessionLine } from './connection.ts';
import { InFlight, type InFlightState } from './in-flight.ts';
import { scanAck, SeenMessages, sessionTimeOf, type AckRange } from './messages.ts';
import { speechTotals as totals } from './metrics.ts';

/** Under the interface's resend piece of 512 KiB, and whole frames of every telephony format. */
export const maxPieceBytes = 512_000;
/** Audio was sent and no acknowledgement moved for this long: the socket is of no use, though it is open. */
const progressMs = 10_000;
/** A session is of no use after this many sockets in a row that take nothing. */
const maxStalls = 2;
/** A service drops a quiet session after about 30 s; an empty chunk counts as life. */
const keepAliveMs = 15_000;
/** A socket that stayed open this long was a good one: the back-off begins anew. */
const stableMs = 5_000;
const reconnect = { firstMs: 300, maxMs: 5_000 };

/** Where a session's audio comes from: bytes by leg position, from memory or from the journal. */
export type AudioSource = {
  /** Leg position after the last byte that this session may send. */
  end(): number;
  /** True when nothing will be added: the stop may follow the last byte. */
  ended(): boolean;
  read(position: number, maxBytes: number): Buffer | Promise<Buffer>;
};

export type SessionOver =
  /** Closed with 1000 after our stop: every message has been read. */
  | 'finished'
  /** The session is gone (44xx, refused handshake, closed by the service's own limit). */
  | 'gone'
  /** As `gone`, because the service has too many sessions. */
  | 'crowded'
  /** It could not be reached again in time. */
  | 'lost'
  /** We gave it up. */
  | 'dropped';

export type SessionOptions = {
  id: string;
  url: string;
  /** Leg position of its first byte, or what a killed process knew of it. */
  from: InFlightState | number;
  /** Begun by a process that was killed: what it read may never have been stored. */
  takenOver: boolean;
  line: SessionLine;
  /** The time without a socket after which a new session is the better way. */
  resumeWindowMs: () => number;
  /** Another node would take the audio. */
  mayMove: () => boolean;
  source: AudioSource;
  bytesPerSecond: number;
  coalesceBytes: number;
  catchUpSpeed: number;
  clock: Clock;
  catchUp: CatchUp;
  log: Logger;
  onMessage(message: ServerMessage): void;
  /** Leg position up to which the service has everything. */
  onAcknowledged(position: number): void;
  /** Leg positions that it had acknowledged and, by its own count, does not have any more. */
  onTakenBack(start: number, end: number): void;
  onLink(link: 'open' | 'lost'): void;
  onOver(reason: SessionOver): void;
};

type Link =
  | { at: 'connecting' | 'open'; connection: Connection }
  | { at: 'waiting' }
  | { at: 'over'; reason: SessionOver };

/**
 * One live session through all of its sockets: sends in order, resends exactly what is not acknowledged,
 * repeats the stop, reads on until the service closes.
 */
export class SpeechSession implements SessionBehind {
  readonly id: string;
  readonly url: string;
  readonly inFlight: InFlight;
  readonly seen = new SeenMessages();
  /** A socket was lost at some time, so messages may be missing: GET fills them in. */
  hasSwallowed = false;
  readonly #options: SessionOptions;
  readonly #ack: AckRange = { start: 0, end: 0 };
  #link: Link = { at: 'waiting' };
  #attempts = 0;
  /** Sockets in a row that took nothing. */
  #stalls = 0;
  #resumed = 0;
  #refusals = 0;
  #badAcks = 0;
  #pieceBytes = maxPieceBytes;
  #lostAtMs: number | undefined;
  #openedAtMs = 0;
  #progressAtMs = 0;
  #progressed = false;
  #quietTicks = 0;
  #sentSinceTick = false;
  /** Bytes that are being read go to this connection and no other. */
  #readingFor: Connection | undefined;
  #stopWanted = false;
  #stopSent = false;
  #stopRetry: (() => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.id = options.id;
    this.url = options.url;
    this.inFlight = new InFlight(options.from);
    this.#connect();
  }

  get catchUpBytesPerSecond(): number {
    return this.#options.bytesPerSecond * this.#options.catchUpSpeed;
  }

  get over(): SessionOver | undefined {
    return this.#link.at === 'over' ? this.#link.reason : undefined;
  }

  /** The seconds of audio that the session was sent, by its own count. */
  get sentS(): number {
    return this.inFlight.everSentBytes / this.#options.bytesPerSecond;
  }

  get open(): boolean {
    return this.#link.at === 'open';
  }

  /** One carrier frame, just journalled: goes out at once and alone if nothing is waiting before it. */
  frame(position: number, bytes: Buffer): void {
    const link = this.#link;
    if (link.at !== 'open') return; // sent from the source once the socket is back
    const flight = this.inFlight;
    if (
      flight.sent !== position ||
      this.#options.coalesceBytes > 0 ||
      !this.#mayFly(link.connection)
    ) {
      this.#behind();
      return;
    }
    link.connection.send(bytes);
    flight.sentUpTo(position + bytes.length);
    this.#sentSinceTick = true;
  }

  /** After the last byte of the source the service is told, on this socket and on every later one. */
  stop(): void {
    if (this.#stopWanted) return;
    this.#stopWanted = true;
    this.#pump(this.#pieceBytes);
  }

  /** The source has more, or its end is known now. */
  more(): void {
    if (this.open) this.#pump(this.#pieceBytes);
  }

  /** Gives up without a word: the service keeps the session for its grace time. */
  drop(): void {
    this.#finish('dropped');
  }

  /** The node that has it is gone: whoever has audio for it goes on at another. */
  nodeIsGone(): void {
    this.hasSwallowed = true;
    this.#finish('lost');
  }

  /** Ends the session for good without reading on: the service finalises its record, nobody listens. */
  close(): void {
    if (this.#link.at === 'open') this.#link.connection.close(1000);
    this.#finish('dropped');
  }

  /** Leg position, in bytes, of this session's time 0 as it holds for a message. */
  originOf(message: ServerMessage): number {
    const time = sessionTimeOf(message);
    return this.inFlight.originAt(
      time === undefined ? Infinity : time * this.#options.bytesPerSecond,
    );
  }

  /** About once a second, from the client's one timer. */
  tick(nowMs: number): void {
    const link = this.#link;
    if (link.at !== 'open') return;
    link.connection.tick(nowMs);
    // Whole seconds are fine enough for a deadline of ten: no clock is read per frame or ack.
    if (this.#progressed || this.inFlight.unacknowledged === 0) this.#progressAtMs = nowMs;
    this.#progressed = false;
    if (nowMs - this.#progressAtMs > progressMs) {
      totals.stalled++;
      // Open again and again, and it takes nothing: another node is the better way, where there is one.
      if (++this.#stalls >= maxStalls && this.#options.mayMove()) this.nodeIsGone();
      else link.connection.drop();
      return;
    }
    this.#quietTicks = this.#sentSinceTick ? 0 : this.#quietTicks + 1;
    this.#sentSinceTick = false;
    if (this.#options.coalesceBytes > 0) this.#pump(this.#pieceBytes);
    if (this.#quietTicks * 1_000 >= keepAliveMs && !this.#stopSent) {
      this.#quietTicks = 0;
      link.connection.sendText('{"type":"audio_chunk","data":{"chunk":""}}');
    }
  }

  catchUp(maxBytes: number): { sent: number; caughtUp: boolean } {
    if (!this.open) return { sent: 0, caughtUp: true };
    const sent = this.#pump(maxBytes);
    return { sent, caughtUp: this.inFlight.sent >= this.#options.source.end() };
  }

  #connect(): void {
    totals.connects++;
    const flight = this.inFlight;
    const { clock, log, line } = this.#options;
    const headers = {
      ...line.headers,
      [acknowledgedBytesHeader]: String(flight.counterAt(flight.acknowledged)),
    };
    try {
      const connection: Connection = new Connection(this.url, { ...line, headers }, clock, {
        onOpen: () => this.#opened(connection),
        onMessage: (message) => this.#taken(message),
        onEnd: (end) => this.#ended(end),
      });
      this.#link = { at: 'connecting', connection };
    } catch (error) {
      // An address that is none. Said after this returns: the session may be in the middle of being made.
      log.error({ err: error, sessionId: this.id }, 'the address of a session cannot be used');
      this.#stopRetry = clock.after(0, () => this.#finish('gone'));
    }
  }

  #opened(connection: Connection): void {
    if (this.#link.at === 'over') return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#link = { at: 'open', connection };
    this.#openedAtMs = nowMs;
    this.#progressAtMs = nowMs;
    this.#quietTicks = 0;
    this.#stopSent = false;
    this.inFlight.reconnected();
    // A service that was sent audio again compares the first message with the end of what it has. So the first
    // message must hold everything that the service may already have.
    this.#pump(this.#pieceBytes);
    this.#options.onLink('open');
  }

  #ended(end: ConnectionEnd): void {
    if (this.#link.at === 'over') return;
    this.hasSwallowed = true;
    const nowMs = this.#options.clock.monotonicMs();
    const stable = end.opened && nowMs - this.#openedAtMs >= stableMs;
    if (stable) {
      this.#attempts = 0;
      this.#lostAtMs = undefined;
    }
    this.#lostAtMs ??= nowMs;
    totals.closed(end.code);
    if (end.httpStatus !== undefined && [400, 401, 403, 404, 410].includes(end.httpStatus)) {
      // Twice, in case one node of the service did not know the session yet.
      if (++this.#refusals >= 2) return this.#finish('gone');
    }
    switch (closeAction(end.code)) {
      case 'finished':
        if (this.#stopSent) this.hasSwallowed = this.#resumed > 0 || this.#options.takenOver;
        return this.#finish(this.#stopSent ? 'finished' : 'gone');
      case 'renew':
        return this.#finish(end.code === 4403 && this.#stopWanted ? 'finished' : 'gone');
      case 'renew-later':
        return this.#finish('crowded');
      case 'resume':
        break;
    }
    // The service found a message too big: smaller ones from now on, or it would never end.
    if (end.code === 1009)
      this.#pieceBytes = Math.max(16_000, Math.floor(this.#pieceBytes / 2 / 800) * 800);
    if (nowMs - this.#lostAtMs > this.#options.resumeWindowMs()) return this.#finish('lost');
    this.#link = { at: 'waiting' };
    this.#options.catchUp.remove(this);
    this.#resumed++;
    // The first attempt after a drop is immediate, as the vendor's own clients do it.
    const delayMs = this.#attempts === 0 ? 0 : backOffMs(this.#attempts - 1, reconnect);
    this.#attempts++;
    this.#stopRetry = this.#options.clock.after(delayMs, () => this.#connect());
    this.#options.onLink('lost');
  }

  /** An error in what a message leads to costs that message: thrown from here it would end the process. */
  #taken(bytes: Buffer): void {
    try {
      this.#message(bytes);
    } catch (error) {
      totals.strange++;
      this.#options.log.error({ err: error, sessionId: this.id }, 'a message could not be used');
    }
  }

  #message(bytes: Buffer): void {
    const ack = this.#ack;
    if (scanAck(bytes, ack)) {
      this.#acknowledged(ack.start, ack.end);
      return;
    }
    const read = readServerMessage(bytes.toString('utf8'));
    if (read.outcome !== 'message') {
      totals.strange++;
      return;
    }
    const message = read.message;
    if (message.session_id !== this.id) {
      totals.strange++; // another session's message proves nothing about ours
      return;
    }
    if (message.type === 'audio_chunk') {
      if (!message.acknowledged) this.#refused();
      else if (message.data) this.#acknowledged(...message.data.byte_range);
      else totals.strange++; // an acknowledgement that names no bytes moves nothing
      return;
    }
    if (message.type === 'stop_recording') {
      this.#stopAcknowledged(message.acknowledged ? message.data?.recording_duration : undefined);
      return;
    }
    const bounded = boundedMessage(message, this.sentS);
    if (this.seen.isNew(bounded)) this.#options.onMessage(bounded);
    else totals.repeated++;
  }

  #acknowledged(start: number, end: number): void {
    if (this.#link.at !== 'open') return;
    const flight = this.inFlight;
    const before = flight.acknowledged;
    const result = flight.acknowledge(start, end);
    if (result.outcome === 'bad') {
      // Ignored and counted, and the socket is renewed: audio is never freed on the word of such an ack.
      totals.badAcks++;
      this.#options.log.warn({ sessionId: this.id, reason: result.reason }, 'ack cannot be true');
      if (++this.#badAcks >= 5) this.#leave();
      else this.#link.connection.drop();
      return;
    }
    if (result.rebased !== 0) this.#rebased(before, result.rebased);
    if (result.outcome === 'unmoved') return;
    this.#progressed = true;
    this.#stalls = 0;
    this.#options.onAcknowledged(flight.acknowledged);
    if (flight.sent < this.#options.source.end() && this.#options.coalesceBytes === 0)
      this.#behind();
  }

  /** After a drop the service counts from elsewhere than we do, and each difference is one of two things. */
  #rebased(acknowledged: number, bytes: number): void {
    totals.rebases++;
    if (bytes > 0) {
      this.#options.log.warn(
        { sessionId: this.id, bytes },
        'the speech service hears audio twice that was sent again after a drop: its times are corrected from here',
      );
      return;
    }
    this.#options.log.warn(
      { sessionId: this.id, bytes: -bytes },
      'the speech service does not have audio any more that it had acknowledged: that is a gap, and its times are corrected from here',
    );
    this.#options.onTakenBack(Math.max(this.inFlight.base, acknowledged + bytes), acknowledged);
  }

  /** Audio that the service will not take: after a stop it is too late, before one the session is of no use. */
  #refused(): void {
    totals.refusedAcks++;
    if (!this.#stopSent) this.#leave();
  }

  /** Gives up a session that is of no more use, closed in a way that lets the service finish it. */
  #leave(): void {
    if (this.#link.at === 'open') this.#link.connection.close(1000);
    this.#finish('gone');
  }

  /** The stop's own ack says how much audio the session holds: as good as an ack of the last byte. */
  #stopAcknowledged(durationS: number | undefined): void {
    const flight = this.inFlight;
    if (durationS === undefined || flight.unacknowledged === 0) return;
    const end = flight.counterAt(flight.sent);
    if (Math.abs(durationS * this.#options.bytesPerSecond - end) < 1)
      this.#acknowledged(flight.counterAt(flight.acknowledged), end);
  }

  #mayFly(connection: Connection): boolean {
    return (
      connection.writable && this.inFlight.unacknowledged < this.#pieceBytes && !this.#stopSent
    );
  }

  #behind(): void {
    const waiting = this.#options.source.end() - this.inFlight.sent;
    if (this.#options.coalesceBytes > 0) {
      if (waiting < this.#options.coalesceBytes) return; // the sweep sends a rest that grows no more
      if (waiting < 2 * this.#options.coalesceBytes) {
        this.#pump(this.#options.coalesceBytes);
        return;
      }
    }
    this.#options.catchUp.add(this);
  }

  /** Sends waiting audio in order, as far as window, socket and allowance go; then the stop, if it is time. */
  #pump(allowance: number): number {
    const { source } = this.#options;
    const flight = this.inFlight;
    let sent = 0;
    while (this.#link.at === 'open' && !this.#stopSent) {
      const { connection } = this.#link;
      if (this.#readingFor === connection) break;
      const waiting = source.end() - flight.sent;
      if (waiting <= 0) {
        this.#stopIfDue(connection);
        break;
      }
      const room = Math.min(allowance - sent, this.#pieceBytes - flight.unacknowledged);
      const size = Math.min(waiting, room);
      if (size <= 0 || !connection.writable) {
        this.#options.catchUp.add(this);
        break;
      }
      const bytes = source.read(flight.sent, wholeFrames(size, waiting));
      if (bytes instanceof Promise) {
        this.#readBack(bytes, connection, flight.sent);
        break;
      }
      this.#sendPiece(connection, bytes);
      sent += bytes.length;
    }
    return sent;
  }

  #sendPiece(connection: Connection, bytes: Buffer): void {
    if (this.inFlight.unacknowledged === 0) this.#progressed = true;
    connection.send(bytes);
    this.inFlight.sentUpTo(this.inFlight.sent + bytes.length);
    this.#sentSinceTick = true;
  }

  #readBack(pending: Promise<Buffer>, connection: Connection, position: number): void {
    this.#readingFor = connection;
    void pending.then(
      (bytes) => {
        // Read for a socket that is gone: the one after it has asked by itself.
        if (this.#readingFor !== connection) return;
        this.#readingFor = undefined;
        if (this.#link.at !== 'open' || this.#link.connection !== connection) return;
        if (this.inFlight.sent === position && bytes.length > 0) this.#sendPiece(connection, bytes);
        this.#options.catchUp.add(this);
      },
      (error: unknown) => {
        if (this.#readingFor !== connection) return;
        this.#readingFor = undefined;
        this.#options.log.error(
          { err: error, sessionId: this.id },
          'journal could not be read back',
        );
        this.#options.catchUp.add(this);
      },
    );
  }

  #stopIfDue(connection: Connection): void {
    if (!this.#stopWanted || this.#stopSent || !this.#options.source.ended()) return;
    this.#stopSent = true;
    connection.sendText('{"type":"stop_recording"}');
  }

  #finish(reason: SessionOver): void {
    if (this.#link.at === 'over') return;
    const link = this.#link;
    this.#link = { at: 'over', reason };
    this.#stopRetry?.();
    this.#options.catchUp.remove(this);
    if (link.at !== 'waiting') link.connection.release();
    this.#options.onOver(reason);
  }
}

/** Pieces end on whole frames of every telephony format, unless the audio itself ends. */
function wholeFrames(size: number, waiting: number): number {
  if (size === waiting || size < 640) return size;
  return size - (size % 640);
}

type CloseAction =
  /** The session is over in good order. */
  | 'finished'
  /** Same address again. */
  | 'resume'
  /** The session is gone; a leg that still has audio needs a new one. */
  | 'renew'
  /** The service says that there are too many sessions: a new one, when it is our turn. */
  | 'renew-later';

/** The interface's own clients come back on 1002 to 4399 and from 4500 on, never on 44xx; so do we. */
export function closeAction(code: number): CloseAction {
  if (code === 1000) return 'finished';
  if (code === 1001) return 'renew';
  if (code < 4400) return 'resume';
  if (code === 4429) return 'renew-later';
  if (code < 4500) return 'renew';
  return 'resume';
}

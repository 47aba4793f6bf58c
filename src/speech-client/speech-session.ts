import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { acknowledgedBytesHeader } from '../protocol/acknowledged-bytes.ts';
import type { SessionHint } from '../protocol/session-hints.ts';
import { readServerMessage, type ServerMessage } from '../protocol/live-messages.ts';
import { backOffMs } from './back-off.ts';
import { boundedMessage } from './bounds.ts';
import type { CatchUp, SessionBehind } from './catch-up.ts';
import { Connection, type ConnectionEnd, type SessionLine } from './connection.ts';
import { InFlight, type InFlightState } from './in-flight.ts';
import { scanAck, SeenMessages, sessionTimeOf, type AckRange } from './message-identity.ts';
import { speechTotals as totals } from './metrics.ts';

/** Smaller than the API's resend piece of 512 KiB, and a multiple of the frame size of every telephony format. */
export const maxPieceBytes = 512_000;
/** If audio was sent and no acknowledgement moved for this long, the socket is useless although it is open. */
const progressMs = 10_000;
/** A session is useless after this many sockets in a row that acknowledge nothing. */
const maxStalls = 2;
/** A service drops a silent session after about 30 s. An empty chunk counts as activity. */
const keepAliveMs = 15_000;
/** A socket that stayed open this long was good, so the back-off starts again. */
const stableMs = 5_000;
const reconnect = { firstMs: 300, maxMs: 5_000 };

/** The source of a session's audio: bytes by leg position, from memory or from the journal. */
export type AudioSource = {
  /** The leg position after the last byte that this session may send. */
  end(): number;
  /** True if nothing will be added, so that the stop may follow the last byte. */
  ended(): boolean;
  read(position: number, maxBytes: number): Buffer | Promise<Buffer>;
};

export type SessionOver =
  /** Closed with 1000 after our stop: every message has been read. */
  | 'finished'
  /** The session is gone: a 44xx close code, a refused handshake, or the service's own limit. */
  | 'gone'
  /** Like `gone`, because the service has too many sessions. */
  | 'crowded'
  /** The service could not be reached again in time. */
  | 'lost'
  /** This side gave the session up. */
  | 'dropped';

export type SessionOptions = {
  id: string;
  url: string;
  /** The leg position of the session's first byte, or the state that a killed process had stored. */
  from: InFlightState | number;
  /** True if a killed process began the session, whose results may not have been stored. */
  takenOver: boolean;
  line: SessionLine;
  /** After this time without a socket, a new session is the better choice. */
  resumeWindowMs: () => number;
  /** True if another node would take the audio. */
  mayMove: () => boolean;
  source: AudioSource;
  bytesPerSecond: number;
  /** Returns a hint for each channel, for a service that takes hints. */
  hints?(): readonly SessionHint[];
  coalesceBytes: number;
  catchUpSpeed: number;
  clock: Clock;
  catchUp: CatchUp;
  log: Logger;
  onMessage(message: ServerMessage): void;
  /** Called with the leg position up to which the service has everything. */
  onAcknowledged(position: number): void;
  /** Called for audio that the service had acknowledged and, by its own count, no longer has. */
  onTakenBack(start: number, end: number): void;
  onLink(link: 'open' | 'lost'): void;
  onOver(reason: SessionOver): void;
};

type Link =
  | { at: 'connecting' | 'open'; connection: Connection }
  | { at: 'waiting' }
  | { at: 'over'; reason: SessionOver };

/**
 * One live session over all its sockets. It sends audio in order, resends exactly what is not acknowledged, repeats the
 * stop, and reads until the service closes.
 */
export class SpeechSession implements SessionBehind {
  readonly id: string;
  readonly url: string;
  readonly inFlight: InFlight;
  readonly seen = new SeenMessages();
  /** True if a socket was lost at any time. Messages may then be missing, and GET provides them. */
  hasSwallowed = false;
  readonly #options: SessionOptions;
  readonly #ack: AckRange = { start: 0, end: 0 };
  #link: Link = { at: 'waiting' };
  #attempts = 0;
  /** The number of consecutive sockets that acknowledged nothing. */
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
  /** Bytes that are being read belong to this connection only. */
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

  /** The seconds of audio sent to the session, by its own count. */
  get sentS(): number {
    return this.inFlight.everSentBytes / this.#options.bytesPerSecond;
  }

  get open(): boolean {
    return this.#link.at === 'open';
  }

  /** Takes one carrier frame that was just journalled. It is sent at once and alone if nothing waits before it. */
  frame(position: number, bytes: Buffer): void {
    const link = this.#link;
    if (link.at !== 'open') return; // the audio is sent from the source when the socket is back
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

  /** Tells a service that takes hints what is known now. A socket that is opened later tells it by itself. */
  hint(): void {
    const link = this.#link;
    if (link.at !== 'open' || !link.connection.takesHints || this.#stopSent) return;
    for (const data of this.#options.hints?.() ?? [])
      link.connection.sendText(JSON.stringify({ type: 'hint', data }));
  }

  /** Tells the service to stop after the last byte, on this socket and on every later one. */
  stop(): void {
    if (this.#stopWanted) return;
    this.#stopWanted = true;
    this.#pump(this.#pieceBytes);
  }

  /** Called when the source has more audio or its end is known. */
  more(): void {
    if (this.open) this.#pump(this.#pieceBytes);
  }

  /** Gives up without a message. The service keeps the session for its grace time. */
  drop(): void {
    this.#finish('dropped');
  }

  /** The session's node is gone. Its remaining audio goes to another node. */
  nodeIsGone(): void {
    this.hasSwallowed = true;
    this.#finish('lost');
  }

  /** Ends the session without reading on: the service completes its record, and nobody listens. */
  close(): void {
    if (this.#link.at === 'open') this.#link.connection.close(1000);
    this.#finish('dropped');
  }

  /** The leg position, in bytes, of the session's time 0 as it applies to a message. */
  originOf(message: ServerMessage): number {
    const time = sessionTimeOf(message);
    return this.inFlight.originAt(
      time === undefined ? Infinity : time * this.#options.bytesPerSecond,
    );
  }

  /** Called about once per second by the client's one timer. */
  tick(nowMs: number): void {
    const link = this.#link;
    if (link.at !== 'open') return;
    link.connection.tick(nowMs);
    // Whole seconds are exact enough for a deadline of ten. This avoids reading the clock per frame or ack.
    if (this.#progressed || this.inFlight.unacknowledged === 0) this.#progressAtMs = nowMs;
    this.#progressed = false;
    if (nowMs - this.#progressAtMs > progressMs) {
      totals.stalled++;
      // The socket opens again and again but acknowledges nothing. Another node is the better choice, if there is one.
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
      // The address is invalid. This is reported after the method returns, because the session may still be under
      // construction.
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
    this.hint();
    // A service that gets audio again compares the first message with the end of its audio. The first message must
    // therefore contain everything that the service may already have.
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
      // Two refusals are needed, in case one node of the service did not know the session yet.
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
    // The service found a message too big. Without smaller messages this would repeat for ever.
    if (end.code === 1009)
      this.#pieceBytes = Math.max(16_000, Math.floor(this.#pieceBytes / 2 / 800) * 800);
    if (nowMs - this.#lostAtMs > this.#options.resumeWindowMs()) return this.#finish('lost');
    this.#link = { at: 'waiting' };
    this.#options.catchUp.remove(this);
    this.#resumed++;
    // The first attempt after a drop is immediate, as in the vendor's own clients.
    const delayMs = this.#attempts === 0 ? 0 : backOffMs(this.#attempts - 1, reconnect);
    this.#attempts++;
    this.#stopRetry = this.#options.clock.after(delayMs, () => this.#connect());
    this.#options.onLink('lost');
  }

  /** Handles a message. An error in it costs only that message; thrown from here it would end the process. */
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
      totals.strange++; // a message of another session proves nothing about ours
      return;
    }
    if (message.type === 'audio_chunk') {
      if (!message.acknowledged) this.#refused();
      else if (message.data) this.#acknowledged(...message.data.byte_range);
      else totals.strange++; // an acknowledgement without bytes moves nothing
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
      // The ack is ignored and counted, and the socket is renewed. Audio is never freed because of such an ack.
      totals.badAcks++;
      this.#options.log.warn(
        { sessionId: this.id, reason: result.reason },
        'an impossible acknowledgement was ignored',
      );
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

  /**
   * After a drop the service may count from another byte than we do. A positive and a negative difference have
   * different meanings.
   */
  #rebased(acknowledged: number, bytes: number): void {
    totals.rebases++;
    if (bytes > 0) {
      this.#options.log.warn(
        { sessionId: this.id, bytes },
        'the speech service received resent audio twice; later times are corrected',
      );
      return;
    }
    this.#options.log.warn(
      { sessionId: this.id, bytes: -bytes },
      'the speech service no longer has audio that it had acknowledged; this is a gap, and later times are corrected',
    );
    this.#options.onTakenBack(Math.max(this.inFlight.base, acknowledged + bytes), acknowledged);
  }

  /** The service refuses audio. After a stop it is too late for audio; before one the session is useless. */
  #refused(): void {
    totals.refusedAcks++;
    if (!this.#stopSent) this.#leave();
  }

  /** Gives up a useless session, closed in a way that lets the service complete it. */
  #leave(): void {
    if (this.#link.at === 'open') this.#link.connection.close(1000);
    this.#finish('gone');
  }

  /** The ack of a stop tells how much audio the session holds, which is as good as an ack of the last byte. */
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
      if (waiting < this.#options.coalesceBytes) return; // the next tick sends a remainder that does not grow
      if (waiting < 2 * this.#options.coalesceBytes) {
        this.#pump(this.#options.coalesceBytes);
        return;
      }
    }
    this.#options.catchUp.add(this);
  }

  /** Sends waiting audio in order, as far as window, socket and allowance permit, and then the stop if it is due. */
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
        // The read was for an earlier socket. The current one has started its own.
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
  /** The session ended normally. */
  | 'finished'
  /** Reconnect to the same address. */
  | 'resume'
  /** The session is gone. A leg that still has audio needs a new one. */
  | 'renew'
  /** The service reports too many sessions. A new one must wait for the gate. */
  | 'renew-later';

/** The API's own clients reconnect on 1002 to 4399 and from 4500 on, never on 44xx. We do the same. */
export function closeAction(code: number): CloseAction {
  if (code === 1000) return 'finished';
  if (code === 1001) return 'renew';
  if (code < 4400) return 'resume';
  if (code === 4429) return 'renew-later';
  if (code < 4500) return 'renew';
  return 'resume';
}

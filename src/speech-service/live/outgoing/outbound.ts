import type { WebSocket } from 'ws';
import type { Clock } from '../../../lib/clock.ts';
import { every, type Loop } from '../../../lib/every.ts';
import type { MessageKind } from '../../callbacks/callback-queue.ts';

/**
 * At most this many messages are kept for a client that is away. A session is abandoned after a minute, long before
 * that.
 */
export const maxWaitingMessages = 10_000;
/**
 * At most this many sent messages may lack a confirmation. A client that answers no ping is assumed to have received
 * all but the last of these.
 */
export const maxUnconfirmedMessages = 512;
/** A client with this many unread bytes gets no more partials. */
export const maxPartialsUnreadBytes = 1_048_576;
/** A socket with this many unread bytes is cut. The client resumes on another one. */
export const maxUnreadBytes = 16_777_216;
const confirmAfterMs = 100;
const probeEveryMs = 1_000;

/**
 * A socket whose client takes no bytes for this long, although some are unread, is cut. The client resumes on another
 * one.
 */
export const maxStalledMs = 15_000;
const lookForStallMs = 1_000;

type Numbered = { text: string; ordinal: number };

/**
 * Sends messages to the client over all sockets of a session. Acks and partials belong to one socket and are lost with
 * it. Any other message waits while there is no socket, and is sent again if the socket was cut shortly after it. A
 * ping follows the messages, and its pong confirms their arrival. A message may therefore arrive twice with the same
 * id, but none is lost.
 */
export class Outbound {
  readonly #clock: Clock;
  #onConfirmed: (count: number) => void;
  #socket: WebSocket | undefined;
  #waiting: Numbered[] = [];
  #unconfirmed: Numbered[] = [];
  #ordinal = 0;
  #pingDue = false;
  /** The bytes handed to the socket, and how many of them the client had taken at the last check. */
  #sentBytes = 0;
  #watch: Loop | undefined;
  #probedMs = 0;
  /** Called when the client has every ack up to this byte. The session sets this function. */
  onAckArrived: (endByte: number) => void = () => undefined;
  /** The number of messages and partials that a slow or absent client never received. */
  dropped = 0;

  constructor(clock: Clock, onConfirmed: (count: number) => void = () => undefined) {
    this.#clock = clock;
    this.#onConfirmed = onConfirmed;
  }

  get undelivered(): number {
    return this.#waiting.length + this.#unconfirmed.length;
  }

  /** Restores the messages whose arrival was not known at the restart. */
  restore(confirmed: number, texts: readonly string[]): void {
    this.#ordinal = confirmed;
    for (const text of texts) this.#waiting.push({ text, ordinal: ++this.#ordinal });
  }

  attach(socket: WebSocket): void {
    this.detach();
    this.#socket = socket;
    socket.on('pong', (data: Buffer) => {
      if (socket === this.#socket) this.#pong(data.toString('latin1'));
    });
  }

  /** Handles the loss of the socket. Messages whose arrival is not known are sent again before the waiting ones. */
  detach(): void {
    this.#socket = undefined;
    void this.#watch?.stop();
    this.#watch = undefined;
    this.#sentBytes = 0;
    this.#waiting = [...this.#unconfirmed, ...this.#waiting];
    this.#unconfirmed = [];
    this.#trim();
  }

  /** Called when the client answered the close frame: everything sent before it has arrived. */
  delivered(): void {
    const last = this.#unconfirmed.at(-1);
    if (last) this.#confirmed(last.ordinal);
  }

  /** Called when the session's log is closed. Later confirmations are not written. */
  logClosed(): void {
    this.#onConfirmed = () => undefined;
  }

  /** Sends a ping once per second to learn whether acks arrive: a client resumes after the last ack it received. */
  probe(endByte: number): void {
    const nowMs = this.#clock.monotonicMs();
    const socket = this.#socket;
    if (socket?.readyState !== socket?.OPEN || nowMs - this.#probedMs < probeEveryMs) return;
    this.#probedMs = nowMs;
    socket?.ping(`ack ${endByte}`);
  }

  sendWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const item of waiting) this.#send(item);
  }

  send(text: string, kind: MessageKind): void {
    if (kind === 'message') {
      this.#send({ text, ordinal: ++this.#ordinal });
      return;
    }
    const socket = this.#socket;
    if (socket?.readyState !== socket?.OPEN || !socket) return;
    if (kind === 'partial' && socket.bufferedAmount > maxPartialsUnreadBytes) this.dropped++;
    else if (!this.#isStuck(socket)) this.#write(socket, text);
  }

  #send(item: Numbered): void {
    const socket = this.#socket;
    if (!socket || socket.readyState !== socket.OPEN || this.#isStuck(socket)) {
      this.#waiting.push(item);
      this.#trim();
      return;
    }
    this.#write(socket, item.text);
    this.#unconfirmed.push(item);
    if (this.#unconfirmed.length > maxUnconfirmedMessages) this.#unconfirmed.shift();
    this.#askForConfirmation(socket);
  }

  #write(socket: WebSocket, text: string): void {
    socket.send(text);
    this.#sentBytes += Buffer.byteLength(text);
    if (socket.bufferedAmount > 0 && !this.#watch) this.#watchForStall(socket);
  }

  /** Cuts a socket whose peer has stopped reading. Its unread bytes would otherwise stay as long as the session. */
  #watchForStall(socket: WebSocket): void {
    let takenBytes = this.#sentBytes - socket.bufferedAmount;
    let sinceMs = this.#clock.monotonicMs();
    const watch = every(this.#clock, lookForStallMs, () => {
      if (socket !== this.#socket || socket.bufferedAmount === 0) {
        if (this.#watch === watch) this.#watch = undefined;
        return 'over';
      }
      const nowMs = this.#clock.monotonicMs();
      const taken = this.#sentBytes - socket.bufferedAmount;
      if (taken > takenBytes) sinceMs = nowMs;
      takenBytes = taken;
      if (nowMs - sinceMs >= maxStalledMs) socket.terminate();
    });
    this.#watch = watch;
  }

  #isStuck(socket: WebSocket): boolean {
    if (socket.bufferedAmount <= maxUnreadBytes) return false;
    socket.terminate();
    return true;
  }

  #askForConfirmation(socket: WebSocket): void {
    if (this.#pingDue) return;
    this.#pingDue = true;
    this.#clock.after(confirmAfterMs, () => {
      this.#pingDue = false;
      if (socket.readyState === socket.OPEN)
        socket.ping(String(this.#unconfirmed.at(-1)?.ordinal ?? 0));
    });
  }

  #pong(text: string): void {
    const endByte = /^ack (\d{1,15})$/.exec(text)?.[1];
    if (endByte === undefined) this.#confirmed(Number(text));
    else this.onAckArrived(Number(endByte));
  }

  #confirmed(ordinal: number): void {
    const before = this.#unconfirmed.length;
    this.#unconfirmed = this.#unconfirmed.filter((item) => !(item.ordinal <= ordinal));
    if (this.#unconfirmed.length < before) this.#onConfirmed(ordinal);
  }

  #trim(): void {
    const excess = this.#waiting.length - maxWaitingMessages;
    if (excess <= 0) return;
    this.#waiting.splice(0, excess);
    this.dropped += excess;
  }
}

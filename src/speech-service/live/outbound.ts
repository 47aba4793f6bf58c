import type { WebSocket } from 'ws';
import type { Clock } from '../../lib/clock.ts';
import type { MessageKind } from './messages.ts';

/** Messages kept for a client that is away; with the abandoned time-out of a minute this is never reached. */
const mostWaiting = 10_000;
/** Sent and not known to have arrived; a client that answers no ping is believed after these. */
const mostUnconfirmed = 512;
/** A peer that does not read: partials stop at the first, the socket is cut at the second. */
const slowBytes = 1_048_576;
const stuckBytes = 16_777_216;
const confirmAfterMs = 100;
const probeEveryMs = 1_000;

type Numbered = { text: string; ordinal: number };

/**
 * The way to the client over all the sockets of a session. Acks and partials belong to their socket and
 * die with it. Everything else waits while there is none, and what was sent shortly before a cut is sent
 * again: a WebSocket ping after the messages tells, when its pong comes, that they arrived. A message may
 * so come twice (same id), but a final is not lost with the cable.
 */
export class Outbound {
  readonly #clock: Clock;
  #onConfirmed: (count: number) => void;
  #socket: WebSocket | undefined;
  #waiting: Numbered[] = [];
  #unconfirmed: Numbered[] = [];
  #ordinal = 0;
  #pingDue = false;
  #probedMs = 0;
  /** Set by the session: the client has every ack up to this byte. */
  onAckArrived: (endByte: number) => void = () => undefined;
  /** Messages and partials that a slow or absent client never got. */
  dropped = 0;

  constructor(clock: Clock, onConfirmed: (count: number) => void = () => undefined) {
    this.#clock = clock;
    this.#onConfirmed = onConfirmed;
  }

  get undelivered(): number {
    return this.#waiting.length + this.#unconfirmed.length;
  }

  /** After a restart: these were said before and are not known to have arrived. */
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

  /** What is not known to have arrived goes in front of what waits. */
  detach(): void {
    this.#socket = undefined;
    this.#waiting = [...this.#unconfirmed, ...this.#waiting];
    this.#unconfirmed = [];
    this.#trim();
  }

  /** The close frame was answered: all that was sent before it arrived. */
  delivered(): void {
    const last = this.#unconfirmed.at(-1);
    if (last) this.#confirmed(last.ordinal);
  }

  /** The log that remembers it is put away: what a client confirms from now on is of use to this process only. */
  logClosed(): void {
    this.#onConfirmed = () => undefined;
  }

  /** Now and then asks whether the acks arrive, too: what they say decides where a client goes on. */
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
    if (kind === 'partial' && socket.bufferedAmount > slowBytes) this.dropped++;
    else if (!this.#isStuck(socket)) socket.send(text);
  }

  #send(item: Numbered): void {
    const socket = this.#socket;
    if (!socket || socket.readyState !== socket.OPEN || this.#isStuck(socket)) {
      this.#waiting.push(item);
      this.#trim();
      return;
    }
    socket.send(item.text);
    this.#unconfirmed.push(item);
    if (this.#unconfirmed.length > mostUnconfirmed) this.#unconfirmed.shift();
    this.#askForConfirmation(socket);
  }

  #isStuck(socket: WebSocket): boolean {
    if (socket.bufferedAmount <= stuckBytes) return false;
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
    const excess = this.#waiting.length - mostWaiting;
    if (excess <= 0) return;
    this.#waiting.splice(0, excess);
    this.dropped += excess;
  }
}

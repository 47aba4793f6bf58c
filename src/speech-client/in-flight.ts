type AckOutcome =
  /** `rebased` means that the service had this many bytes more (or, if negative, fewer) than its acks had told us. */
  | { outcome: 'moved' | 'unmoved'; rebased: number }
  | { outcome: 'bad'; reason: 'malformed' | 'ahead' | 'backwards' };

export type InFlightState = {
  base: number;
  acknowledged: number;
  everSent: number;
  rebases: Rebase[];
};
type Rebase = { counter: number; surplus: number };

/**
 * The bytes sent on one live session and those acknowledged. Pure. The service counts the bytes of the session from 0,
 * the leg counts positions. The two differ by the position at which the session began (`base`), and by the bytes that
 * the service took twice or lost when a socket dropped (`surplus`).
 */
export class InFlight {
  readonly base: number;
  #acked: number;
  #sentTo: number;
  #everSentTo: number;
  readonly #rebases: Rebase[];
  /** True while the service can have received nothing yet, so that its count and ours begin together. */
  #fresh: boolean;
  #firstAckDue = false;
  /** The length of the first message on this socket, which contains what the service may already have. */
  #firstBytes = 0;

  constructor(from: InFlightState | number) {
    const state =
      typeof from === 'number'
        ? { base: from, acknowledged: from, everSent: from, rebases: [] }
        : from;
    this.base = state.base;
    this.#acked = state.acknowledged;
    this.#sentTo = state.acknowledged;
    this.#everSentTo = state.everSent;
    this.#rebases = [...state.rebases];
    this.#fresh = typeof from === 'number';
  }

  /** The leg position up to which the service has acknowledged every byte. */
  get acknowledged(): number {
    return this.#acked;
  }

  /** The leg position up to which audio was given to this socket. */
  get sent(): number {
    return this.#sentTo;
  }

  get unacknowledged(): number {
    return this.#sentTo - this.#acked;
  }

  sentUpTo(position: number): void {
    if (this.#firstBytes === 0) this.#firstBytes = position - this.#sentTo;
    this.#sentTo = position;
    if (position > this.#everSentTo) this.#everSentTo = position;
  }

  /** Starts a new socket of the same session. Its first byte is the first that is not acknowledged. */
  reconnected(): void {
    this.#sentTo = this.#acked;
    this.#firstAckDue = !this.#fresh;
    this.#firstBytes = 0;
    this.#fresh = false;
  }

  /**
   * Takes the `byte_range` of one ack. Its end counts the whole session. Its start matters only on the first ack of a
   * resumed socket that covers just our first message: there it shows whether the service and we mean the same byte.
   */
  acknowledge(start: number, end: number): AckOutcome {
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
      return { outcome: 'bad', reason: 'malformed' };
    const surplus = this.#surplus();
    let rebased = 0;
    if (this.#firstAckDue && end - start === this.#firstBytes && end > start) {
      rebased = start - (this.#acked - this.base + surplus);
      // The service cannot hold more bytes than were ever sent to it.
      if (start > this.#everSentTo - this.base + surplus)
        return { outcome: 'bad', reason: 'ahead' };
    }
    const position = this.base + end - surplus - rebased;
    if (position > this.#sentTo) return { outcome: 'bad', reason: 'ahead' };
    if (position < this.#acked) return { outcome: 'bad', reason: 'backwards' };
    if (end > start) this.#firstAckDue = false;
    if (rebased !== 0) this.#rebases.push({ counter: start, surplus: surplus + rebased });
    const moved = position > this.#acked;
    this.#acked = position;
    return { outcome: moved ? 'moved' : 'unmoved', rebased };
  }

  /** The leg position of the session's byte 0. It changes when bytes are lost or repeated, so it is given for the moment at which the service heard `sessionBytes`. */
  originAt(sessionBytes: number): number {
    const rebase = this.#rebases.findLast((one) => one.counter <= sessionBytes);
    return this.base - (rebase?.surplus ?? 0);
  }

  /** The session's own count at a leg position. The duration in a stop acknowledgement measures this. */
  counterAt(position: number): number {
    return position - this.base + this.#surplus();
  }

  /** The leg position up to which the session had heard, by its own count; never more than was sent. */
  heardUpTo(counter: number): number {
    return Math.min(this.#everSentTo, this.base + counter - this.#surplus());
  }

  /** The most bytes that the session may have received, by its own count. Its times lie within them. */
  get everSentBytes(): number {
    return this.counterAt(this.#everSentTo);
  }

  /** Bytes that were sent on some socket and that no ack has named. The service may have them. */
  get doubtful(): number {
    return this.#everSentTo - this.#acked;
  }

  state(): InFlightState {
    return {
      base: this.base,
      acknowledged: this.#acked,
      everSent: this.#everSentTo,
      rebases: [...this.#rebases],
    };
  }

  #surplus(): number {
    return this.#rebases.at(-1)?.surplus ?? 0;
  }
}

import type { Clock } from '../../../lib/clock.ts';
import type { SessionHint } from '../../../protocol/session-hints.ts';
import { readCommand } from './client-message.ts';
import type { FrameCutter } from './frame-cutter.ts';
import {
  candidates,
  firstOf,
  placeOf,
  placesBefore,
  remember,
  type AckTrail,
  type Places,
} from './overlap.ts';
import type { SessionAudio } from '../disk/session-audio.ts';

type InboundOptions = {
  cutter: FrameCutter;
  audio: SessionAudio;
  clock: Clock;
  /** Called for each audio message. Returns whether the session still accepts audio. */
  mayTake(): boolean;
  /** Receives the counted whole frames in order. */
  onFrames(frames: Buffer): void;
  onAck: (ack: Ack, messageId: string | undefined) => void;
  onStop(messageId: string | undefined): void;
  onHint(hint: SessionHint): void;
  onUnknown(reason: string): void;
  /** Called if a WAV header contradicts the session's format. */
  onContradiction(reason: string): void;
  onDiskFailure: (error: unknown) => void;
};

export type Ack =
  | { accepted: true; byteRange: [number, number]; timeRange: [number, number] }
  | { accepted: false; reason: string };

type ClientItem =
  | { type: 'audio'; bytes: Buffer; messageId: string | undefined; socket: number }
  | { type: 'bad-audio'; reason: string; messageId: string | undefined }
  | { type: 'stop'; messageId: string | undefined };

/**
 * Audio from a later socket that arrived while audio of an earlier one was being compared, with the byte at which the
 * client says it starts.
 */
type LaterSocket = { items: ClientItem[]; standsAt: number | undefined };

/** A client sends everything it holds at once after it reconnects. The comparison waits this long for it. */
const gatherMs = 250;
/** On a slow line the repeated bytes take longer. While they match, the comparison waits at most this long. */
const longestGatherMs = 3_000;
const lookAgainMs = 100;

const notAccepted = 'audio is no longer accepted, the session was stopped';

/**
 * Takes the messages of a session's sockets and appends their audio to the session. If a client says at which byte it
 * continues, that is believed. Otherwise the first audio on a new socket is collected and compared with the end of the
 * stored audio (overlap.ts), and later messages need no comparison. An ack is sent when its bytes are in the file: a
 * client must not forget audio that a crash could still lose.
 */
export class Inbound {
  readonly #options: InboundOptions;
  /** The acks sent on this socket, and the bytes at which the client may have started on it. */
  #trail: AckTrail = [];
  #origins: Places;
  #confirmedByte: number | undefined;
  /** True if an earlier socket of this session has brought audio. */
  #isResumed: boolean;
  /** Audio of a new socket whose position is not known yet. Undefined once it is known. */
  #gathered: ClientItem[] | undefined;
  #gatheringSinceMs = 0;
  #isSocketOpen = false;
  /** The number of the current socket. An ack goes only to the socket that brought its audio. */
  #socketNumber = 0;
  #places: Places = { ends: [] };
  #cancelGathering: () => void = () => undefined;
  #matching: Promise<void> | undefined;
  /** Audio that arrived during a comparison: first from the compared socket, then from each later one. */
  #during: LaterSocket[] = [];
  /** The bytes that the client still repeats, and the byte at which the last ack ended. */
  #repeated = 0;
  #ackedTo: number;
  /**
   * True if the client said where it starts. It then counts as we do, so acks of repeated bytes name those bytes
   * exactly.
   */
  #countsWithUs = false;
  unknownMessages = 0;

  constructor(options: InboundOptions, resumed?: { places: Places }) {
    this.#options = options;
    this.#ackedTo = options.cutter.bytes;
    this.#origins = resumed?.places ?? { ends: [0] };
    this.#isResumed = resumed !== undefined;
  }

  /** The bytes held while the position of a resumed client is searched for. */
  get heldBytes(): number {
    return bytesOf([...(this.#gathered ?? []), ...this.#during.flatMap(({ items }) => items)]);
  }

  /** Called when the client is known to have the ack that ended at this byte. */
  confirmed(endByte: number): void {
    this.#confirmedByte = Math.max(endByte, this.#confirmedByte ?? 0);
  }

  /** `standsAt` is the byte of the session at which the client says its audio starts. */
  socketOpened(standsAt?: number): void {
    this.#flushGathered();
    this.#isSocketOpen = true;
    this.#socketNumber++;
    if (this.#matching) this.#during.push({ items: [], standsAt });
    else this.#begin(standsAt);
  }

  /** Starts with a new socket. A half-finished repetition on the lost socket says nothing about this one. */
  #begin(standsAt: number | undefined): void {
    const { cutter } = this.#options;
    this.#repeated = 0;
    this.#ackedTo = cutter.bytes;
    this.#gathered = undefined;
    this.#countsWithUs = standsAt !== undefined;
    if (standsAt !== undefined) {
      // A client that claims more bytes than we have repeats nothing. The first ack tells it our count.
      if (standsAt < cutter.bytes) this.#repeat(standsAt, cutter.bytes - standsAt);
      return;
    }
    if (!this.#isResumed) return;
    this.#places = placesBefore(this.#origins, cutter.bytes);
    if (firstOf(this.#places) !== undefined) this.#gathered = [];
  }

  socketClosed(): void {
    const socketEndedMs = this.#options.clock.monotonicMs();
    if (this.#isSocketOpen)
      this.#origins = candidates(this.#trail, {
        origins: this.#origins,
        confirmedByte: this.#confirmedByte,
        socketEndedMs,
      });
    this.#trail = [];
    this.#isResumed = true;
    this.#isSocketOpen = false;
    this.#flushGathered();
  }

  message(frame: Buffer, isBinary: boolean): void {
    const command = isBinary
      ? ({ type: 'audio', bytes: frame, messageId: undefined } as const)
      : readCommand(frame);
    if (command.type === 'unknown') {
      this.unknownMessages++;
      this.#options.onUnknown(command.reason);
      return;
    }
    if (command.type === 'hint') {
      this.#options.onHint(command.hint);
      return;
    }
    this.#take(command.type === 'audio' ? { ...command, socket: this.#socketNumber } : command);
  }

  /** Resolves when everything received so far is acknowledged or refused. */
  async settled(): Promise<void> {
    this.#flushGathered();
    while (this.#matching) {
      await this.#matching;
      this.#flushGathered();
    }
    await this.#options.audio.flushed();
  }

  #take(item: ClientItem): void {
    if (this.#matching) this.#during.at(-1)?.items.push(item);
    else if (this.#gathered) this.#gatherOn(this.#gathered, item);
    else this.#handle(item);
  }

  #gatherOn(gathered: ClientItem[], item: ClientItem): void {
    if (gathered.push(item) === 1) {
      this.#gatheringSinceMs = this.#options.clock.monotonicMs();
      this.#cancelGathering = this.#options.clock.after(gatherMs, () => this.#flushGathered());
    }
    const furthest = this.#options.cutter.bytes - (firstOf(this.#places) ?? 0);
    if (item.type === 'stop' || bytesOf(gathered) >= furthest) this.#flushGathered();
  }

  #flushGathered(): void {
    const items = this.#gathered;
    // A socket without audio gives nothing to compare.
    if (!items || items.length === 0 || this.#matching) return;
    this.#cancelGathering();
    this.#gathered = undefined;
    this.#startMatching(items, []);
  }

  /** `later` holds what later sockets have already brought. */
  #startMatching(items: ClientItem[], later: LaterSocket[]): void {
    this.#during = [{ items: [], standsAt: undefined }, ...later];
    this.#matching = this.#match(items)
      .then((isSure) => {
        this.#matching = undefined;
        const [own, ...others] = this.#during;
        this.#during = [];
        if (isSure) this.#afterMatching(own?.items ?? [], others);
        else this.#waitForMore([...items, ...(own?.items ?? [])], others);
      })
      .catch((error: unknown) => {
        this.#matching = undefined;
        this.#options.onDiskFailure(error);
      });
  }

  /** Processes what the same socket brought meanwhile. The position of each later socket is searched for separately. */
  #afterMatching(own: ClientItem[], others: LaterSocket[]): void {
    for (const item of own) this.#handle(item);
    const [next, ...rest] = others;
    if (!next) return;
    this.#begin(next.standsAt);
    if (rest.length === 0) {
      for (const item of next.items) this.#take(item);
    } else if (next.standsAt !== undefined) {
      this.#afterMatching(next.items, rest);
    } else {
      this.#gathered = undefined;
      this.#startMatching(next.items, rest);
    }
  }

  #waitForMore(items: ClientItem[], others: LaterSocket[]): void {
    if (others.length > 0 || !this.#isSocketOpen) {
      this.#startMatching(items, others);
      return;
    }
    this.#gathered = items;
    this.#cancelGathering = this.#options.clock.after(lookAgainMs, () => this.#flushGathered());
  }

  /** Returns false if more bytes are needed to decide. */
  async #match(items: ClientItem[]): Promise<boolean> {
    const { audio, cutter } = this.#options;
    const total = cutter.bytes;
    const places = this.#places;
    try {
      await audio.flushed();
      const stored = await audio.read(firstOf(places) ?? total, total);
      const burst = Buffer.concat(
        items.flatMap((item) => (item.type === 'audio' ? [item.bytes] : [])),
      );
      const isOpen = this.#isSocketOpen && this.#during.length === 1;
      const hasStopped = [...items, ...(this.#during[0]?.items ?? [])].some(
        (item) => item.type === 'stop',
      );
      const placed = placeOf(places, stored, total - stored.length, burst);
      if (
        placed.outcome === 'perhaps' &&
        !placed.isFlat &&
        isOpen &&
        !hasStopped &&
        this.#mayWait()
      )
        return false;
      // A client that stopped has sent everything it held, so an incomplete match is new audio. If its socket was lost
      // instead, it may have sent only the beginning of the repetition, and the match counts.
      const isPart = placed.outcome === 'perhaps' && !hasStopped && !(placed.isFlat && isOpen);
      if (placed.outcome === 'found' || isPart) this.#repeat(placed.place, total - placed.place);
    } catch (error) {
      this.#options.onDiskFailure(error);
    }
    for (const item of items) this.#handle(item);
    return true;
  }

  #repeat(place: number, bytes: number): void {
    this.#repeated = bytes;
    this.#ackedTo = place;
  }

  #mayWait(): boolean {
    return this.#options.clock.monotonicMs() - this.#gatheringSinceMs <= longestGatherMs;
  }

  #handle(item: ClientItem): void {
    switch (item.type) {
      case 'audio':
        this.#audio(item);
        return;
      case 'bad-audio':
        this.inOrder(() =>
          this.#options.onAck({ accepted: false, reason: item.reason }, item.messageId),
        );
        return;
      case 'stop':
        // The stop takes effect at once and later audio is refused. Its answer follows the acks of earlier audio.
        this.#options.onStop(item.messageId);
    }
  }

  /** Runs `act` after the acks of everything before it. */
  inOrder(act: () => void): void {
    this.#options.audio
      .flushed()
      .then(act)
      .catch((error: unknown) => this.#options.onDiskFailure(error));
  }

  #audio({ bytes, messageId, socket }: Extract<ClientItem, { type: 'audio' }>): void {
    const { cutter, audio, onAck, onDiskFailure } = this.#options;
    const repeated = Math.min(this.#repeated, bytes.length);
    this.#repeated -= repeated;
    const fresh = bytes.subarray(repeated);
    if ((fresh.length > 0 || repeated === 0) && !this.#options.mayTake()) {
      this.inOrder(() => onAck({ accepted: false, reason: notAccepted }, messageId));
      return;
    }
    const from = this.#ackedTo;
    if (fresh.length > 0) {
      const taken = cutter.take(fresh);
      if (taken.outcome === 'contradiction') {
        this.#options.onContradiction(taken.reason);
        return;
      }
      this.#options.onFrames(taken.frames);
    }
    const to = this.#countsWithUs ? from + bytes.length : Math.max(cutter.bytes, from);
    this.#ackedTo = to;
    const ack: Ack = {
      accepted: true,
      byteRange: [from, to],
      timeRange: [cutter.secondsAt(from), cutter.secondsAt(to)],
    };
    audio
      .append(fresh)
      .then(() => {
        if (socket !== this.#socketNumber || !this.#isSocketOpen) return;
        remember(this.#trail, to, this.#options.clock.monotonicMs());
        onAck(ack, messageId);
      })
      .catch(onDiskFailure);
  }
}

function bytesOf(items: readonly ClientItem[]): number {
  return items.reduce((sum, item) => sum + (item.type === 'audio' ? item.bytes.length : 0), 0);
}

import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { closeStranger } from '../port/upgrades.ts';
import { carrierNames, carriers, type AnyCarrier, type CarrierName } from './all.ts';
import type { FirstText, UpgradeRequest } from './carrier.ts';
import { parseObject } from './json/frames.ts';
import { socketLimits } from './socket.ts';

/** `more` means that the second text message will tell. */
type CarrierMatch = CarrierName | 'more' | 'unknown';

/**
 * Finds the carrier by the headers of the upgrade, if they show it. Many carriers show themselves only by their first
 * message.
 */
export function matchUpgrade(request: UpgradeRequest): AnyCarrier | undefined {
  return Object.values(carriers).find((carrier) => carrier.matchesUpgrade?.(request));
}

/** Two texts always suffice: every carrier sends its ids in its first message or its second. */
export function matchTexts([first = '', second]: readonly string[]): CarrierMatch {
  const texts = [
    asFirstText(first),
    second === undefined ? undefined : asFirstText(second),
  ] as const;
  let isOpen = false;
  for (const name of carrierNames) {
    const matches = carriers[name].matchesTexts(...texts);
    if (matches === true) return name;
    isOpen ||= matches === 'more';
  }
  return isOpen ? 'more' : 'unknown';
}

function asFirstText(text: string): FirstText {
  return { text, message: parseObject(text) };
}

type HeldMessage = { data: RawData; isBinary: boolean };

type RecognisingEvents = {
  onRecognised: (name: CarrierName) => void;
  /** Reports why we refused the peer. The reason is absent if the peer left by itself. */
  onUnrecognised: (reason: string | undefined) => void;
};

/** A peer may send this much audio ahead of the first text. Beyond it the peer is refused. */
export const maxRecognisingBytes = 65_536;
/** The socket is paused once it is recognised, but frames that it has already read still come. */
export const maxRestBytes = 1_048_576;

/** Holds a socket whose path does not name the carrier, until its first messages show the carrier. */
export class RecognisingSocket {
  readonly #socket: WebSocket;
  readonly #raw: Duplex;
  readonly #on: RecognisingEvents;
  readonly #openedMs: number;
  readonly #held: HeldMessage[] = [];
  readonly #texts: string[] = [];
  #heldBytes = 0;
  #isRecognised = false;
  #isGivenUp = false;

  constructor(socket: WebSocket, raw: Duplex, nowMs: number, on: RecognisingEvents) {
    this.#socket = socket;
    this.#raw = raw;
    this.#openedMs = nowMs;
    this.#on = on;
    socket.on('message', this.#onMessage);
    socket.on('close', () => this.#giveUp(undefined));
  }

  tick(nowMs: number): void {
    if (nowMs - this.#openedMs >= socketLimits.firstMessageMs) this.#refuse();
  }

  /** Hands over all messages that came until now; later ones go to the new owner. */
  handOver(): HeldMessage[] {
    this.#socket.off('message', this.#onMessage);
    return this.#held;
  }

  readonly #onMessage = (data: RawData, isBinary: boolean): void => {
    this.#held.push({ data, isBinary });
    this.#heldBytes += Buffer.isBuffer(data) ? data.length : 0;
    if (this.#isRecognised) {
      if (this.#heldBytes > maxRestBytes) this.#refuse();
      return;
    }
    if (
      this.#heldBytes > maxRecognisingBytes ||
      this.#held.length > socketLimits.messagesBeforeStart
    )
      return this.#refuse();
    if (isBinary) return;
    this.#texts.push(asText(data));
    const match = matchTexts(this.#texts);
    if (match === 'more') return;
    if (match === 'unknown') return this.#refuse();
    this.#isRecognised = true;
    this.#socket.pause();
    this.#on.onRecognised(match);
  };

  #refuse(): void {
    const reason = 'not recognised: use the path of the carrier';
    this.#giveUp(reason);
    this.#socket.off('message', this.#onMessage);
    closeStranger(this.#socket, this.#raw, 1008, reason);
  }

  /** Reports once, and only if nobody else reports the end of this socket. */
  #giveUp(reason: string | undefined): void {
    if (this.#isRecognised || this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#on.onUnrecognised(reason);
  }
}

function asText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}

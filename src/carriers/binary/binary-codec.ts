import type { CarrierEvent, CarrierStart, Codec } from '../carrier.ts';
import { bytesPerSample, durationMsOf } from '../encodings.ts';
import { splitChannels } from './interleaving.ts';

/** The meaning of one text message, or of the stream's address if audio comes before any text. */
export type BinaryMessage =
  | { is: 'start'; start: CarrierStart }
  | { is: 'refused'; refusal: Omit<Extract<CarrierEvent, { type: 'refused' }>, 'type'> }
  | { is: 'dtmf'; digit: string }
  /** A message that we do not use. `malformed` and `unknown` are counted, `known` is not. */
  | { is: 'known' | 'malformed' | 'unknown' };

/** One carrier's own part of the protocols that send bare audio in binary messages. */
export type BinaryDialect = {
  text(text: string): BinaryMessage;
  /**
   * Called when audio comes before any text, for carriers whose first text may come late or never. If it returns
   * undefined, the audio waits for a text.
   */
  withoutText?(): BinaryMessage | undefined;
  /** True if an empty binary message means that no more audio comes. If false, an empty message is ignored. */
  emptyEnds: boolean;
};

/**
 * At most this many bytes of audio wait for the first text. This is several seconds of audio, more than operators have
 * ever reported.
 */
export const maxBytesAheadOfStart = 65_536;

type BinaryState =
  | { at: 'waiting'; held: Buffer[]; heldBytes: number; leftOutBytes: number }
  | { at: 'open'; start: CarrierStart }
  | { at: 'refused' }
  | { at: 'over' };

/**
 * Decodes bare audio in binary messages, with one encoding and one order of channels for the whole stream, and
 * control in text.
 */
export class BinaryCodec implements Codec {
  readonly #dialect: BinaryDialect;
  #state: BinaryState = { at: 'waiting', held: [], heldBytes: 0, leftOutBytes: 0 };

  constructor(dialect: BinaryDialect) {
    this.#dialect = dialect;
  }

  decode(data: Buffer, isBinary: boolean): CarrierEvent[] {
    return isBinary ? this.#audio(data) : this.#message(this.#dialect.text(data.toString('utf8')));
  }

  #message(message: BinaryMessage): CarrierEvent[] {
    switch (message.is) {
      case 'start':
        return this.#start(message.start);
      case 'refused':
        if (this.#state.at !== 'waiting') return [{ type: 'count', what: 'duplicate' }];
        this.#state = { at: 'refused' };
        return [{ type: 'refused', ...message.refusal }];
      case 'dtmf':
        return [{ type: 'dtmf', digit: message.digit, ...this.#onlyTrack() }];
      case 'malformed':
      case 'unknown':
        return [{ type: 'count', what: message.is }];
      case 'known':
        return [];
    }
  }

  #start(start: CarrierStart): CarrierEvent[] {
    const before = this.#state;
    if (before.at !== 'waiting') return [{ type: 'count', what: 'duplicate' }];
    this.#state = { at: 'open', start };
    const events: CarrierEvent[] = [
      { type: 'start', start },
      ...before.held.flatMap((data) => this.#audio(data)),
    ];
    if (before.leftOutBytes === 0) return events;
    const { encoding, sampleRate, tracks } = start;
    const durationMs = durationMsOf(before.leftOutBytes / tracks.length, encoding, sampleRate);
    return [
      ...events,
      ...tracks.map(({ name: track }): CarrierEvent => ({
        type: 'lost',
        track,
        durationMs,
        cause: 'opening',
      })),
    ];
  }

  #audio(data: Buffer): CarrierEvent[] {
    const state = this.#state;
    switch (state.at) {
      case 'refused':
        return [];
      case 'over':
        return data.length === 0 ? [] : [{ type: 'count', what: 'late' }];
      case 'waiting':
        return this.#ahead(state, data);
      case 'open':
        break;
    }
    if (data.length === 0) return this.#empty();
    const names = state.start.tracks.map(({ name }) => name);
    const events = splitChannels(data, bytesPerSample(state.start.encoding), names);
    return events.map((event) =>
      event.type === 'count' ? { ...event, ...this.#onlyTrack() } : event,
    );
  }

  #empty(): CarrierEvent[] {
    if (!this.#dialect.emptyEnds) return [];
    this.#state = { at: 'over' };
    return [{ type: 'stop', detail: 'end of audio' }];
  }

  /**
   * Holds audio that comes before the start, up to `maxBytesAheadOfStart`. Further audio is dropped, and it is declared
   * lost once its format is known.
   */
  #ahead(state: Extract<BinaryState, { at: 'waiting' }>, data: Buffer): CarrierEvent[] {
    const said = data.length > 0 ? this.#dialect.withoutText?.() : undefined;
    if (said) return [...this.#message(said), ...this.#audio(data)];
    if (state.heldBytes + data.length > maxBytesAheadOfStart) state.leftOutBytes += data.length;
    else {
      state.heldBytes += data.length;
      state.held.push(Buffer.from(data));
    }
    return [];
  }

  #onlyTrack(): { track?: string } {
    const [first, second] = this.#state.at === 'open' ? this.#state.start.tracks : [];
    return first && !second ? { track: first.name } : {};
  }
}

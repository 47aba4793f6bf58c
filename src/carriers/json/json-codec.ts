import type { StreamEvent } from '../../bridge/streams.ts';
import type { CarrierEvent, CarrierStart, Codec, StreamClaim } from '../carrier.ts';
import { bytesPerSample, durationMsOf } from '../encodings.ts';
import { FrameOrder } from './frame-order.ts';
import { decodeBase64, objectAt, parseObject, rawMedia, textAt, wholeAt } from './frames.ts';

export type ParsedStart =
  | { outcome: 'start'; start: CarrierStart; swapBytes: boolean }
  | ({ outcome: 'refused'; reason: string; closingEndsCall: boolean } & StreamClaim)
  | { outcome: 'malformed' };

export type MediaHead = {
  track: string;
  number: number | undefined;
  timestampMs: number | undefined;
};

/** One carrier's own part of the JSON family, whose text frames hold audio in base64. */
export type Dialect = {
  /**
   * Reads the exact beginning of its media frames up to `"payload":"`, and the exact end from the closing quote on.
   * Undefined for any other form, which is then parsed in full.
   */
  mediaHead(head: string, tail: string): MediaHead | undefined;
  /** Brings a message of another shape into that of the family: `event`, and `track` and `payload` below `media`. */
  inFamilyShape?(message: Record<string, unknown>): Record<string, unknown>;
  /**
   * Says what the numbers count: all frames of the stream, or the frames of each track. `rising` numbers only increase
   * within a track, and a hole in them means nothing.
   */
  numbering: 'stream' | 'track' | 'rising';
  firstNumber: number;
  /** True if the timestamps count the audio itself. A jump in them is then a hole of that length. */
  hasMediaClock: boolean;
  sequenceField: 'sequenceNumber' | 'sequence_number';
  start(message: Record<string, unknown>): ParsedStart;
  /** Set if each track has a stop of its own. If absent, the first stop ends the stream. */
  stops?: 'each-track';
  /** Events that we know and have no use for. */
  ignored: ReadonlySet<string>;
  dtmfTrack(dtmf: Record<string, unknown>): string | undefined;
};

type OpenJsonStream = {
  start: CarrierStart;
  swapBytes: boolean;
  orders: Map<string, FrameOrder>;
  /** The highest number so far of each track, for `rising` numbers. */
  latest: Map<string, number>;
  stopsLeft: number;
};
type JsonStreamState =
  { at: 'waiting' } | ({ at: 'open' } & OpenJsonStream) | { at: 'refused' } | { at: 'stopped' };

export class JsonCodec implements Codec {
  readonly #dialect: Dialect;
  #state: JsonStreamState = { at: 'waiting' };

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  decode(data: Buffer, isBinary: boolean): CarrierEvent[] {
    if (isBinary) return malformed();
    const raw = this.#state.at === 'open' ? rawMedia(data) : undefined;
    const head = raw && this.#dialect.mediaHead(raw.head, raw.tail);
    return raw && head ? this.#media(head, raw.payload) : this.#message(data.toString('utf8'));
  }

  flush(): StreamEvent[] {
    return this.#state.at === 'open'
      ? [...this.#state.orders.values()].flatMap((order) => order.flush())
      : [];
  }

  #message(text: string): CarrierEvent[] {
    const parsed = parseObject(text);
    const message = parsed && (this.#dialect.inFamilyShape?.(parsed) ?? parsed);
    const event = message && textAt(message, 'event');
    if (!message || event === undefined) return malformed();
    switch (event) {
      case 'start':
        return this.#start(message);
      case 'media':
        return this.#parsedMedia(message);
      case 'stop':
        return this.#stop();
      case 'dtmf':
        return [...this.#skip(message), ...this.#dtmf(message)];
      default:
        return this.#dialect.ignored.has(event)
          ? this.#skip(message)
          : [...this.#skip(message), { type: 'count', what: 'unknown' }];
    }
  }

  #start(message: Record<string, unknown>): CarrierEvent[] {
    if (this.#state.at !== 'waiting')
      return [...this.#skip(message), { type: 'count', what: 'duplicate' }];
    const parsed = this.#dialect.start(message);
    switch (parsed.outcome) {
      case 'malformed':
        return malformed();
      case 'refused': {
        this.#state = { at: 'refused' };
        const { outcome: type, ...refusal } = parsed;
        return [{ type, ...refusal }];
      }
      case 'start':
        this.#state = {
          at: 'open',
          ...parsed,
          orders: this.#orders(message, parsed.start),
          latest: new Map(),
          stopsLeft: this.#dialect.stops === 'each-track' ? parsed.start.tracks.length : 1,
        };
        return [{ type: 'start', start: parsed.start }];
    }
  }

  #orders(message: Record<string, unknown>, start: CarrierStart): Map<string, FrameOrder> {
    const { numbering, firstNumber, hasMediaClock, sequenceField } = this.#dialect;
    if (numbering !== 'stream')
      return new Map(
        start.tracks.map(({ name }) => [
          name,
          new FrameOrder({ tracks: 1, first: firstNumber, firstIsSure: false, hasMediaClock }),
        ]),
      );
    const own = wholeAt(message, sequenceField);
    const first = own === undefined ? firstNumber : own + 1;
    const shared = new FrameOrder({
      tracks: start.tracks.length,
      first,
      firstIsSure: own !== undefined,
      hasMediaClock,
    });
    return new Map(start.tracks.map(({ name }) => [name, shared]));
  }

  #parsedMedia(message: Record<string, unknown>): CarrierEvent[] {
    const media = objectAt(message, 'media');
    const payload = media && textAt(media, 'payload', Infinity);
    const bytes = payload === undefined ? undefined : decodeBase64(payload);
    const track = media && textAt(media, 'track');
    if (!media || !bytes || track === undefined)
      return this.#state.at === 'stopped' ? late() : malformed();
    const number =
      this.#dialect.numbering !== 'stream'
        ? wholeAt(media, 'chunk')
        : wholeAt(message, this.#dialect.sequenceField);
    return this.#media({ track, number, timestampMs: wholeAt(media, 'timestamp') }, bytes);
  }

  #media({ track, number, timestampMs }: MediaHead, payload: Buffer): CarrierEvent[] {
    const state = this.#state;
    if (state.at === 'stopped') return late();
    const order = state.at === 'open' ? state.orders.get(track) : undefined;
    if (state.at !== 'open' || !order) return malformed();
    const { encoding, sampleRate } = state.start;
    if (payload.length % bytesPerSample(encoding) !== 0) return malformed(track);
    if (state.swapBytes) payload.swap16();
    if (number === undefined) return [{ type: 'audio', track, payload }];
    const durationMs = durationMsOf(payload.length, encoding, sampleRate);
    if (this.#dialect.numbering === 'rising') {
      const latest = state.latest.get(track) ?? -1;
      if (number === latest) return [{ type: 'count', what: 'duplicate', track }];
      if (number < latest)
        return [
          { type: 'count', what: 'late', track },
          { type: 'lost', track, durationMs, cause: 'late' },
        ];
      state.latest.set(track, number);
      return [{ type: 'audio', track, payload }];
    }
    return order.push({ number, track, timestampMs, durationMs, payload });
  }

  /** Some carriers number every message, so a message without audio must not look like a hole. */
  #skip(message: Record<string, unknown>): CarrierEvent[] {
    const number = wholeAt(message, this.#dialect.sequenceField);
    if (this.#state.at !== 'open' || this.#dialect.numbering !== 'stream' || number === undefined)
      return [];
    return this.#state.orders.values().next().value?.skip(number) ?? [];
  }

  #dtmf(message: Record<string, unknown>): CarrierEvent[] {
    const dtmf = objectAt(message, 'dtmf');
    const digit = dtmf && textAt(dtmf, 'digit', 1);
    if (this.#state.at === 'stopped') return late();
    if (this.#state.at !== 'open' || !dtmf || digit === undefined) return malformed();
    const track = this.#dialect.dtmfTrack(dtmf);
    return [track === undefined ? { type: 'dtmf', digit } : { type: 'dtmf', digit, track }];
  }

  #stop(): CarrierEvent[] {
    if (this.#state.at === 'waiting') return malformed();
    if (this.#state.at === 'stopped') return late();
    if (this.#state.at === 'open' && --this.#state.stopsLeft > 0) return [];
    const events = this.flush();
    this.#state = { at: 'stopped' };
    return [...events, { type: 'stop' }];
  }
}

function malformed(track?: string): CarrierEvent[] {
  return [
    track === undefined
      ? { type: 'count', what: 'malformed' }
      : { type: 'count', what: 'malformed', track },
  ];
}

function late(): CarrierEvent[] {
  return [{ type: 'count', what: 'late' }];
}

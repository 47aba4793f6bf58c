import type { Clock } from '../lib/clock.ts';
import type { StreamEvent } from './streams.ts';

/** At most this much audio waits: a minute of one leg at 8 kHz, longer than the bridge has ever needed to answer. */
export const maxOpeningBytes = 480_000;
/**
 * At most this much audio of a proven stream waits for a call that Postgres does not take yet (`maxHeldMs` in
 * call/calls.ts): two tracks of 16 bits at 8 kHz for those two minutes.
 */
export const maxHeldOpeningBytes = 4_000_000;
/**
 * Above this number of events, counters are dropped. Audio is limited by its bytes, and other events by the carrier's
 * message rate.
 */
export const maxOpeningEvents = 20_000;

/**
 * Holds the events of a stream, in order, while its call cannot take them. When the audio exceeds its limit, the
 * oldest audio is dropped and declared lost; no other event is dropped.
 */
export class OpeningQueue<Other extends { type: string } = never> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #events: (StreamEvent | Other)[] = [];
  #audioBytes = 0;
  #maxBytes = maxOpeningBytes;
  #firstAudioMs: number | undefined;
  readonly #droppedBytes = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Holds audio for as long as the call itself may be held. A stream without a proof gets no such room. */
  proven(): void {
    this.#maxBytes = maxHeldOpeningBytes;
  }

  push(event: StreamEvent | Other): void {
    if (this.#events.length >= maxOpeningEvents && event.type === 'count') return;
    this.#events.push(event);
    if (!isAudio(event)) return;
    this.#firstAudioMs ??= this.#clock.monotonicMs();
    this.#audioBytes += event.payload.length;
    if (this.#audioBytes > this.#maxBytes) this.#dropOldest();
  }

  /**
   * Returns the events in order. If audio has waited, a notice before them says how long, and a notice after them says
   * that the audio is current again. Dropped bytes come before the events, as lost audio of each track.
   */
  take(durationMsOf: (bytes: number) => number): (StreamEvent | Other)[] {
    const lost = [...this.#droppedBytes].map(([track, bytes]): StreamEvent => ({
      type: 'lost',
      track,
      durationMs: durationMsOf(bytes),
      cause: 'opening',
    }));
    const waitedMs =
      this.#firstAudioMs === undefined ? 0 : this.#clock.monotonicMs() - this.#firstAudioMs;
    const events = this.#events;
    this.#events = [];
    this.#audioBytes = 0;
    this.#firstAudioMs = undefined;
    this.#droppedBytes.clear();
    if (waitedMs === 0) return [...lost, ...events];
    const since = (durationMs: number): StreamEvent => ({ type: 'waited', durationMs });
    return [since(waitedMs), ...lost, ...events, since(0)];
  }

  /** A quarter is dropped at once, so that a long wait does not search the list for every frame. */
  #dropOldest(): void {
    let spare = this.#maxBytes / 4;
    this.#events = this.#events.filter((event) => {
      if (!isAudio(event) || spare <= 0) return true;
      spare -= event.payload.length;
      this.#audioBytes -= event.payload.length;
      const dropped = this.#droppedBytes.get(event.track) ?? 0;
      this.#droppedBytes.set(event.track, dropped + event.payload.length);
      return false;
    });
  }
}

type AudioEvent = Extract<StreamEvent, { type: 'audio' }>;

function isAudio(event: { type: string }): event is AudioEvent {
  return event.type === 'audio';
}

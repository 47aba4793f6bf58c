import type { StreamEvent } from '../bridge/seam.ts';
import type { CarrierEvent } from './carrier.ts';

/** What waits for the call: its own events, and the end of the stream behind them. */
type WaitingEvent = StreamEvent | Extract<CarrierEvent, { type: 'stop' }>;

/**
 * Queue `carrier-opening`: what a stream says between its start and the bridge's answer. Bound: bytes of
 * audio, a minute of one leg; policy: the oldest audio goes and is declared lost, nothing else does.
 */
const audioBytesAtMost = 480_000;
const eventsAtMost = 20_000;

export class EventQueue {
  #events: WaitingEvent[] = [];
  #audioBytes = 0;
  readonly #droppedBytes = new Map<string, number>();

  push(event: WaitingEvent): void {
    if (this.#events.length >= eventsAtMost && event.type === 'count') return;
    this.#events.push(event);
    if (event.type !== 'audio') return;
    this.#audioBytes += event.payload.length;
    if (this.#audioBytes > audioBytesAtMost) this.#dropOldest();
  }

  /** In order; bytes that had to go come first, as what was lost of each track. */
  take(durationMsOf: (bytes: number) => number): WaitingEvent[] {
    const lost = [...this.#droppedBytes].map(([track, bytes]): WaitingEvent => ({
      type: 'lost',
      track,
      durationMs: durationMsOf(bytes),
      cause: 'opening',
    }));
    const events = this.#events;
    this.#events = [];
    return [...lost, ...events];
  }

  /** A quarter at once, so that a long wait does not search the list for every frame. */
  #dropOldest(): void {
    let spare = audioBytesAtMost / 4;
    this.#events = this.#events.filter((event) => {
      if (event.type !== 'audio' || spare <= 0) return true;
      spare -= event.payload.length;
      this.#audioBytes -= event.payload.length;
      this.#droppedBytes.set(
        event.track,
        (this.#droppedBytes.get(event.track) ?? 0) + event.payload.length,
      );
      return false;
    });
  }
}

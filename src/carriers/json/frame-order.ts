import type { StreamEvent } from '../../bridge/streams.ts';

export type NumberedFrame = {
  number: number;
  track: string;
  /** The carrier's own timestamp, relative to the stream. */
  timestampMs: number | undefined;
  durationMs: number;
  payload: Buffer;
};

/** With frames of 20 ms, this is 200 ms. A frame that comes even later is rarer than a frame that never comes. */
export const maxFramesHeld = 10;
/** A jump by more than a minute is a new numbering, not a loss. */
const jumpAtMost = 3_000;
const remembered = 64;

/**
 * Puts frames back in the order of the carrier's numbers. Frames in order pass at once. After a hole, frames are held
 * until the hole is filled. When the window is full, the hole is declared lost. Repeated frames are dropped, and so are
 * frames that come after they were declared lost. No other frame is dropped.
 */
export class FrameOrder {
  #next: number | undefined;
  readonly #held = new Map<number, NumberedFrame>();
  /**
   * Holds pairs of number and time, at the place `number % remembered`. This costs a kilobyte for each stream and no
   * object for each frame.
   */
  readonly #emitted = new Float64Array(2 * remembered).fill(NaN);
  readonly #declaredLost = new Set<number>();
  readonly #gaps: GapAccount;
  /** False until the number at which the stream began is certain. Until then, no frame can be known to be missing. */
  #baseIsSure: boolean;

  /**
   * `tracks` is the number of tracks that share this numbering, `first` the number that the carrier starts with.
   * `hasMediaClock` says that the timestamps count the audio itself, and not the time of sending.
   */
  constructor(options: {
    tracks: number;
    first: number;
    firstIsSure: boolean;
    hasMediaClock?: boolean;
  }) {
    this.#next = options.first;
    this.#baseIsSure = options.firstIsSure;
    this.#gaps = new GapAccount(options.tracks, options.hasMediaClock ?? false);
  }

  push(frame: NumberedFrame): StreamEvent[] {
    const next = this.#next ?? frame.number;
    if (frame.number === next)
      return this.#held.size === 0 ? this.#emit(frame, []) : this.#drain(this.#emit(frame, []));
    if (frame.number < next) return this.#behind(frame);
    if (frame.number - next > jumpAtMost) return this.#renumber(frame);
    if (this.#held.has(frame.number))
      return [{ type: 'count', what: 'duplicate', track: frame.track }];
    this.#held.set(frame.number, frame);
    return this.#held.size < maxFramesHeld ? [] : this.#skipHole();
  }

  /** Notes that a message without audio has used this number. */
  skip(number: number): StreamEvent[] {
    if (number !== this.#next) return [];
    this.#next = number + 1;
    return this.#drain([]);
  }

  flush(): StreamEvent[] {
    const events: StreamEvent[] = [];
    while (this.#held.size > 0) events.push(...this.#skipHole());
    return events;
  }

  #emit(frame: NumberedFrame, events: StreamEvent[]): StreamEvent[] {
    this.#next = frame.number + 1;
    this.#baseIsSure = true;
    return this.#deliver(frame, events);
  }

  #deliver(frame: NumberedFrame, events: StreamEvent[]): StreamEvent[] {
    const place = 2 * (frame.number % remembered);
    this.#emitted[place] = frame.number;
    this.#emitted[place + 1] = frame.timestampMs ?? NaN;
    const { lostMs, quietMs } = this.#gaps.before(frame);
    if (lostMs > 0)
      events.push({ type: 'lost', track: frame.track, durationMs: lostMs, cause: 'numbering' });
    if (quietMs > 0) events.push({ type: 'quiet', track: frame.track, durationMs: quietMs });
    events.push({ type: 'audio', track: frame.track, payload: frame.payload });
    return events;
  }

  #drain(events: StreamEvent[]): StreamEvent[] {
    for (let frame = this.#take(); frame; frame = this.#take()) {
      events.push({ type: 'count', what: 'reordered', track: frame.track });
      this.#emit(frame, events);
    }
    return events;
  }

  #take(): NumberedFrame | undefined {
    const frame = this.#held.get(this.#next ?? -1);
    if (frame) this.#held.delete(frame.number);
    return frame;
  }

  /** Gives the hole up, and continues at the first frame after it. */
  #skipHole(): StreamEvent[] {
    const to = Math.min(...this.#held.keys());
    const from = this.#next ?? to;
    if (this.#baseIsSure) {
      this.#gaps.missing(to - from);
      for (let number = Math.max(from, to - remembered); number < to; number++)
        this.#declare(number);
    }
    const events: StreamEvent[] = [];
    this.#next = to;
    for (let frame = this.#take(); frame; frame = this.#take()) this.#emit(frame, events);
    return events;
  }

  #declare(number: number): void {
    this.#declaredLost.add(number);
    for (const oldest of this.#declaredLost) {
      if (this.#declaredLost.size <= remembered) return;
      this.#declaredLost.delete(oldest);
    }
  }

  #behind(frame: NumberedFrame): StreamEvent[] {
    if (this.#declaredLost.delete(frame.number))
      return [{ type: 'count', what: 'late', track: frame.track }];
    const place = 2 * (frame.number % remembered);
    const isSame = Object.is(this.#emitted[place + 1], frame.timestampMs ?? NaN);
    if (this.#emitted[place] === frame.number && isSame)
      return [{ type: 'count', what: 'duplicate', track: frame.track }];
    // We never saw this number and never declared it lost: the numbering is not the documented one. Keep the audio.
    return this.#deliver(frame, [{ type: 'count', what: 'reordered', track: frame.track }]);
  }

  #renumber(frame: NumberedFrame): StreamEvent[] {
    const events = this.flush();
    events.push({ type: 'count', what: 'malformed', track: frame.track });
    return this.#emit(frame, events);
  }
}

/** A smaller difference between two frames is jitter of the carrier's timestamps. */
const smallestQuietMs = 100;

type Hole = { lostMs: number; quietMs: number };

/** Shared by all frames without a hole before them, so that a frame needs no object of its own. */
const noHole: Readonly<Hole> = { lostMs: 0, quietMs: 0 };

/**
 * Computes how much audio is missing before a frame, and on which track. The numbers show that frames are missing. If
 * tracks share a numbering, the timestamps show whose frames. If the timestamps are a media clock, they show the
 * length of the hole.
 */
class GapAccount {
  readonly #tracks: number;
  readonly #hasMediaClock: boolean;
  #missing = 0;
  readonly #endMs = new Map<string, number>();

  constructor(tracks: number, hasMediaClock: boolean) {
    this.#tracks = tracks;
    this.#hasMediaClock = hasMediaClock;
  }

  missing(frames: number): void {
    this.#missing += frames;
  }

  before(frame: NumberedFrame): Readonly<Hole> {
    const { track, timestampMs, durationMs } = frame;
    if (timestampMs === undefined || (this.#tracks === 1 && !this.#hasMediaClock))
      return this.#byNumbers(durationMs);
    const endMs = this.#endMs.get(track);
    this.#endMs.set(track, timestampMs + durationMs);
    return this.#byClock(endMs === undefined ? undefined : timestampMs - endMs, durationMs);
  }

  /** Without timestamps, missing numbers show whose frames are lost only if the numbers belong to one track. */
  #byNumbers(durationMs: number): Readonly<Hole> {
    const frames = this.#missing;
    if (frames === 0 || durationMs === 0) return noHole;
    this.#missing = 0;
    return { lostMs: frames * durationMs, quietMs: 0 };
  }

  #byClock(elapsedMs: number | undefined, durationMs: number): Readonly<Hole> {
    if (durationMs === 0) return noHole;
    if (this.#missing === 0)
      return this.#hasMediaClock && elapsedMs !== undefined && elapsedMs >= smallestQuietMs
        ? { lostMs: 0, quietMs: elapsedMs }
        : noHole;
    // This is the first frame of one of several tracks, so the missing numbers may belong to the others.
    if (elapsedMs === undefined) return this.#tracks === 1 ? this.#byNumbers(durationMs) : noHole;
    // The carrier set its clock back, so the timestamps tell nothing here.
    if (elapsedMs < 0 && this.#tracks === 1) return this.#byNumbers(durationMs);
    const frames = Math.max(0, Math.min(Math.round(elapsedMs / durationMs), this.#missing));
    // If numbers are missing but no time is, the carrier skipped the numbers. They must not count as a loss of later
    // frames.
    this.#missing = this.#tracks === 1 ? 0 : this.#missing - frames;
    return { lostMs: frames * durationMs, quietMs: 0 };
  }
}

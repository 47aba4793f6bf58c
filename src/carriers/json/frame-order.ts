import type { StreamEvent } from '../../bridge/seam.ts';

export type NumberedFrame = {
  number: number;
  track: string;
  /** The carrier's own, relative to the stream. */
  timestampMs: number | undefined;
  durationMs: number;
  payload: Buffer;
};

/** 200 ms of frames of 20 ms: frames that come later than that are rarer than frames that never come. */
export const maxFramesHeld = 10;
/** A jump further than a minute is a new numbering, not a loss. */
const jumpAtMost = 3_000;
const remembered = 64;

/**
 * Puts frames back in the order of the carrier's numbers. Frames in order pass at once; after a hole the
 * next ones wait for it, and when the window is full the hole is declared lost. Nothing is dropped but
 * true repeats and frames whose place was already declared lost.
 */
export class FrameOrder {
  #next: number | undefined;
  readonly #held = new Map<number, NumberedFrame>();
  /** Number and time in turn, by number modulo `remembered`: a kilobyte a stream, no object a frame. */
  readonly #emitted = new Float64Array(2 * remembered).fill(NaN);
  readonly #declaredLost = new Set<number>();
  readonly #gaps: GapAccount;
  /** False until it is certain where the numbering began: nothing can be missing before that. */
  #baseIsSure: boolean;

  /** `tracks`: how many share this numbering. `first`: the number that the carrier starts with. */
  constructor(options: { tracks: number; first: number; firstIsSure: boolean }) {
    this.#next = options.first;
    this.#baseIsSure = options.firstIsSure;
    this.#gaps = new GapAccount(options.tracks);
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

  /** A message that is not audio has used a number of the same counting. */
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
    const lostMs = this.#gaps.lostBefore(frame);
    if (lostMs > 0)
      events.push({ type: 'lost', track: frame.track, durationMs: lostMs, cause: 'numbering' });
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

  /** Goes on at the first frame after the hole. */
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
    // A number that we never saw and never declared: a numbering unlike the documented one. Keep the audio.
    return this.#deliver(frame, [{ type: 'count', what: 'reordered', track: frame.track }]);
  }

  #renumber(frame: NumberedFrame): StreamEvent[] {
    const events = this.flush();
    events.push({ type: 'count', what: 'malformed', track: frame.track });
    return this.#emit(frame, events);
  }
}

/** Which track the missing numbers belonged to: with one track its own, with more the timestamps tell. */
class GapAccount {
  readonly #tracks: number;
  #missing = 0;
  readonly #endMs = new Map<string, number>();

  constructor(tracks: number) {
    this.#tracks = tracks;
  }

  missing(frames: number): void {
    this.#missing += frames;
  }

  lostBefore(frame: NumberedFrame): number {
    const endMs = this.#tracks > 1 ? this.#endMs.get(frame.track) : undefined;
    if (this.#tracks > 1 && frame.timestampMs !== undefined)
      this.#endMs.set(frame.track, frame.timestampMs + frame.durationMs);
    if (this.#missing === 0 || frame.durationMs === 0) return 0;
    const frames = this.#framesBefore(frame, endMs);
    this.#missing -= frames;
    return frames * frame.durationMs;
  }

  #framesBefore(frame: NumberedFrame, endMs: number | undefined): number {
    if (this.#tracks === 1 || frame.timestampMs === undefined) return this.#missing;
    if (endMs === undefined) return 0;
    const frames = Math.round((frame.timestampMs - endMs) / frame.durationMs);
    return Math.max(0, Math.min(frames, this.#missing));
  }
}

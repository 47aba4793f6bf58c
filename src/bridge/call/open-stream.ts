import type { LegRecord } from './call-leg.ts';
import type { CallStream, StreamControl, StreamEnd, StreamStart } from '../seam.ts';

/** What a stream tells its call. */
export type StreamOwner = {
  readonly record: { readonly id: string };
  readonly story: { count(what: string): void };
  audio(stream: OpenStream, legId: string, payload: Buffer): void;
  lost(legId: string, durationMs: number, cause: string): void;
  dtmf(digit: string, legId: string | undefined): void;
  pause(by: 'carrier'): Promise<void>;
  resume(by: 'carrier'): Promise<void>;
  languageChanged(code: string): void;
  streamEnded(stream: OpenStream, how: StreamEnd, detail: string | undefined): void;
};

export type OpenStreamOptions = {
  call: StreamOwner;
  id: string;
  start: StreamStart;
  control: StreamControl;
  tracks: ReadonlyMap<string, LegRecord>;
};

/** What a carrier holds of a call: one socket's frames go in, track by track. Its end is told once. */
export class OpenStream implements CallStream {
  readonly id: string;
  readonly carrierStreamId: string;
  readonly control: StreamControl;
  readonly tracks: ReadonlyMap<string, LegRecord>;
  readonly openedAt = Date.now();
  #call: StreamOwner | undefined;
  readonly callId: string;

  constructor({ call, id, start, control, tracks }: OpenStreamOptions) {
    this.id = id;
    this.carrierStreamId = start.streamId;
    this.control = control;
    this.tracks = tracks;
    this.#call = call;
    this.callId = call.record.id;
  }

  audio(track: string, payload: Buffer): void {
    const leg = this.tracks.get(track);
    if (leg === undefined) this.#call?.story.count('unknown-track');
    else this.#call?.audio(this, leg.id, payload);
  }

  lost(track: string, durationMs: number, cause: string): void {
    const leg = this.tracks.get(track);
    if (leg !== undefined) this.#call?.lost(leg.id, durationMs, cause);
  }

  count(what: 'reordered' | 'duplicate' | 'malformed' | 'late' | 'unknown'): void {
    this.#call?.story.count(what);
  }

  dtmf(digit: string, track: string | undefined): void {
    this.#call?.dtmf(digit, track === undefined ? undefined : this.tracks.get(track)?.id);
  }

  paused(): void {
    void this.#call?.pause('carrier');
  }

  /** What the carrier threw away while it was paused is part of the pause, not a gap. */
  resumed(_discardedMs: number): void {
    void this.#call?.resume('carrier');
  }

  language(code: string): void {
    this.#call?.languageChanged(code);
  }

  end(reason: StreamEnd, detail?: string): void {
    const call = this.#call;
    this.#call = undefined;
    call?.streamEnded(this, reason, detail);
  }

  /** The call is erased: frames that still come go nowhere. */
  forget(): void {
    this.#call = undefined;
  }
}

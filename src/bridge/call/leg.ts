import type { Cadence } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import type { StreamEncoding } from '../seam.ts';
import type { LegAudio } from '../leg/leg-audio.ts';
import type { CompandingWatch, Kept } from './companding-watch.ts';
import type { LastFinal } from '../events/timeline.ts';

export type LegFormat = { encoding: StreamEncoding; sampleRate: number; channels: 1 | 2 };

export type LegRecord = LegFormat & {
  readonly id: string;
  readonly role: Role;
  /** Of each channel of a stereo leg. */
  readonly channelRoles: readonly [Role, Role];
  readonly track: string;
  readonly startedAt: number;
};

/** Frames of a second stream on the same track are ignored while the first was heard this recently. */
const ownerSilenceMs = 1_000;

const bytesPerSample: Record<StreamEncoding, number> = { mulaw: 1, alaw: 1, pcm8: 1, pcm16: 2 };

/** One party's audio in a call: where it lies on the call's clock, and whose frames it takes. */
export class CallLeg {
  readonly record: LegRecord;
  readonly audio: LegAudio;
  /** Until the first speech has shown its law. */
  companding: CompandingWatch | undefined;
  /** What comes while the leg is being begun anew. */
  held: Kept[] | undefined;
  /** Where the leg's first byte lies on the call's clock; known with the first byte. */
  offsetS: number | undefined;
  /** The last final heard in each session, for add-ons that fail without naming theirs. */
  readonly lastFinals = new Map<string, LastFinal>();
  /** Call time up to which words have come. */
  heardUntilS = 0;
  /** Of the last frame, 0 to 1, when somebody watches. */
  level = 0;
  /** Silence written since the last frame, because the carrier sent nothing. */
  quietFilledS = 0;
  reconnects = 0;
  isDone = false;
  #owner: string | undefined;
  #ownerHeardMs = 0;
  #frames = 0;
  #firstMs: number | undefined;
  #longestMs = 0;
  #reopened = false;

  constructor(record: LegRecord, audio: LegAudio, offsetS?: number) {
    this.record = record;
    this.audio = audio;
    this.offsetS = offsetS;
  }

  get bytesPerSecond(): number {
    return bytesPerSecondOf(this.record);
  }

  /** Call time of the next byte. */
  positionS(): number {
    return (this.offsetS ?? 0) + this.audio.positionS();
  }

  /** Silence in place of what the carrier lost or did not send. */
  fill(bytes: number): void {
    if (this.held === undefined) this.audio.filler(bytes);
    else this.held.push({ what: 'silence', bytes });
    this.companding?.silence(bytes);
  }

  /** What was kept or held goes in as it came. */
  replay(kept: readonly Kept[]): void {
    for (const one of kept)
      switch (one.what) {
        case 'silence':
          this.audio.filler(one.bytes);
          break;
        case 'paused':
          this.audio.pause();
          this.audio.push(Buffer.alloc(one.bytes));
          break;
        case 'audio':
          this.audio.resume();
          this.audio.push(one.payload);
      }
  }

  roleOf(channel: number): Role {
    if (this.record.channels === 1) return this.record.role;
    return this.record.channelRoles[channel === 1 ? 1 : 0];
  }

  /** One stream at a time feeds a leg; another takes over when the first has gone quiet or away. */
  takesFrom(streamId: string, nowMs: number): boolean {
    if (this.#owner === streamId) {
      this.#longestMs = Math.max(this.#longestMs, nowMs - this.#ownerHeardMs);
    } else {
      if (this.#owner !== undefined && nowMs - this.#ownerHeardMs < ownerSilenceMs) return false;
      this.#reopened = this.offsetS !== undefined;
      this.#owner = streamId;
    }
    this.#frames++;
    this.#firstMs ??= nowMs;
    this.#ownerHeardMs = nowMs;
    return true;
  }

  /** How the frames came, counted in this process: what an engineer asks first when words are missing. */
  cadence(): Cadence {
    const spanMs = this.#ownerHeardMs - (this.#firstMs ?? this.#ownerHeardMs);
    const audioMs = this.audio.positionS() * 1_000;
    return {
      frames: this.#frames,
      mean_ms: this.#frames > 1 ? Math.round((spanMs / (this.#frames - 1)) * 10) / 10 : 0,
      longest_ms: Math.round(this.#longestMs),
      drift_ms: Math.round(audioMs - spanMs),
    };
  }

  /** True once after the leg changed streams: there is a hole to declare before its first frame. */
  takeReopened(): boolean {
    const reopened = this.#reopened;
    this.#reopened = false;
    return reopened;
  }

  release(streamId: string): void {
    if (this.#owner === streamId) this.#owner = undefined;
  }

  /** The same leg with another audio behind it: whose frames it takes and where it lies go on. */
  continueWith(record: LegRecord, audio: LegAudio): CallLeg {
    const next = new CallLeg(record, audio, this.offsetS);
    next.#owner = this.#owner;
    next.#ownerHeardMs = this.#ownerHeardMs;
    next.#frames = this.#frames;
    next.#firstMs = this.#firstMs;
    next.#longestMs = this.#longestMs;
    return next;
  }

  get quietSinceMs(): number {
    return this.#ownerHeardMs;
  }

  get hasOwner(): boolean {
    return this.#owner !== undefined;
  }
}

export function bytesPerSecondOf(leg: LegFormat): number {
  return leg.sampleRate * leg.channels * bytesPerSample[leg.encoding];
}

/** Whole samples only: half a sample would shift every byte after it into noise. */
export function wholeBytes(leg: LegFormat, seconds: number): number {
  const frame = leg.channels * bytesPerSample[leg.encoding];
  return Math.max(0, Math.round(seconds * leg.sampleRate)) * frame;
}

export function isSameFormat(a: LegFormat, b: LegFormat): boolean {
  return a.encoding === b.encoding && a.sampleRate === b.sampleRate && a.channels === b.channels;
}

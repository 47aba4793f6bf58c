import { CompandingCheck } from '../../audio/companding-check.ts';
import { alawToLinear, mulawToLinear } from '../../audio/g711.ts';
import type { Cadence } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import { bytesPerSecondOf, type LegRecord } from '../records/leg-record.ts';
import type { StreamEncoding } from '../streams.ts';
import type { Leg } from '../leg/leg-audio.ts';
import type { LastFinal } from '../records/timeline.ts';

/** While the stream that feeds a leg was heard this recently, a second stream of the same track is ignored. */
const ownerSilenceMs = 1_000;

/** One party's audio in a call: its place on the call's clock, and which of the call's streams may write into it. */
export class CallLeg {
  readonly record: LegRecord;
  readonly audio: Leg;
  /** Where the leg's first byte lies on the call's clock; known with the first byte. */
  offsetS: number | undefined;
  /** The last final heard in each session, for add-ons that fail without naming theirs. */
  readonly lastFinals = new Map<string, LastFinal>();
  /** Call time up to which words have come. */
  heardUntilS = 0;
  /** Loudness of the last frame, 0 to 1; kept only while somebody watches. */
  level = 0;
  /** Silence written since the last frame, because the carrier sent nothing. */
  quietFilledS = 0;
  /** Silence written for audio that the carrier said it lost. */
  lostFilledS = 0;
  /** Time by which the leg is behind the call's clock for good: declared as gaps, too long for silence. */
  declaredS = 0;
  /** The last stretch of its audio that never reached the service, in call time: its words are missed once. */
  lost: { start: number; end: number } | undefined;
  /**
   * Call time up to which the node that had the call before may have received more, until a stream comes back and shows
   * how far.
   */
  unknownToS: number | undefined;
  reconnects = 0;
  /** What the other nodes were last told of it. */
  shared: string | undefined;
  isDone = false;
  /** Until the first speech of a G.711 leg has shown its law. */
  #companding: CompandingCheck | undefined;
  #owner: string | undefined;
  #ownerHeardMs = 0;
  #frames = 0;
  #firstMs: number | undefined;
  #longestMs = 0;
  #reopened = false;

  constructor(
    record: LegRecord,
    audio: Leg,
    taken: { offsetS?: number | undefined; again: boolean },
  ) {
    this.record = record;
    this.audio = audio;
    this.offsetS = taken.offsetS;
    const { encoding } = record;
    // A leg that goes on after a restart was judged by its first speech in the process before.
    if (!taken.again && (encoding === 'mulaw' || encoding === 'alaw'))
      this.#companding = new CompandingCheck(encoding);
  }

  get bytesPerSecond(): number {
    return bytesPerSecondOf(this.record);
  }

  /** Call time of the next byte. */
  positionS(): number {
    return (this.offsetS ?? 0) + this.audio.positionS();
  }

  /** Silence in place of audio that the carrier lost or did not send. */
  fill(bytes: number): void {
    this.audio.filler(bytes);
  }

  /** True once, when the first speech of the leg shows that its samples follow the other G.711 law. */
  showsOtherLaw(payload: Buffer): boolean {
    const verdict = this.#companding?.push(payload);
    if (verdict === undefined || verdict === 'undecided') return false;
    this.#companding = undefined;
    return verdict === 'other-law';
  }

  /** Remembers how loud a frame is, for watchers. */
  hearLevel(payload: Buffer): void {
    this.level = levelOf(payload, this.record.encoding);
  }

  roleOf(channel: number): Role {
    if (this.record.channels === 1) return this.record.role;
    return this.record.channelRoles[channel === 1 ? 1 : 0];
  }

  /** One stream at a time feeds a leg. Another takes over once the first was closed or has been quiet for a second. */
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

  /** How regularly the frames came, counted by this process: the first question when words are missing. */
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

  /** True once after another stream took the leg over: the hole between the two is declared before its first frame. */
  takeReopened(): boolean {
    const reopened = this.#reopened;
    this.#reopened = false;
    return reopened;
  }

  /** A carrier that says stop had nothing to say before. Of one that is cut off nobody knows. */
  release(streamId: string, saidStop: boolean): void {
    if (this.#owner !== streamId) return;
    this.#owner = undefined;
    if (saidStop) this.quietFilledS = 0;
  }

  get quietSinceMs(): number {
    return this.#ownerHeardMs;
  }

  get hasOwner(): boolean {
    return this.#owner !== undefined;
  }
}

/** One sample in eight is enough for the level bar of a page. */
const stride = 8;

/** The loudest of some samples of a frame, 0 to 1. */
function levelOf(payload: Buffer, encoding: StreamEncoding): number {
  let peak = 0;
  if (encoding === 'pcm16') {
    for (let at = 0; at + 1 < payload.length; at += stride * 2)
      peak = Math.max(peak, Math.abs(payload.readInt16LE(at)));
  } else {
    for (let at = 0; at < payload.length; at += stride)
      peak = Math.max(peak, Math.abs(sampleOf(payload[at] ?? 0, encoding)));
  }
  return Math.min(1, peak / 32_768);
}

function sampleOf(byte: number, encoding: 'mulaw' | 'alaw' | 'pcm8'): number {
  switch (encoding) {
    case 'mulaw':
      return mulawToLinear[byte] ?? 0;
    case 'alaw':
      return alawToLinear[byte] ?? 0;
    case 'pcm8':
      return (byte - 128) * 256;
  }
}

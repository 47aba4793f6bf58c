import { CompandingCheck } from '../../audio/companding-check.ts';
import { alawToLinear, mulawToLinear } from '../../audio/g711.ts';
import type { Cadence } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import { LegLanguage } from '../records/leg-language.ts';
import { bytesPerSecondOf, type LegRecord } from '../records/leg-record.ts';
import type { StreamEncoding } from '../streams.ts';
import type { RecoveredLeg } from '../journal/journal-recovery.ts';
import type { Leg } from '../leg/leg-audio.ts';
import type { LastFinal } from '../records/timeline.ts';

/** While a leg has received a frame from its stream within this time, a second stream for the same track is ignored. */
const ownerSilenceMs = 1_000;

/** A leg as an earlier process or another node left it: empty for a new one. */
export type LeftLeg = {
  recovered?: RecoveredLeg | undefined;
  /** The position of the leg's start on the call's clock. */
  offsetS?: number | undefined;
  /** The leg's seconds, by channel, up to which words are stored. */
  told?: readonly (number | undefined)[] | undefined;
};

/** Collects what a leg needs to go on: `untilS` is the call time up to which its words are stored, by role. Pure. */
export function leftLeg(
  { channels, channelRoles }: Pick<LegRecord, 'channels' | 'channelRoles'>,
  {
    recovered,
    offsetMs,
    untilS,
  }: {
    recovered: RecoveredLeg | undefined;
    offsetMs: number | null;
    untilS: ReadonlyMap<string, number> | undefined;
  },
): LeftLeg {
  if (offsetMs === null) return { recovered };
  const offsetS = offsetMs / 1_000;
  // Voices of a mixed leg have roles of their own. Two channels with one role cannot be told apart here.
  const roles = channels === 1 ? [[...(untilS?.keys() ?? [])]] : channelRoles.map((role) => [role]);
  const isClear = channels === 1 || new Set(channelRoles).size === channelRoles.length;
  const told = roles.map((of) => {
    const ends = isClear ? of.flatMap((role) => untilS?.get(role) ?? []) : [];
    return ends.length === 0 ? undefined : Math.max(...ends) - offsetS;
  });
  return { recovered, offsetS, told };
}

/** The audio of one party in a call: its place on the call's clock, and the stream that may write into it. */
export class CallLeg {
  readonly record: LegRecord;
  readonly audio: Leg;
  readonly language: LegLanguage;
  /** The position of the leg's start on the call's clock. Undefined until the first byte arrives. */
  offsetS: number | undefined;
  /**
   * The last final of each session, by session id. If an add-on fails without naming a final, the failure is attributed
   * to the session's last one.
   */
  readonly lastFinals = new Map<string, LastFinal>();
  /** The call time up to which words have arrived. */
  heardUntilS = 0;
  /** Loudness of the last frame, from 0 to 1. It is measured only while somebody watches. */
  level = 0;
  /** Seconds of silence written since the last frame because the carrier sent nothing. */
  quietFilledS = 0;
  /** Seconds of silence written for audio that the carrier reported as lost. */
  lostFilledS = 0;
  /**
   * Seconds by which the leg stays behind the call's clock. They were too long for silence and are declared as gaps.
   */
  declaredS = 0;
  /** The last stretch of audio that never reached the service, in call time. Its missing words are reported once. */
  lost: { start: number; end: number } | undefined;
  /**
   * After a take-over: the call time up to which the lost node may have received audio. Undefined once a stream has
   * come back and shown the true position.
   */
  unknownToS: number | undefined;
  reconnects = 0;
  /** The state of this leg that was last shared with the other nodes. */
  shared: string | undefined;
  isDone = false;
  /** Checks a G.711 leg's companding law until its first speech has shown it. */
  #companding: CompandingCheck | undefined;
  #owner: string | undefined;
  #ownerHeardMs = 0;
  #frames = 0;
  #firstMs: number | undefined;
  #longestMs = 0;
  #reopened = false;

  constructor(record: LegRecord, audio: Leg, left: LeftLeg) {
    this.record = record;
    this.audio = audio;
    this.language = new LegLanguage(record.languages);
    this.offsetS = left.offsetS;
    const { encoding } = record;
    // A leg that continues after a restart was already checked by the previous process.
    if (left.recovered === undefined && (encoding === 'mulaw' || encoding === 'alaw'))
      this.#companding = new CompandingCheck(encoding);
  }

  get bytesPerSecond(): number {
    return bytesPerSecondOf(this.record);
  }

  /** The call time of the next byte. */
  positionS(): number {
    return (this.offsetS ?? 0) + this.audio.positionS();
  }

  /** Writes silence in place of audio that the carrier lost or did not send. */
  fill(bytes: number): void {
    this.audio.filler(bytes);
  }

  /** Returns true once: when the leg's first speech shows that its samples use the other G.711 law. */
  showsOtherLaw(payload: Buffer): boolean {
    const verdict = this.#companding?.push(payload);
    if (verdict === undefined || verdict === 'undecided') return false;
    this.#companding = undefined;
    return verdict === 'other-law';
  }

  /** Stores the loudness of a frame for pages that watch the call. */
  hearLevel(payload: Buffer): void {
    this.level = levelOf(payload, this.record.encoding);
  }

  roleOf(channel: number): Role {
    if (this.record.channels === 1) return this.record.role;
    return this.record.channelRoles[channel === 1 ? 1 : 0];
  }

  /**
   * One stream at a time feeds a leg. Another stream takes over when the first was closed or has been silent for a
   * second.
   */
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

  /**
   * The regularity of the frames that this process received. It is the first thing support needs when words are
   * missing.
   */
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

  /**
   * Returns true once after another stream took over the leg. The hole between the two streams is declared before the
   * new stream's first frame.
   */
  takeReopened(): boolean {
    const reopened = this.#reopened;
    this.#reopened = false;
    return reopened;
  }

  /**
   * Releases the leg from its stream. A stream that sent a stop was complete; a stream that was cut off may have lost
   * audio.
   */
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

/** Every eighth sample is enough for the level bar of a page. */
const stride = 8;

/** The loudest of the inspected samples of a frame, from 0 to 1. */
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

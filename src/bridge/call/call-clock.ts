import { wholeBytes } from '../records/leg-record.ts';
import type { Clock } from '../../lib/clock.ts';
import { round3 } from '../../lib/round.ts';
import { type CallLeg } from './call-leg.ts';

/** Legs whose first frames arrive within this time of each other started together; the difference is network jitter. */
const togetherS = 0.1;

/** A leg that is behind by less than this has no hole, because carriers send frames in bursts. */
export const smallestHoleS = 0.1;

/**
 * At most this many seconds of silence are written at once for one hole; the rest of a longer hole is only declared as
 * a gap. Without the limit, a length that the carrier reports would decide how much we write, keep and send. A carrier
 * whose stream is open but quiet makes no hole of this kind: its silence follows our own clock for any length of time
 * (`Call.keepPace`).
 */
export const maxSilenceS = 600;

/**
 * A carrier cannot have lost more audio than the call has lasted. Its clock may run ahead of ours, and a recording may
 * be played faster than real time, so this many more seconds of silence are accepted.
 */
export const maxSilenceAheadS = 30;

/**
 * The common clock of a call. Zero is the first byte of the first leg. Each leg is placed once, by our clock; after
 * that its position is the number of its bytes. A carrier whose own clock runs fast or slow therefore cannot shift
 * one leg against the other.
 */
export class CallClock {
  readonly #clock: Clock;
  #zeroMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Restores the zero after a restart, to this many milliseconds ago. The wall clock measured that time, because the
   * monotonic clock started anew.
   */
  restore(zeroAgoMs: number): void {
    this.#zeroMs = this.#clock.monotonicMs() - zeroAgoMs;
  }

  /** The call time in seconds, or 0 before the first byte. */
  atS(monotonicMs: number): number {
    return this.#zeroMs === undefined ? 0 : Math.max(0, (monotonicMs - this.#zeroMs) / 1_000);
  }

  nowS(): number {
    return round3(this.atS(this.#clock.monotonicMs()));
  }

  /**
   * Places a leg by its first frame, which ends now and is `frameS` long. If this is the call's first frame, it sets
   * the zero of the call, and its wall time is returned for the row.
   */
  place(leg: CallLeg, frameS: number): number | undefined {
    const firstByteMs = this.#clock.monotonicMs() - frameS * 1_000;
    const isFirst = this.#zeroMs === undefined;
    this.#zeroMs ??= firstByteMs;
    const offsetS = this.atS(firstByteMs);
    leg.offsetS = offsetS < togetherS ? 0 : round3(offsetS);
    return isFirst ? Math.round(this.#clock.now() - frameS * 1_000) : undefined;
  }

  /** Seconds of audio that the leg lacks up to the given call time, not counting seconds that were declared as gaps. */
  behindS(leg: CallLeg, upToS: number): number {
    return leg.offsetS === undefined ? 0 : upToS - leg.positionS() - leg.declaredS;
  }

  /**
   * Records seconds that were declared as a gap and not filled with silence, so that they are not handled again. The
   * number is limited to the seconds that the leg is behind, because a carrier may have given it.
   */
  declared(leg: CallLeg, restS: number): void {
    const mostS = Math.max(0, this.nowS() - leg.positionS());
    leg.declaredS = Math.min(mostS, leg.declaredS + restS);
  }

  /**
   * Fills a leg with silence up to the given call time. Returns how many seconds it was behind and how many bytes of
   * silence were written; both are 0 if the leg was not behind.
   */
  fill(leg: CallLeg, upToS: number): { behindS: number; bytes: number } {
    const behindS = this.behindS(leg, upToS);
    if (behindS < smallestHoleS) return { behindS: 0, bytes: 0 };
    const bytes = wholeBytes(leg.record, Math.min(maxSilenceS, behindS));
    leg.fill(bytes);
    return { behindS, bytes };
  }

  /**
   * Writes silence for audio that the carrier reports as lost; returns its bytes. Per leg this silence is limited to
   * the length of the call plus `maxSilenceAheadS`. A carrier may repeat a wrong length without end, and each second
   * of silence is sent and recognised.
   */
  lose(leg: CallLeg, lostS: number): number {
    const leftS = Math.max(0, this.nowS() + maxSilenceAheadS - leg.lostFilledS);
    const silenceS = Math.min(lostS, maxSilenceS, leftS);
    leg.lostFilledS += silenceS;
    const bytes = wholeBytes(leg.record, silenceS);
    if (bytes > 0) leg.fill(bytes);
    return bytes;
  }
}

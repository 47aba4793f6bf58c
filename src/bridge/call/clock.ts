import { wholeBytes } from '../records/leg-record.ts';
import type { Clock } from '../../lib/clock.ts';
import { round3 } from '../../lib/round.ts';
import { type CallLeg } from './call-leg.ts';

/** Legs whose first frames come this close together started together: the difference is jitter of the network. */
const togetherS = 0.1;

/** A leg that is behind by less than this has no hole: carriers send frames in bursts. */
export const smallestHoleS = 0.1;

/**
 * Silence that is written at once for one hole, in seconds. The rest of a longer hole is declared as a gap and nothing
 * else: whoever says how long it was must not decide how much of it we write, keep and send. A carrier that is open and
 * quiet makes no such hole: silence follows our own clock as the time passes, however long (`Call.keepPace`).
 */
export const maxSilenceS = 600;

/**
 * A carrier cannot have lost more than the call has lasted, but its own clock may run ahead of ours, and a recording is
 * played faster than it was spoken. So much more silence is written on its word, in seconds.
 */
export const maxSilenceAheadS = 30;

/**
 * The one clock of a call. Its zero is the first byte of the first leg. Each leg is placed once, by our clock;
 * after that its position is the number of its bytes, so that a carrier whose own clock runs fast or slow
 * cannot shift one leg against the other.
 */
export class CallClock {
  readonly #clock: Clock;
  #zeroMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** After a restart: the zero is this long ago, by the wall clock, because the monotonic clock began anew. */
  restore(zeroAgoMs: number): void {
    this.#zeroMs = this.#clock.monotonicMs() - zeroAgoMs;
  }

  /** Seconds of the call; 0 until there is a first byte. */
  atS(monotonicMs: number): number {
    return this.#zeroMs === undefined ? 0 : Math.max(0, (monotonicMs - this.#zeroMs) / 1_000);
  }

  nowS(): number {
    return round3(this.atS(this.#clock.monotonicMs()));
  }

  /**
   * Places a leg by its first frame, which ends now and is `frameS` long. Answers the wall time of the call's
   * zero when this frame set it, for the row.
   */
  place(leg: CallLeg, frameS: number): number | undefined {
    const firstByteMs = this.#clock.monotonicMs() - frameS * 1_000;
    const isFirst = this.#zeroMs === undefined;
    this.#zeroMs ??= firstByteMs;
    const offsetS = this.atS(firstByteMs);
    leg.offsetS = offsetS < togetherS ? 0 : round3(offsetS);
    return isFirst ? Math.round(this.#clock.now() - frameS * 1_000) : undefined;
  }

  /** Seconds that are missing in the leg up to the given call time, and that no gap has declared yet. */
  behindS(leg: CallLeg, upToS: number): number {
    return leg.offsetS === undefined ? 0 : upToS - leg.positionS() - leg.declaredS;
  }

  /**
   * A gap has told of so many seconds that no silence was written for: they are not told of, or filled, again. Never more
   * than the leg is behind, for the length may be a carrier's word.
   */
  declared(leg: CallLeg, restS: number): void {
    const mostS = Math.max(0, this.nowS() - leg.positionS());
    leg.declaredS = Math.min(mostS, leg.declaredS + restS);
  }

  /**
   * Writes silence into a leg that is behind the given call time. Answers how many seconds it was behind and how
   * many bytes of silence were written; both are 0 when the leg is not behind.
   */
  fill(leg: CallLeg, upToS: number): { behindS: number; bytes: number } {
    const behindS = this.behindS(leg, upToS);
    if (behindS < smallestHoleS) return { behindS: 0, bytes: 0 };
    const bytes = wholeBytes(leg.record, Math.min(maxSilenceS, behindS));
    leg.fill(bytes);
    return { behindS, bytes };
  }

  /**
   * Writes silence for audio that the carrier says it lost; answers its bytes. Of all such silence of a leg no more is
   * written than the call has lasted, and `maxSilenceAheadS` beyond that: a carrier may repeat a wrong length as often
   * as it likes, and each second of silence is sent and recognised.
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

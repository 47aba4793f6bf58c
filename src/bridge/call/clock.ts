import type { Clock } from '../../lib/clock.ts';
import { wholeBytes, type CallLeg } from './leg.ts';

/** Offsets of legs that start this close together are the jitter of their first frames. */
const togetherS = 0.1;

/** Less than this is no hole: frames come in bursts. */
const smallestHoleS = 0.1;

/** More silence than this is not written for one hole. */
const longestFillS = 600;

/**
 * The one clock of a call. Its zero is the first byte of the first leg; each leg is placed once and then
 * counts its own bytes, so that no clock of a carrier can make it drift (F10).
 */
export class CallClock {
  readonly #clock: Clock;
  #zeroMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** After a restart: how long ago the zero was. */
  restore(zeroAgoMs: number): void {
    this.#zeroMs = this.#clock.monotonicMs() - zeroAgoMs;
  }

  /** Seconds of the call; 0 until there is a first byte. */
  atS(monotonicMs: number): number {
    return this.#zeroMs === undefined ? 0 : Math.max(0, (monotonicMs - this.#zeroMs) / 1_000);
  }

  nowS(): number {
    return Math.round(this.atS(this.#clock.monotonicMs()) * 1_000) / 1_000;
  }

  /** Places a leg by its first frame; says the zero's wall time when this frame set it. */
  place(leg: CallLeg, frameS: number): number | undefined {
    const firstByteMs = this.#clock.monotonicMs() - frameS * 1_000;
    const isFirst = this.#zeroMs === undefined;
    this.#zeroMs ??= firstByteMs;
    const offsetS = this.atS(firstByteMs);
    leg.offsetS = offsetS < togetherS ? 0 : Math.round(offsetS * 1_000) / 1_000;
    return isFirst ? Math.round(this.#clock.now() - frameS * 1_000) : undefined;
  }

  /** Silence up to a call time, when the leg is behind it; how much it was behind, in seconds, and the bytes written. */
  fill(leg: CallLeg, upToS: number): { behindS: number; bytes: number } {
    const behindS = leg.offsetS === undefined ? 0 : upToS - leg.positionS();
    if (behindS < smallestHoleS) return { behindS: 0, bytes: 0 };
    const bytes = wholeBytes(leg.record, Math.min(longestFillS, behindS));
    leg.fill(bytes);
    return { behindS, bytes };
  }
}

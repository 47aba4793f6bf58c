import type { Clock } from '../../lib/clock.ts';
import { round3 } from '../../lib/round.ts';
import type { ToldLeg } from './told-leg.ts';
import type { Gap, ShortGaps, WaitingGaps } from '../records/gap.ts';

/** A gap shorter than this is not noticed by a listener. A bad line has hundreds of them in a minute. */
const shortGapS = 0.5;
/** Two gaps touch if they are closer than this. The tolerance covers the rounding of bytes to seconds. */
const touchesWithinS = 0.005;
/** A gap is held for this time, in case the next gap touches it. */
const holdMs = 1_000;
/**
 * A gap is held at most this long in total, so that a line that is dead for an hour is reported before the hour ends.
 */
const holdMsMax = 30_000;

type HeldGapsOptions = {
  clock: Clock;
  tell(leg: ToldLeg, gap: Gap): void;
};

type OfLeg = {
  leg: ToldLeg;
  open: Gap | undefined;
  heldSinceMs: number;
  short: ShortGaps;
  stopWaiting: () => void;
};

/**
 * Collects the gaps of a call and reports them. The ledger has already counted the bytes. Gaps that touch are reported
 * as one; a gap that stays short is only counted.
 */
export class HeldGaps {
  readonly #options: HeldGapsOptions;
  readonly #legs = new Map<string, OfLeg>();
  #closed = false;

  constructor(options: HeldGapsOptions) {
    this.#options = options;
  }

  add(leg: ToldLeg, gap: Gap): void {
    if (this.#closed) return;
    const { clock } = this.#options;
    const one = this.#of(leg);
    const { open } = one;
    const isNext =
      open?.cause === gap.cause &&
      Math.abs(gap.start - open.end) < touchesWithinS &&
      clock.monotonicMs() - one.heldSinceMs < holdMsMax;
    if (isNext) {
      one.open = { ...open, end: gap.end, bytes: open.bytes + gap.bytes };
      leg.audio.stateChanged();
    } else {
      this.#close(one);
      one.open = { ...gap };
      one.heldSinceMs = clock.monotonicMs();
      // The carrier does not repeat its report of lost audio, so the gap is written to the journal before the next
      // audio.
      leg.audio.keepState();
    }
    one.stopWaiting();
    one.stopWaiting = clock.after(holdMs, () => this.#close(one));
  }

  /** Takes over the gaps that an earlier process still held when it ended. */
  restore(leg: ToldLeg, { open, short }: WaitingGaps): void {
    const one = this.#of(leg);
    one.short = { ...short };
    if (open !== undefined) this.add(leg, open);
  }

  /** Reports the held gaps of one leg or of all legs. */
  flush(leg?: ToldLeg): void {
    for (const one of this.#legs.values())
      if (leg === undefined || one.leg.record.id === leg.record.id) this.#close(one);
  }

  shortOf(legId: string): ShortGaps | undefined {
    const short = this.#legs.get(legId)?.short;
    return short === undefined || short.count === 0 ? undefined : short;
  }

  /** The held gaps for the leg's journal. Undefined if there are none. */
  waitingOf(legId: string): WaitingGaps | undefined {
    const one = this.#legs.get(legId);
    if (one === undefined) return undefined;
    const { open, short } = one;
    return { short: { ...short }, open };
  }

  /** Drops the held gaps, because the call was erased or because its journals keep them. */
  close(): void {
    this.#closed = true;
    for (const { stopWaiting } of this.#legs.values()) stopWaiting();
  }

  #of(leg: ToldLeg): OfLeg {
    const { id } = leg.record;
    let one = this.#legs.get(id);
    if (one === undefined) {
      const short = { count: 0, seconds: 0, bytes: 0 };
      one = { leg, open: undefined, heldSinceMs: 0, short, stopWaiting: () => undefined };
      this.#legs.set(id, one);
    }
    return one;
  }

  #close(one: OfLeg): void {
    const { leg, open, short } = one;
    if (open === undefined || this.#closed) return;
    one.stopWaiting();
    one.open = undefined;
    const lengthS = open.end - open.start;
    if (lengthS >= shortGapS) this.#options.tell(leg, open);
    else
      one.short = {
        count: short.count + 1,
        seconds: round3(short.seconds + lengthS),
        bytes: short.bytes + open.bytes,
      };
    leg.audio.stateChanged();
  }
}

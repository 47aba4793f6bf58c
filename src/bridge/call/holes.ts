import type { LegGap } from '../records/ledger.ts';
import { wholeBytes } from '../records/leg-record.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { CallLeg } from './call-leg.ts';
import { smallestHoleS, type CallClock } from './call-clock.ts';
import { discardedS, holeBetweenStreams, lostHole, quietS, restOf } from './hole-lengths.ts';

/** Reasons for missing audio, as the call's gap states them. */
export const gapDetails: Record<LegGap['cause'], string> = {
  journal: 'the disk refused the audio while the speech service was away',
  damaged: 'the journal was damaged here',
  service: 'the speech service lost audio that it had acknowledged',
  deadline: 'the speech service could not be reached in time',
  sessions: 'the leg used up its sessions',
  refused: 'the speech service does not take sessions of this kind',
  node: 'the audio was on the disk of a node that is lost',
};

/**
 * Fills holes in the audio of a call's legs. Silence of the same length keeps later times true, and a gap declares
 * the missing audio. `hole-lengths.ts` computes the length of a hole.
 */
export class CallHoles {
  readonly #clock: CallClock;
  readonly #events: Pick<CallEvents, 'gap'>;

  constructor(clock: CallClock, events: Pick<CallEvents, 'gap'>) {
    this.#clock = clock;
    this.#events = events;
  }

  /** Handles audio that the carrier reports as lost, on a leg that already has its place on the clock. */
  lost(leg: CallLeg, saidS: number, detail: string): void {
    const { hole, silenceS } = lostHole(leg.positionS(), saidS, leg.quietFilledS);
    const bytes = this.#clock.lose(leg, silenceS);
    this.#clock.declared(leg, silenceS - bytes / leg.bytesPerSecond);
    this.#events.gap(leg, { cause: 'carrier', ...hole, bytes, detail });
  }

  /**
   * Handles this many seconds in which the carrier sent nothing. Only the part that is too long for silence becomes a
   * gap.
   */
  quiet(leg: CallLeg, saidS: number): void {
    const behindS = this.#clock.behindS(leg, this.#clock.nowS());
    this.#lose(leg, quietS(saidS, leg.quietFilledS, behindS), 'the carrier sent nothing');
  }

  /** Handles this many seconds of audio that the carrier discarded during its pause. */
  discarded(leg: CallLeg, saidS: number): void {
    if (leg.offsetS === undefined) return;
    this.#lose(leg, discardedS(saidS, leg.quietFilledS), 'discarded');
  }

  /**
   * Fills a pause that is over with silence up to now. If no stream is open, the hole is declared with the first
   * frame of the next one.
   */
  fillPause(leg: CallLeg): void {
    const start = leg.positionS();
    const { behindS, bytes } = this.#clock.fill(leg, this.#clock.nowS());
    if (leg.hasOwner) this.#declareRest(leg, start, behindS, bytes, 'nothing came while paused');
  }

  /** Fills the hole before a second stream that takes over the leg at this call time. */
  fillBetweenStreams(leg: CallLeg, resumedS: number): void {
    const filledS = leg.quietFilledS;
    const hole = holeBetweenStreams(leg.positionS(), filledS, this.#clock.behindS(leg, resumedS));
    const { behindS, bytes } = this.#clock.fill(leg, resumedS);
    if (hole === undefined) return;
    this.#clock.declared(leg, behindS - bytes / leg.bytesPerSecond);
    this.#events.gap(leg, {
      cause: 'carrier',
      ...hole,
      bytes: bytes + wholeBytes(leg.record, Math.min(filledS, hole.end - hole.start)),
      detail: 'no stream of the call was open',
    });
  }

  /**
   * Writes silence while the stream is open but the carrier sends nothing, so that the leg stays on the call's clock.
   */
  keepPace(leg: CallLeg, nowMs: number): void {
    leg.quietFilledS += this.#clock.fill(leg, this.#clock.atS(nowMs)).bytes / leg.bytesPerSecond;
  }

  /** Declares words as missing that the leg's lost session had heard and not yet returned. No bytes are missing. */
  unsaid(leg: CallLeg): void {
    const start = Math.max(leg.heardUntilS, leg.offsetS ?? 0);
    const rest = restOf(start, leg.positionS() - start, 0);
    if (rest === undefined) return;
    const detail = 'the session that heard it is lost with its node';
    this.#events.gap(leg, { cause: 'node', ...rest, bytes: 0, detail });
  }

  /**
   * Handles the loss of the leg's node: nobody knows which audio it received last. Silence is written up to `upToS`,
   * and a gap is declared.
   */
  lostWithNode(leg: CallLeg, upToS: number): void {
    if (leg.offsetS === undefined) return;
    const start = leg.positionS();
    const { behindS, bytes } = this.#clock.fill(leg, upToS);
    if (behindS > 0) this.#nodeGap(leg, start, behindS, bytes / leg.bytesPerSecond);
  }

  /**
   * Declares a gap at the end of the leg if no stream came back to show how far the lost node had heard the call. No
   * silence is written, because no audio follows.
   */
  tellUnknownEnd(leg: CallLeg): void {
    if (leg.unknownToS === undefined) return;
    const start = leg.positionS();
    const behindS = this.#clock.behindS(leg, leg.unknownToS);
    leg.unknownToS = undefined;
    if (behindS >= smallestHoleS) this.#nodeGap(leg, start, behindS, 0);
  }

  #nodeGap(leg: CallLeg, start: number, seconds: number, silentS: number): void {
    this.#clock.declared(leg, seconds - silentS);
    const detail = gapDetails.node;
    this.#events.gap(leg, { cause: 'node', start, end: start + seconds, bytes: 0, detail });
  }

  #lose(leg: CallLeg, lengthS: number, detail: string): void {
    if (lengthS <= 0) return;
    const start = leg.positionS();
    this.#declareRest(leg, start, lengthS, this.#clock.lose(leg, lengthS), detail);
  }

  #declareRest(
    leg: CallLeg,
    start: number,
    holeS: number,
    silenceBytes: number,
    detail: string,
  ): void {
    const silenceS = silenceBytes / leg.bytesPerSecond;
    const rest = restOf(start, holeS, silenceS);
    if (rest === undefined) return;
    this.#clock.declared(leg, holeS - silenceS);
    this.#events.gap(leg, { cause: 'carrier', ...rest, bytes: 0, detail });
  }
}

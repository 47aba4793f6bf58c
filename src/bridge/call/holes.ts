import type { LegGap } from '../records/ledger.ts';
import { wholeBytes } from '../records/leg-record.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { CallLeg } from './call-leg.ts';
import { smallestHoleS, type CallClock } from './clock.ts';
import { discardedS, holeBetweenStreams, lostHole, quietS, restOf } from './hole-lengths.ts';

/** Why audio of a leg is missing, as the call's gap says it. */
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
 * Holes in the audio of a call's legs. Silence of the same length keeps the times after a hole true, and a gap tells of
 * what is missing. `hole-lengths.ts` says how long a hole is.
 */
export class CallHoles {
  readonly #clock: CallClock;
  readonly #events: Pick<CallEvents, 'gap'>;

  constructor(clock: CallClock, events: Pick<CallEvents, 'gap'>) {
    this.#clock = clock;
    this.#events = events;
  }

  /** The carrier itself lost this much of a leg that is placed. */
  lost(leg: CallLeg, saidS: number, detail: string): void {
    const { hole, silenceS } = lostHole(leg.positionS(), saidS, leg.quietFilledS);
    const bytes = this.#clock.lose(leg, silenceS);
    this.#clock.declared(leg, silenceS - bytes / leg.bytesPerSecond);
    this.#events.gap(leg, { cause: 'carrier', ...hole, bytes, detail });
  }

  /** The carrier sent nothing for this long. Only a part that is too long for silence is a gap. */
  quiet(leg: CallLeg, saidS: number): void {
    const behindS = this.#clock.behindS(leg, this.#clock.nowS());
    this.#lose(leg, quietS(saidS, leg.quietFilledS, behindS), 'the carrier sent nothing');
  }

  /** The carrier threw this much away during its pause. */
  discarded(leg: CallLeg, saidS: number): void {
    if (leg.offsetS === undefined) return;
    this.#lose(leg, discardedS(saidS, leg.quietFilledS), 'discarded');
  }

  /**
   * Nothing came during a pause that is over: silence up to now. Where no stream is open, the first frame of the next
   * one declares the hole.
   */
  fillPause(leg: CallLeg): void {
    const start = leg.positionS();
    const { behindS, bytes } = this.#clock.fill(leg, this.#clock.nowS());
    if (leg.hasOwner) this.#declareRest(leg, start, behindS, bytes, 'nothing came while paused');
  }

  /** Another stream takes the leg over at this call time. */
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

  /** The carrier is open and sends nothing while nobody speaks: silence keeps the leg on the call's clock. */
  keepPace(leg: CallLeg, nowMs: number): void {
    leg.quietFilledS += this.#clock.fill(leg, this.#clock.atS(nowMs)).bytes / leg.bytesPerSecond;
  }

  /** The session of the leg is lost with what it had heard and not said yet: its words are missed, not its bytes. */
  unsaid(leg: CallLeg): void {
    const start = Math.max(leg.heardUntilS, leg.offsetS ?? 0);
    const rest = restOf(start, leg.positionS() - start, 0);
    if (rest === undefined) return;
    const detail = 'the session that heard it is lost with its node';
    this.#events.gap(leg, { cause: 'node', ...rest, bytes: 0, detail });
  }

  /** The leg's node is lost, and nobody knows what it received last: silence up to there, and a gap. */
  lostWithNode(leg: CallLeg, upToS: number): void {
    if (leg.offsetS === undefined) return;
    const start = leg.positionS();
    const { behindS, bytes } = this.#clock.fill(leg, upToS);
    if (behindS > 0) this.#nodeGap(leg, start, behindS, bytes / leg.bytesPerSecond);
  }

  /** No stream has come back that would show how far the lost node had heard the call. Nobody needs silence there. */
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

import { within, type Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { round3 } from '../../../lib/round.ts';
import type { SpeakersData } from '../../../protocol/live-messages.ts';
import type { LiveRequest } from '../../../protocol/live-request.ts';
import type { HeardLeg } from '../../../hearing/speakers/live-listener.ts';
import {
  inOrderOfAppearance,
  type LiveTurns,
  speakerOf,
  type VoiceTurn,
} from '../../../hearing/speakers/speaker-turns.ts';
import { type SessionResults, utterancesOf } from './session-result.ts';

type SpeakerLabelsOptions = {
  rateHz: number;
  clock: Clock;
  log: Logger;
  record: SessionResults;
  open: (rateHz: number) => Promise<HeardLeg | undefined>;
  /** Reads at most `frames` samples of the session from `fromFrame` on. */
  read: (fromFrame: number, frames: number) => Promise<Int16Array>;
  /** The number of frames received so far. */
  received: () => number;
  emit: (data: SpeakersData) => void;
};

/** Audio goes to the listener in chunks of this length. Labels follow every second chunk. */
const pieceS = 5;
const groupEveryS = 10;
/**
 * At the end the client waits at most this long for the last labels. They cover five seconds in a call that was heard
 * in real time.
 */
const lastLabelsMs = 3_000;
/** If the listener was lost this often during a session, the session continues without labels. */
const attempts = 3;
/** Audio that is not recorded is still held this long for a listener that is behind. */
export const maxHeldForLabelsS = 60;

/** True if the client says that its one channel carries all parties. */
export function wantsSpeakers({ channels, custom_metadata: about }: LiveRequest): boolean {
  return channels === 1 && about?.['role'] === 'mixed';
}

/**
 * Tells who speaks in a session whose parties share one channel, about ten seconds late. It reads the session's stored
 * audio in chunks of fixed positions, and nothing else waits for it. A listener that is late or lost costs labels,
 * never words.
 */
export class SpeakerLabels {
  readonly #options: SpeakerLabelsOptions;
  readonly #told = new Map<string, number>();
  #leg: HeardLeg | undefined;
  #heardFrames = 0;
  #latest: LiveTurns | undefined;
  /** The frames that the current labels cover. */
  #knownFrames = 0;
  #pumping: Promise<void> | undefined;
  #hearingOut: Promise<unknown> | undefined;
  #losses = 0;
  #isOver = false;

  constructor(options: SpeakerLabelsOptions) {
    this.#options = options;
  }

  /** The first frame that this still needs. */
  get neededFrame(): number {
    const { received, rateHz } = this.#options;
    return this.#isOver
      ? Infinity
      : Math.max(this.#heardFrames, received() - maxHeldForLabelsS * rateHz);
  }

  /** Called when more audio has arrived. */
  received(): void {
    if (this.#isOver || this.#pumping !== undefined || this.#left() < this.#pieceFrames) return;
    this.#pumping = this.#pump(false).finally(() => (this.#pumping = undefined));
  }

  /** Called when no more audio comes: the last seconds are labelled while the last words are recognised. */
  hearOut(): void {
    if (this.#isOver || this.#heardFrames + this.#left() === 0) return;
    const { clock } = this.#options;
    this.#hearingOut = within(clock, lastLabelsMs, this.#hearRest()).catch(() => false); // earlier labels stay valid
  }

  /** Called when all words are recorded. Waits a limited time for the last labels. */
  async finish(): Promise<void> {
    await this.#hearingOut;
    if (this.#latest !== undefined) {
      const { record } = this.#options;
      record.turns = inOrderOfAppearance(this.#latest.turns, utterancesOf(record));
      this.#tell(record.turns, Infinity, true);
    }
    this.close();
  }

  close(): void {
    this.#isOver = true;
    this.#leg?.close();
    this.#leg = undefined;
  }

  get #pieceFrames(): number {
    return pieceS * this.#options.rateHz;
  }

  #left(): number {
    return this.#options.received() - this.#heardFrames;
  }

  async #hearRest(): Promise<void> {
    await this.#pumping;
    await this.#pump(true);
  }

  async #pump(isLast: boolean): Promise<void> {
    while (!this.#isOver && (this.#left() >= this.#pieceFrames || isLast)) {
      try {
        if (await this.#hearNext(isLast)) return;
      } catch (error) {
        this.#lost(error);
      }
    }
  }

  /** Returns true if that was the last chunk. */
  async #hearNext(isLast: boolean): Promise<boolean> {
    const { rateHz, read } = this.#options;
    this.#leg ??= await this.#options.open(rateHz);
    if (this.#leg === undefined || this.#isOver) {
      this.close();
      return true;
    }
    const samples = await read(this.#heardFrames, Math.min(this.#pieceFrames, this.#left()));
    // The recogniser reads the same file and reports that it cannot be read.
    if (samples.length === 0 && !isLast) return true;
    const before = this.#heardFrames;
    const heard = before + samples.length;
    const ends = isLast && (samples.length === 0 || heard >= this.#options.received());
    const tens = (frames: number): number => Math.floor(frames / (groupEveryS * rateHz));
    // A listener that hears everything again knows less than was told before, until it has caught up.
    const group = heard >= this.#knownFrames && (ends || tens(heard) > tens(before));
    const told = await this.#leg.hear(samples, { group, isLast: ends });
    this.#heardFrames = heard;
    if (told !== undefined && told.turns.length > 0 && !this.#isOver) {
      this.#latest = told;
      this.#knownFrames = heard;
      if (!ends) this.#tell(told.turns, told.knownS, false);
    }
    return ends;
  }

  #lost(error: unknown): void {
    const { log } = this.#options;
    this.#leg?.close();
    this.#leg = undefined;
    if (this.#isOver) return;
    this.#heardFrames = 0;
    if (++this.#losses < attempts) return;
    log.warn({ err: error }, 'the speakers of a live session are not told apart any more');
    this.close();
  }

  /**
   * Labels each utterance with the voice that speaks most of it. Only changes are sent, and a single voice is no news.
   */
  #tell(turns: readonly VoiceTurn[], untilS: number, isFinal: boolean): void {
    const { record, rateHz, emit } = this.#options;
    if (this.#told.size === 0 && new Set(turns.map(({ voice }) => voice)).size < 2) return;
    const utterances = record.utterances.flatMap(({ id, utterance }) => {
      if (utterance.end > untilS) return [];
      const speaker = speakerOf(utterance, turns);
      if (this.#told.get(id) === speaker) return [];
      this.#told.set(id, speaker);
      return [{ id, speaker }];
    });
    if (utterances.length > 0)
      emit({ time: round3(this.#heardFrames / rateHz), is_final: isFinal, utterances });
  }
}

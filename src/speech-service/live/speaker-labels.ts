import { within, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { round3 } from '../../lib/round.ts';
import type { SpeakersData } from '../../protocol/live-messages.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { LiveTurns } from '../../hearing/speakers/live-messages.ts';
import type { HeardLeg } from '../../hearing/speakers/live-listener.ts';
import { inOrderOfAppearance, speakerOf, type VoiceTurn } from '../../hearing/speakers/turns.ts';
import { type SessionResults, utterancesOf } from './result.ts';

type SpeakerLabelsOptions = {
  rateHz: number;
  clock: Clock;
  log: Logger;
  record: SessionResults;
  open: (rateHz: number) => Promise<HeardLeg | undefined>;
  /** At most so many samples of the session, beginning with that frame. */
  read: (fromFrame: number, frames: number) => Promise<Int16Array>;
  /** Frames received so far. */
  received: () => number;
  emit: (data: SpeakersData) => void;
};

/** Audio is handed over in pieces of this length, and every second one is followed by the labels. */
const pieceS = 5;
const groupEveryS = 10;
/** At the end the client waits this long for the last seconds, which are five of a call that was heard as it came. */
const lastLabelsMs = 3_000;
/** A session goes on without labels after the listener was lost so often under it. */
const attempts = 3;
/** Audio that is not kept is still kept so long for a listener that is behind. */
export const maxHeldForLabelsS = 60;

/** The words of a session whose one channel has all parties: its client says so. */
export function wantsSpeakers({ channels, custom_metadata: about }: LiveRequest): boolean {
  return channels === 1 && about?.['role'] === 'mixed';
}

/**
 * Who says what in a session whose parties share its channel, some ten seconds behind: the audio is read back from the
 * session's own, at fixed places, and nothing else waits for it. A listener that is late or lost costs labels, never words.
 */
export class SpeakerLabels {
  readonly #options: SpeakerLabelsOptions;
  readonly #told = new Map<string, number>();
  #leg: HeardLeg | undefined;
  #heardFrames = 0;
  #latest: LiveTurns | undefined;
  /** The seconds of the session that this stands for. */
  #knownFrames = 0;
  #pumping: Promise<void> | undefined;
  #hearingOut: Promise<unknown> | undefined;
  #losses = 0;
  #isOver = false;

  constructor(options: SpeakerLabelsOptions) {
    this.#options = options;
  }

  /** The first frame that is still needed. */
  get neededFrame(): number {
    const { received, rateHz } = this.#options;
    return this.#isOver
      ? Infinity
      : Math.max(this.#heardFrames, received() - maxHeldForLabelsS * rateHz);
  }

  /** More audio is there. */
  received(): void {
    if (this.#isOver || this.#pumping !== undefined || this.#left() < this.#pieceFrames) return;
    this.#pumping = this.#pump(false).finally(() => (this.#pumping = undefined));
  }

  /** Nothing more comes: the last seconds are listened to while the last words are made. */
  hearOut(): void {
    if (this.#isOver || this.#heardFrames + this.#left() === 0) return;
    const { clock } = this.#options;
    this.#hearingOut = within(clock, lastLabelsMs, this.#hearRest()).catch(() => false); // what was told before stands
  }

  /** All words are in the record: the last labels, or those that there are in time. */
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

  /** True when that was the last. */
  async #hearNext(isLast: boolean): Promise<boolean> {
    const { rateHz, read } = this.#options;
    this.#leg ??= await this.#options.open(rateHz);
    if (this.#leg === undefined || this.#isOver) {
      this.close();
      return true;
    }
    const samples = await read(this.#heardFrames, Math.min(this.#pieceFrames, this.#left()));
    // A file that cannot be read back is told by whoever recognises it.
    if (samples.length === 0 && !isLast) return true;
    const before = this.#heardFrames;
    const heard = before + samples.length;
    const ends = isLast && (samples.length === 0 || heard >= this.#options.received());
    const tens = (frames: number): number => Math.floor(frames / (groupEveryS * rateHz));
    // One that hears everything again knows less than what was told, until it is there.
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

  /** The voice that says most of each utterance. Changes alone are told; one voice alone is no news. */
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

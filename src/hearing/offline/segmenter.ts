import { windowSamples } from '../recogniser.ts';

const rateHz = 16000;

type SegmenterOptions = {
  pauseS: number;
  maximumDurationS: number;
  /** The longest audio that the model reads in one run. */
  longestPieceS: number;
  /**
   * True if pieces are read beyond their cut and the next piece continues after their words. Then no end of speech is
   * too short.
   */
  goesOn: boolean;
  /** The middle of the quietest 100 ms between two positions. */
  quietest: (from: number, to: number) => number;
};

/** Positions are samples of the stream at 16 kHz. */
export type SegmenterEvent =
  /** Speech began at `from`. Enough voiced windows have come to exclude a click. */
  | { type: 'start'; from: number }
  /** A piece of the open utterance is complete, and the utterance continues. */
  | ({ type: 'piece' } & SpeechPiece)
  /** The utterance is over, and this is its last piece. `voicedS` counts the voiced windows of the whole utterance. */
  | ({ type: 'end'; voicedS: number; speechEnd: number } & SpeechPiece);

/**
 * `cutBefore` and `cutAfter` mean that speech continues beyond that side, in another piece. `heardTo` is the end of the
 * received audio at the time of the cut.
 */
export type SpeechPiece = {
  from: number;
  to: number;
  cutBefore: boolean;
  cutAfter: boolean;
  heardTo: number;
};

/** Fewer voiced windows are a click or a breath. A window is 32 ms, and the detector needs two to begin. */
const leastWindows = 4;
/** After a forced cut fewer windows are enough, because only the end of a word may be left. */
const leastWindowsGoingOn = 2;
/** A forced cut is made at the quietest point in this time before the limit. */
const searchS = 1.8;
/**
 * At a forced cut, this many seconds of audio after the cut have already been received, so the word at the cut is read
 * whole.
 */
const beyondS = 1;
/** Pieces are cut this much before the model's limit, because readings add a margin. */
const pieceMarginS = 0.4;

type OpenUtterance = {
  /** The first voiced sample of the utterance, and that of its last, open piece. */
  from: number;
  /** The sample from which the longest duration counts. */
  since: number;
  pieceFrom: number;
  voicedWindows: number;
  /** The end of the last voiced window. */
  voicedEnd: number;
  confirmed: boolean;
  goingOn: boolean;
  /** True if the open piece begins at a forced cut. */
  cutBefore: boolean;
};

/**
 * Makes utterances out of voiced and unvoiced windows. The class is pure except for the callback that finds
 * the quietest point of the audio.
 *
 *     voice     ▁▁▂▆▇▆▂▁▇▇▆▁▁▁▁▁▁
 *     start        ^ confirmed after 128 ms
 *     end                        ^ pauseS after the last voiced window
 */
export class Segmenter {
  readonly #options: SegmenterOptions;
  #open: OpenUtterance | undefined;
  #since: number | undefined;

  constructor(options: SegmenterOptions) {
    this.#options = options;
  }

  /** The open utterance, once it is confirmed as speech. */
  get open(): Readonly<OpenUtterance> | undefined {
    return this.#open?.confirmed ? this.#open : undefined;
  }

  /** The first sample that is still needed, or undefined if no utterance is open. */
  get neededFrom(): number | undefined {
    return this.#open?.pieceFrom;
  }

  window(voiced: boolean, end: number): SegmenterEvent[] {
    const events: SegmenterEvent[] = [];
    if (voiced) this.#voiced(end, events);
    const open = this.#open;
    if (!open) return events;
    if (end - open.voicedEnd >= this.#options.pauseS * rateHz) return this.#end(events);
    this.#cutLong(open, end, events);
    return events;
  }

  /**
   * The speech after the present pause belongs to an utterance that began at this sample: its longest duration counts
   * from there. Undefined ends that.
   */
  belongsTo(since: number | undefined): void {
    this.#since = since;
    if (since !== undefined && this.#open) this.#open.since = since;
  }

  /** Ends the open utterance, because no more audio comes. */
  finish(): SegmenterEvent[] {
    return this.#open ? this.#end([]) : [];
  }

  #voiced(end: number, events: SegmenterEvent[]): void {
    // At the start of speech the detector is one window late: the window before was voiced, too.
    const from = Math.max(0, end - 2 * windowSamples);
    this.#open ??= { ...opened(from, false), since: this.#since ?? from };
    const open = this.#open;
    open.voicedWindows++;
    open.voicedEnd = end;
    const least = open.goingOn ? leastWindowsGoingOn : leastWindows;
    if (open.confirmed || open.voicedWindows < least) return;
    open.confirmed = true;
    events.push({ type: 'start', from: open.from });
  }

  #end(events: SegmenterEvent[]): SegmenterEvent[] {
    const open = this.#open;
    this.#open = undefined;
    if (open && (open.confirmed || (open.goingOn && this.#options.goesOn)))
      events.push({
        type: 'end',
        from: open.pieceFrom,
        to: open.voicedEnd,
        cutBefore: open.cutBefore,
        cutAfter: false,
        heardTo: open.voicedEnd,
        voicedS: (open.voicedWindows * windowSamples) / rateHz,
        speechEnd: open.voicedEnd,
      });
    return events;
  }

  #cutLong(open: OpenUtterance, end: number, events: SegmenterEvent[]): void {
    const { maximumDurationS, longestPieceS, quietest, goesOn } = this.#options;
    const search = searchS * rateHz;
    const latest = goesOn ? end - beyondS * rateHz : end;
    if (end - open.since >= maximumDurationS * rateHz) {
      const cut = quietest(end - search, latest);
      events.push({
        type: 'end',
        from: open.pieceFrom,
        to: Math.max(cut, open.pieceFrom),
        cutBefore: open.cutBefore,
        cutAfter: cut < open.voicedEnd,
        heardTo: end,
        voicedS: (open.voicedWindows * windowSamples) / rateHz,
        speechEnd: Math.min(cut, open.voicedEnd),
      });
      this.#open = cut < open.voicedEnd ? opened(cut, true, open.voicedEnd) : undefined;
    } else if (end - open.pieceFrom >= (longestPieceS - pieceMarginS) * rateHz) {
      const cut = quietest(end - 2 * search, latest);
      events.push({
        type: 'piece',
        from: open.pieceFrom,
        to: cut,
        cutBefore: open.cutBefore,
        cutAfter: true,
        heardTo: end,
      });
      open.pieceFrom = cut;
      open.cutBefore = true;
    }
  }
}

function opened(from: number, goingOn: boolean, voicedEnd = from): OpenUtterance {
  return {
    from,
    since: from,
    pieceFrom: from,
    voicedWindows: 1,
    voicedEnd,
    confirmed: false,
    goingOn,
    cutBefore: goingOn,
  };
}

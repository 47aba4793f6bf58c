import { windowSamples } from './voice-activity.ts';

const rateHz = 16000;

export type SegmenterOptions = {
  pauseS: number;
  maximumDurationS: number;
  /** The most that the model reads at once. */
  longestPieceS: number;
  /** The middle of the quietest 100 ms between two positions. */
  quietest: (from: number, to: number) => number;
};

/** Positions are samples of the stream at 16 kHz. */
export type SegmenterEvent =
  /** Speech for sure, since `from`. */
  | { type: 'start'; from: number }
  /** A piece of the open utterance may be read for good; more of it follows. */
  | ({ type: 'piece' } & SpeechPiece)
  /** The utterance is over; this is its last piece. Voiced counts the whole utterance, in seconds. */
  | ({ type: 'end'; voicedS: number; speechEnd: number } & SpeechPiece);

/** `cutBefore` and `cutAfter`: speech goes on beyond that side, so what lies there belongs to another piece. */
export type SpeechPiece = { from: number; to: number; cutBefore: boolean; cutAfter: boolean };

/** Shorter sounds are clicks and breaths. A window is 32 ms and the detector needs two to begin. */
const leastWindows = 4;
/** After a forced cut the rest of a word may be all there is. */
const leastWindowsGoingOn = 2;
/** Where a forced cut looks for its quietest point, before the limit. */
const searchS = 1.4;
/** Keeps a cut piece under what the model reads, with the padding that readings add. */
const pieceMarginS = 0.4;

type OpenUtterance = {
  /** First voiced sample of the utterance, and of the piece that is not read yet. */
  from: number;
  pieceFrom: number;
  voicedWindows: number;
  /** End of the last voiced window. */
  voicedEnd: number;
  confirmed: boolean;
  goingOn: boolean;
  /** The unread piece begins at a cut. */
  cutBefore: boolean;
};

/**
 * Utterances out of voiced and unvoiced windows. Pure but for the callback that looks at the audio.
 *
 *     voice     ▁▁▂▆▇▆▂▁▇▇▆▁▁▁▁▁▁
 *     start        ^ confirmed after 128 ms
 *     end                        ^ pauseS after the last voiced window
 */
export class Segmenter {
  readonly #options: SegmenterOptions;
  #open: OpenUtterance | undefined;

  constructor(options: SegmenterOptions) {
    this.#options = options;
  }

  /** The unread piece of the open utterance, once it is speech for sure. */
  get open(): Readonly<OpenUtterance> | undefined {
    return this.#open?.confirmed ? this.#open : undefined;
  }

  /** Nothing before this position is needed again, were no more audio to come. */
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

  /** No more audio. */
  finish(): SegmenterEvent[] {
    return this.#open ? this.#end([]) : [];
  }

  #voiced(end: number, events: SegmenterEvent[]): void {
    // The detector answers one window late at the beginning: the window before was voiced too.
    const from = Math.max(0, end - 2 * windowSamples);
    this.#open ??= opened(from, false);
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
    if (open?.confirmed)
      events.push({
        type: 'end',
        from: open.pieceFrom,
        to: open.voicedEnd,
        cutBefore: open.cutBefore,
        cutAfter: false,
        voicedS: (open.voicedWindows * windowSamples) / rateHz,
        speechEnd: open.voicedEnd,
      });
    return events;
  }

  #cutLong(open: OpenUtterance, end: number, events: SegmenterEvent[]): void {
    const { maximumDurationS, longestPieceS, quietest } = this.#options;
    const search = searchS * rateHz;
    if (end - open.from >= maximumDurationS * rateHz) {
      const cut = quietest(end - search, end);
      events.push({
        type: 'end',
        from: open.pieceFrom,
        to: Math.max(cut, open.pieceFrom),
        cutBefore: open.cutBefore,
        cutAfter: cut < open.voicedEnd,
        voicedS: (open.voicedWindows * windowSamples) / rateHz,
        speechEnd: Math.min(cut, open.voicedEnd),
      });
      this.#open = cut < open.voicedEnd ? opened(cut, true, open.voicedEnd) : undefined;
    } else if (end - open.pieceFrom >= (longestPieceS - pieceMarginS) * rateHz) {
      const cut = quietest(end - 2 * search, end);
      events.push({
        type: 'piece',
        from: open.pieceFrom,
        to: cut,
        cutBefore: open.cutBefore,
        cutAfter: true,
      });
      open.pieceFrom = cut;
      open.cutBefore = true;
    }
  }
}

function opened(from: number, goingOn: boolean, voicedEnd = from): OpenUtterance {
  return {
    from,
    pieceFrom: from,
    voicedWindows: 1,
    voicedEnd,
    confirmed: false,
    goingOn,
    cutBefore: goingOn,
  };
}

/**
 * Stops inside words (the silence in "stop it") and between the words of one breath last up to about
 * a quarter of a second. An endpointing below that, and the default is 0.05, would cut words apart:
 * what it can ask for is the shortest pause that ends a phrase.
 */
const shortestPauseS = 0.3;

/** The silence that ends an utterance. */
export function pauseOf(endpointingS: number): number {
  return Math.max(shortestPauseS, endpointingS);
}

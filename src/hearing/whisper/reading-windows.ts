import type { RecognisedWord } from '../recogniser.ts';

const rateHz = 16000;

/** A unit of speech, in samples of its stream, with the words of the first reader. */
export type SpeechUnit = { from: number; to: number; words: readonly RecognisedWord[] };

/** The model hears 30 s at once. Speech cut off at the end would be misread, so a little room stays free. */
export const mostWindowS = 28;
/** Speech keeps this much of the quiet around it, because otherwise first and last words are lost. */
const marginS = 0.3;
/** The longest unit: with its margins it fits a window. */
const mostUnitS = mostWindowS - 2 * marginS - 0.4;

/** A span of a stream and its position in the window, in samples. */
type WindowSection = { from: number; to: number; at: number };

/**
 * Cuts an utterance that is longer than a window at the widest pause between two words of the first reader. A word that
 * a cut divides would be read twice.
 */
export function unitsOf(
  { from, to }: { from: number; to: number },
  words: readonly RecognisedWord[],
): SpeechUnit[] {
  const units: SpeechUnit[] = [];
  let begin = from;
  let rest = words;
  while (to - begin > mostUnitS * rateHz) {
    const { cut, count } = widestPause(rest, begin);
    units.push({ from: begin, to: cut, words: rest.slice(0, count) });
    rest = rest.slice(count);
    begin = cut;
  }
  return [...units, { from: begin, to, words: rest }];
}

/** The middle of the widest pause in the second half of a window, and the number of words before it. */
function widestPause(
  words: readonly RecognisedWord[],
  begin: number,
): { cut: number; count: number } {
  const earliest = begin / rateHz + mostUnitS / 2;
  const latest = begin / rateHz + mostUnitS;
  let best: { cut: number; count: number } | undefined;
  let widest = -Infinity;
  for (let count = 1; count < words.length; count++) {
    const before = words[count - 1]?.end ?? 0;
    const after = words[count]?.start ?? 0;
    const middle = (before + after) / 2;
    if (middle < earliest || middle > latest || after - before <= widest) continue;
    widest = after - before;
    best = { cut: Math.round(middle * rateHz), count };
  }
  // Nothing was heard for half a minute of speech, so no word can be divided.
  const spoken = words.filter(({ start }) => start < latest).length;
  return best ?? { cut: Math.round(latest * rateHz), count: spoken };
}

/**
 * The speech of one stream that is read at once: units one after the other. The pauses between them are shortened to
 * what
 * is needed to tell the units apart. Longer pauses would fill the window with silence, and each window costs the same.
 *
 *     stream   ▁▁▁▇▆▇▆▁▁▁▁▁▁▁▁▁▇▇▆▁▁▆▇▇▁▁▁▁▁▁▁
 *     window      ▁▇▆▇▆▁▁▇▇▆▁▁▆▇▇▁
 */
export class SpeechWindow {
  readonly units: readonly SpeechUnit[];
  readonly #parts: readonly WindowSection[];

  /** This window uses no audio before `earliest` and none from `latest` on, because other windows read that audio. */
  constructor(units: readonly SpeechUnit[], earliest: number, latest: number) {
    this.units = units;
    const parts: WindowSection[] = [];
    for (const unit of units) {
      const from = Math.max(earliest, unit.from - marginS * rateHz);
      const to = Math.min(latest, unit.to + marginS * rateHz);
      const last = parts.at(-1);
      if (last && from <= last.to) last.to = Math.max(last.to, to);
      else parts.push({ from, to, at: last ? last.at + last.to - last.from : 0 });
    }
    this.#parts = parts;
  }

  get seconds(): number {
    const last = this.#parts.at(-1);
    return last ? (last.at + last.to - last.from) / rateHz : 0;
  }

  /** The audio of the window, taken from the stream. */
  audio(view: (from: number, to: number) => Float32Array): Float32Array {
    const samples = new Float32Array(Math.round(this.seconds * rateHz));
    for (const { from, to, at } of this.#parts) samples.set(view(from, to), at);
    return samples;
  }

  /** The second of the stream that a second of the window corresponds to. */
  inStream(second: number): number {
    const sample = second * rateHz;
    const part = this.#parts.findLast(({ at }) => at <= sample) ?? this.#parts[0];
    return part ? (part.from + Math.min(sample - part.at, part.to - part.from)) / rateHz : second;
  }

  /** The unit that is nearest to a second of the stream. */
  unitAt(second: number): number {
    const sample = second * rateHz;
    let nearest = 0;
    let least = Infinity;
    for (const [index, { from, to }] of this.units.entries()) {
      const away = Math.max(from - sample, sample - to, 0);
      if (away >= least) continue;
      least = away;
      nearest = index;
    }
    return nearest;
  }
}

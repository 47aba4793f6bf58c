/** The sample rate of the audio that is searched for voices. */
export const sampleRate = 16_000;

/** A segment of speech, in samples. */
export type SpeechSegment = { from: number; to: number };

const longestPause = 0.2 * sampleRate;
const shortest = 0.15 * sampleRate;
const pad = 0.03 * sampleRate;
const smallestGap = 0.05 * sampleRate;
/** Speech without a pause is cut at this length, so that no segment of a file fills the memory. */
const longestOfFile = 30 * sampleRate;

/**
 * Makes segments from voiced windows. A pause of this length ends a segment. A segment that is too short does not count
 * as speech.
 */
export class Segments {
  readonly #longest: number;
  readonly #found: SpeechSegment[] = [];
  #from = -1;
  #lastVoiced = 0;
  #takenTo = 0;

  constructor(longest: number = longestOfFile) {
    this.#longest = longest;
  }

  /** The first sample that is still needed. No later segment uses audio before it. */
  get openFrom(): number | undefined {
    return this.#from < 0 ? undefined : Math.max(0, this.#from - pad);
  }

  window(isVoiced: boolean, from: number, to: number): void {
    if (isVoiced) {
      if (this.#from < 0) this.#from = from;
      this.#lastVoiced = to;
      if (to - this.#from >= this.#longest) this.close();
    } else if (this.#from >= 0 && to - this.#lastVoiced >= longestPause) this.close();
  }

  /** The segments that ended since the last call, each slightly wider than its voice, while audio continues. */
  taken(end: number): SpeechSegment[] {
    const found = this.#found.splice(0);
    return found.map(({ from, to }) => {
      const wide = { from: Math.max(this.#takenTo, from - pad), to: Math.min(end, to + pad) };
      this.#takenTo = wide.to;
      return wide;
    });
  }

  /** All segments, each slightly wider than its voice. Segments that nearly touch become one. */
  finish(end: number): SpeechSegment[] {
    this.close();
    const segments: SpeechSegment[] = [];
    for (const { from, to } of this.#found) {
      const wide = { from: Math.max(0, from - pad), to: Math.min(end, to + pad) };
      const last = segments.at(-1);
      if (last && wide.from < last.to) wide.from = Math.min(last.to, wide.to);
      const isNear = last && wide.from - last.to < smallestGap;
      if (last && isNear && wide.to - last.from <= this.#longest) last.to = wide.to;
      else segments.push(wide);
    }
    return segments;
  }

  /** Ends the segment that is open. */
  close(): void {
    if (this.#from >= 0 && this.#lastVoiced - this.#from >= shortest)
      this.#found.push({ from: this.#from, to: this.#lastVoiced });
    this.#from = -1;
  }
}

import type { Clock } from '../../lib/clock.ts';
import type {
  RecognisedUtterance,
  Recogniser,
  RecogniserStreamOptions,
} from '../../hearing/recogniser.ts';
import { PartReading, type PartSaid } from './part-reading.ts';
import { nextSeam, type ReadSamples } from './seams.ts';

type ChannelPartsOptions = {
  recogniser: Recogniser;
  clock: Clock;
  stream: RecogniserStreamOptions;
  read: ReadSamples;
  samples: number;
  /** The least length of a section when `leftS` seconds are left. Undefined if the channel is read as one section. */
  partS: ((leftS: number) => number) | undefined;
  signal: AbortSignal;
  onProgress: () => void;
};

type ChannelPart = {
  /** The number of the seam at which the section ends. */
  end: number;
  decidedS: number;
  said: PartSaid | undefined;
  drop: AbortController;
};

/** At most 3 seams may fall inside speech before the good seams must outnumber them. */
const wrongSeamsBorne = 3;

/**
 * One channel and its sections. Each section is known by the number of the seam at which it begins: seam 0 is the
 * beginning of the audio, and a seam without a position is its end. A section that hears speech across its final seam
 * reads on to the next seam, and the section between the two is dropped.
 */
export class ChannelParts {
  readonly #options: ChannelPartsOptions;
  readonly #rateHz: number;
  /** The search for each seam. A search starts when the seam before it is known. */
  readonly #searches: Promise<number | undefined>[] = [Promise.resolve(0)];
  /** The positions of the seams that are known. */
  readonly #positions: (number | undefined)[] = [0];
  readonly #parts = new Map<number, ChannelPart>();
  /** The number of the next section to begin, or undefined if none is left. */
  #next: number | undefined = 0;
  #held = 0;
  #wrong = 0;

  constructor(options: ChannelPartsOptions) {
    this.#options = options;
    this.#rateHz = options.stream.sampleRate;
  }

  get hasMore(): boolean {
    return this.#next !== undefined;
  }

  /** The second up to which sections have begun. */
  get begunS(): number {
    return this.#secondOf(this.#next ?? Infinity);
  }

  /** The seconds that are decided without a gap from the beginning. */
  get decidedS(): number {
    let untilS = 0;
    for (const part of this.#inOrder()) {
      const endS = this.#secondOf(part.end);
      if (!part.said) return Math.max(untilS, Math.min(part.decidedS, endS));
      untilS = endS;
    }
    return untilS;
  }

  get said(): RecognisedUtterance[] {
    return [...this.#inOrder()].flatMap(({ said }) => said?.utterances ?? []);
  }

  /** Stretches with a voice but without recognised words. */
  get unread(): PartSaid['unread'] {
    return [...this.#inOrder()].flatMap(({ said }) => said?.unread ?? []);
  }

  /** Begins the next section and returns its work. Undefined if none is left. */
  async begin(): Promise<{ done: Promise<void> } | undefined> {
    for (;;) {
      const number = this.#next;
      if (number === undefined) return undefined;
      const from = await this.#seam(number);
      const seam = from === undefined ? undefined : await this.#seam(number + 1);
      // Meanwhile the section before may have taken over this one.
      if (this.#next !== number) continue;
      this.#next = seam === undefined ? undefined : number + 1;
      if (from === undefined) return undefined;
      const drop = new AbortController();
      const part: ChannelPart = {
        end: number + 1,
        decidedS: from / this.#rateHz,
        said: undefined,
        drop,
      };
      this.#parts.set(number, part);
      return { done: this.#work(part, from, seam) };
    }
  }

  async #work(part: ChannelPart, from: number, seam: number | undefined): Promise<void> {
    const { signal, onProgress } = this.#options;
    const reading = new PartReading({
      ...this.#options,
      from,
      seam,
      onAcross: () => this.#takeOver(part),
      signal: AbortSignal.any([signal, part.drop.signal]),
      onProgress: (seconds) => {
        part.decidedS = seconds;
        onProgress();
      },
    });
    try {
      const said = await reading.said();
      if (part.drop.signal.aborted) return;
      if (said.seam === undefined) this.#endWith(part);
      else this.#held++;
      part.said = said;
      onProgress();
    } catch (error) {
      if (signal.aborted || !part.drop.signal.aborted) throw error;
    }
  }

  /** Extends a section to the end of the next one. Returns its new seam. */
  #takeOver(part: ChannelPart): Promise<number | undefined> {
    this.#wrong++;
    const next = this.#parts.get(part.end);
    if (next) {
      this.#parts.delete(part.end);
      next.drop.abort();
      part.end = next.end;
    } else {
      part.end++;
      if (this.#next !== undefined) this.#next = part.end;
    }
    return this.#seam(part.end);
  }

  /** Ends the channel with a section that has read everything. Sections behind it are dropped. */
  #endWith(part: ChannelPart): void {
    for (let after = this.#parts.get(part.end); after; after = this.#parts.get(part.end)) {
      this.#parts.delete(part.end);
      after.drop.abort();
      part.end = after.end;
    }
    if (this.#next !== undefined) part.end = this.#next;
    this.#next = undefined;
    this.#positions[part.end] = undefined;
  }

  #seam(number: number): Promise<number | undefined> {
    return (this.#searches[number] ??= this.#search(number));
  }

  async #search(number: number): Promise<number | undefined> {
    const { partS, samples, read } = this.#options;
    const from = await this.#seam(number - 1);
    if (from === undefined || partS === undefined) return undefined;
    if (this.#wrong >= wrongSeamsBorne && this.#wrong >= this.#held) return undefined;
    const least = partS((samples - from) / this.#rateHz);
    const search = { read, rateHz: this.#rateHz, end: samples, partS: least };
    const at = await nextSeam(search, from);
    this.#positions[number] = at;
    return at;
  }

  #secondOf(seam: number): number {
    return (this.#positions[seam] ?? this.#options.samples) / this.#rateHz;
  }

  *#inOrder(): Generator<ChannelPart> {
    for (let part = this.#parts.get(0); part; part = this.#parts.get(part.end)) yield part;
  }
}

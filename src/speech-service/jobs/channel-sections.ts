import type { Clock } from '../../lib/clock.ts';
import type {
  RecognisedUtterance,
  Recogniser,
  RecogniserStreamOptions,
} from '../../hearing/recogniser.ts';
import { SectionReading, type SectionSaid } from './section-reading.ts';
import { nextSeam, type ReadSamples } from './seams.ts';

type ChannelSectionsOptions = {
  recogniser: Recogniser;
  clock: Clock;
  stream: RecogniserStreamOptions;
  read: ReadSamples;
  samples: number;
  /** The least length of a section when `leftS` seconds are left. Undefined if the channel is read as one section. */
  sectionS: ((leftS: number) => number) | undefined;
  signal: AbortSignal;
  onProgress: () => void;
};

type ChannelSection = {
  /** The number of the seam at which the section ends. */
  end: number;
  decidedS: number;
  said: SectionSaid | undefined;
  drop: AbortController;
};

/** At most 3 seams may fall inside speech before the good seams must outnumber them. */
const wrongSeamsBorne = 3;

/**
 * One channel and its sections. Each section is known by the number of the seam at which it begins: seam 0 is the
 * beginning of the audio, and a seam without a position is its end. A section that hears speech across its final seam
 * reads on to the next seam, and the section between the two is dropped.
 */
export class ChannelSections {
  readonly #options: ChannelSectionsOptions;
  readonly #rateHz: number;
  /** The search for each seam. A search starts when the seam before it is known. */
  readonly #searches: Promise<number | undefined>[] = [Promise.resolve(0)];
  /** The position of each seam that was found so far, by number. Undefined stands for the end of the audio. */
  readonly #positions: (number | undefined)[] = [0];
  readonly #sections = new Map<number, ChannelSection>();
  /** The number of the next section to begin, or undefined if none is left. */
  #next: number | undefined = 0;
  #held = 0;
  #wrong = 0;

  constructor(options: ChannelSectionsOptions) {
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
    for (const section of this.#inOrder()) {
      const endS = this.#secondOf(section.end);
      if (!section.said) return Math.max(untilS, Math.min(section.decidedS, endS));
      untilS = endS;
    }
    return untilS;
  }

  get said(): RecognisedUtterance[] {
    return [...this.#inOrder()].flatMap(({ said }) => said?.utterances ?? []);
  }

  /** Stretches with a voice but without recognised words. */
  get wordless(): SectionSaid['wordless'] {
    return [...this.#inOrder()].flatMap(({ said }) => said?.wordless ?? []);
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
      const section: ChannelSection = {
        end: number + 1,
        decidedS: from / this.#rateHz,
        said: undefined,
        drop,
      };
      this.#sections.set(number, section);
      return { done: this.#work(section, from, seam) };
    }
  }

  async #work(section: ChannelSection, from: number, seam: number | undefined): Promise<void> {
    const { signal, onProgress } = this.#options;
    const reading = new SectionReading({
      ...this.#options,
      from,
      seam,
      onAcross: () => this.#takeOver(section),
      signal: AbortSignal.any([signal, section.drop.signal]),
      onProgress: (seconds) => {
        section.decidedS = seconds;
        onProgress();
      },
    });
    try {
      const said = await reading.said();
      if (section.drop.signal.aborted) return;
      if (said.seam === undefined) this.#endWith(section);
      else this.#held++;
      section.said = said;
      onProgress();
    } catch (error) {
      if (signal.aborted || !section.drop.signal.aborted) throw error;
    }
  }

  /** Extends a section to the end of the next one. Returns its new seam. */
  #takeOver(section: ChannelSection): Promise<number | undefined> {
    this.#wrong++;
    const next = this.#sections.get(section.end);
    if (next) {
      this.#sections.delete(section.end);
      next.drop.abort();
      section.end = next.end;
    } else {
      section.end++;
      if (this.#next !== undefined) this.#next = section.end;
    }
    return this.#seam(section.end);
  }

  /** Ends the channel with a section that has read everything. Sections behind it are dropped. */
  #endWith(section: ChannelSection): void {
    for (
      let after = this.#sections.get(section.end);
      after;
      after = this.#sections.get(section.end)
    ) {
      this.#sections.delete(section.end);
      after.drop.abort();
      section.end = after.end;
    }
    if (this.#next !== undefined) section.end = this.#next;
    this.#next = undefined;
    this.#positions[section.end] = undefined;
  }

  #seam(number: number): Promise<number | undefined> {
    return (this.#searches[number] ??= this.#search(number));
  }

  async #search(number: number): Promise<number | undefined> {
    const { sectionS, samples, read } = this.#options;
    const from = await this.#seam(number - 1);
    if (from === undefined || sectionS === undefined) return undefined;
    if (this.#wrong >= wrongSeamsBorne && this.#wrong >= this.#held) return undefined;
    const least = sectionS((samples - from) / this.#rateHz);
    const search = { read, rateHz: this.#rateHz, end: samples, sectionS: least };
    const at = await nextSeam(search, from);
    this.#positions[number] = at;
    return at;
  }

  #secondOf(seam: number): number {
    return (this.#positions[seam] ?? this.#options.samples) / this.#rateHz;
  }

  *#inOrder(): Generator<ChannelSection> {
    for (let section = this.#sections.get(0); section; section = this.#sections.get(section.end))
      yield section;
  }
}

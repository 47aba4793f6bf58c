import type {
  RecognisedWord,
  Recogniser,
  RecogniserEvent,
  RecogniserStream,
} from '../../../src/hearing/recogniser.ts';

const rateHz = 16_000;
const windowSamples = 512;
const pauseS = 0.5;
/** Sound above this level is heard. Sound too quiet for a voice may still be a murmur. */
const heardAbove = 2;
/** A voice above this level is heard and not understood. */
export const gibberishFrom = 30_000;

type OpenMurmurs = { from: number; options: unknown };

export type MurmurRecogniser = Recogniser & {
  /** The open streams, and the largest number that was open at once. */
  readonly streams: Set<OpenMurmurs>;
  readonly mostAtOnce: () => number;
  /** The total number of opened streams. */
  readonly opened: () => number;
  /** While true, the stream decides nothing. */
  held: boolean;
  /** Makes every open stream fail. */
  fail(): void;
};

/**
 * A recogniser without a model. Each voice is a sound of some level, and its word is that level. It also hears murmurs
 * that are nearly silent. Like the real recognisers it cuts by windows and after half a second of quiet.
 */
export function murmurRecogniser(mostProcesses: number): MurmurRecogniser {
  const streams = new Set<OpenMurmurs & { fail(): void; look(): void }>();
  let most = 0;
  let opened = 0;
  const recogniser: MurmurRecogniser = {
    mostProcesses,
    streams,
    mostAtOnce: () => most,
    opened: () => opened,
    held: false,
    fail: () => [...streams].forEach((stream) => stream.fail()),
    status: () => ({
      state: 'ready',
      detail: '',
      model: 'murmurs',
      languages: ['en'],
      estimatedTimes: false,
      streams: streams.size,
      capacity: 100,
    }),
    admits: () => ({ outcome: 'admitted' }),
    open(options, onEvent) {
      const hearing = new HeardMurmurs(onEvent);
      let waiting: Int16Array[] = [];
      let isFinishing = false;
      const entry = {
        from: 0,
        options,
        fail: () => {
          streams.delete(entry);
          onEvent({ type: 'failed', reason: 'on request' });
        },
        look: () => {
          if (recogniser.held || !streams.has(entry)) return;
          for (const samples of waiting) {
            waiting = waiting.slice(1);
            hearing.accept(samples);
            if (!streams.has(entry)) return;
          }
          if (!isFinishing) return;
          streams.delete(entry);
          hearing.finish();
        },
      };
      streams.add(entry);
      opened++;
      most = Math.max(most, streams.size);
      const timer = setInterval(entry.look, 1);
      const stream: RecogniserStream = {
        push: (samples) => waiting.push(samples.slice()),
        get backlogS() {
          return waiting.reduce((sum, { length }) => sum + length, 0) / rateHz;
        },
        expect: () => undefined,
        finish: () => {
          isFinishing = true;
        },
        close: () => {
          streams.delete(entry);
          clearInterval(timer);
        },
      };
      return { outcome: 'admitted', stream };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return recogniser;
}

class HeardMurmurs {
  readonly #onEvent: (event: RecogniserEvent) => void;
  #rest = new Int16Array();
  #at = 0;
  #index = 0;
  #words: RecognisedWord[] = [];
  #voicedEnd = 0;
  #progress = 0;

  constructor(onEvent: (event: RecogniserEvent) => void) {
    this.#onEvent = onEvent;
  }

  accept(samples: Int16Array): void {
    const all = Int16Array.from([...this.#rest, ...samples]);
    let first = 0;
    for (; first + windowSamples <= all.length; first += windowSamples)
      this.#window(all.subarray(first, first + windowSamples));
    this.#rest = all.slice(first);
  }

  finish(): void {
    if (this.#words.length > 0) this.#final();
    this.#onEvent({ type: 'finished' });
  }

  #window(samples: Int16Array): void {
    const start = this.#at / rateHz;
    this.#at += samples.length;
    const end = this.#at / rateHz;
    const level = samples.reduce((highest, sample) => Math.max(highest, sample), 0);
    if (level > heardAbove) {
      const word = `w${level}`;
      const last = this.#words.at(-1);
      if (!last) this.#onEvent({ type: 'speech-start', at: start });
      if (last?.word === word) last.end = end;
      else this.#words.push({ word, start, end, confidence: 0.9 });
      this.#voicedEnd = end;
    } else if (this.#words.length > 0 && end - this.#voicedEnd >= pauseS) this.#final();
    else if (this.#words.length === 0 && end - 0.4 - this.#progress >= 0.5) {
      this.#progress = end - 0.4;
      this.#onEvent({ type: 'progress', at: this.#progress });
    }
  }

  #final(): void {
    const isWord = ({ word }: RecognisedWord) => Number(word.slice(1)) < gibberishFrom;
    const words = this.#words.filter(isWord);
    for (const { start, end } of this.#words.filter((word) => !isWord(word)))
      this.#onEvent({ type: 'wordless', from: start, to: end });
    this.#words = [];
    const utterance = {
      index: this.#index++,
      text: words.map(({ word }) => word).join(' '),
      start: words[0]?.start ?? 0,
      end: this.#voicedEnd,
      confidence: 0.9,
      language: 'en',
      words,
    };
    this.#progress = this.#voicedEnd;
    this.#onEvent({ type: 'speech-end', at: this.#voicedEnd });
    if (words.length > 0) this.#onEvent({ type: 'final', utterance, decidedS: this.#voicedEnd });
  }
}

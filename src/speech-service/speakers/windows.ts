import type { VoiceEncoder } from './encoder.ts';
import { batchWindows, windowFrames } from './encoder.ts';
import { hopSamples, melBands, melFrames, sampleRate } from './mel.ts';
import type { SpeechSegment } from './segments.ts';

const windowSamples = windowFrames * hopSamples;
/** A rest of a segment that is longer than this gets a window of its own. */
const longestRest = 0.1 * sampleRate;
/** −30 dB of full scale: the level at which voices are told apart best. */
const wantedLevel = 10 ** (-30 / 20);

/** A piece of a segment in which one voice is assumed. */
export type VoiceWindow = {
  /** What the window answers for, in samples: the instants that are nearest to its centre. */
  from: number;
  to: number;
  seconds: number;
  embedding: Float32Array;
};

type Cut = { at: number; length: number };

/** The windows of a segment: each of 1.6 s, the last one at its end; a segment that is shorter is one window. */
export function cutsOf(length: number, hop: number): Cut[] {
  if (length <= windowSamples) return [{ at: 0, length }];
  const cuts: Cut[] = [];
  for (let at = 0; at + windowSamples <= length; at += hop)
    cuts.push({ at, length: windowSamples });
  const last = (cuts.at(-1)?.at ?? 0) + windowSamples;
  if (length - last > longestRest) {
    const at = length - windowSamples;
    cuts.push({ at: at - (at % hopSamples), length: windowSamples });
  }
  return cuts;
}

/** Takes segments and gives them back as windows with embeddings, a batch at a time. */
export class WindowReader {
  readonly #encoder: VoiceEncoder;
  readonly #hop: number;
  readonly #windows: VoiceWindow[] = [];
  #waiting: { window: Omit<VoiceWindow, 'embedding'>; mel: Float32Array }[] = [];

  constructor(encoder: VoiceEncoder, hopS: number) {
    this.#encoder = encoder;
    this.#hop = Math.round((hopS * sampleRate) / hopSamples) * hopSamples;
  }

  segment({ from, to }: SpeechSegment, samples: Float32Array): void {
    const mel = melFrames(samples);
    const cuts = cutsOf(samples.length, this.#hop);
    const centre = ({ at, length }: Cut): number => at + length / 2;
    for (const [index, cut] of cuts.entries()) {
      const before = cuts[index - 1];
      const after = cuts[index + 1];
      const window = {
        from: before ? from + Math.round((centre(before) + centre(cut)) / 2) : from,
        to: after ? from + Math.round((centre(cut) + centre(after)) / 2) : to,
        seconds: cut.length / sampleRate,
      };
      this.#waiting.push({ window, mel: melOfWindow(mel, samples, cut) });
    }
    while (this.#waiting.length >= batchWindows) this.#embed(batchWindows);
  }

  finish(): VoiceWindow[] {
    this.#embed(this.#waiting.length);
    return this.#windows;
  }

  #embed(count: number): void {
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    const embeddings = this.#encoder.embed(batch.map(({ mel }) => mel));
    for (const [index, { window }] of batch.entries())
      this.#windows.push({ ...window, embedding: embeddings[index] ?? new Float32Array(0) });
  }
}

/** The frames of a window as if it had been spoken at the wanted level. */
export function melOfWindow(mel: Float32Array, samples: Float32Array, cut: Cut): Float32Array {
  let power = 0;
  for (let n = cut.at; n < cut.at + cut.length; n++) power += (samples[n] ?? 0) ** 2;
  const gain = power === 0 ? 0 : wantedLevel ** 2 / (power / cut.length);
  const first = Math.floor(cut.at / hopSamples);
  const frames = Math.min(windowFrames, 1 + Math.floor(cut.length / hopSamples));
  return mel.slice(first * melBands, (first + frames) * melBands).map((value) => value * gain);
}

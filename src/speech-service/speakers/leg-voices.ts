import { Resampler } from '../../audio/resampler.ts';
import type { Sherpa } from '../recognition/child/sherpa.ts';
import { VoiceActivity, windowSamples } from '../recognition/offline/voice-activity.ts';
import type { VoiceEncoder } from './encoder.ts';
import { sampleRate } from './mel.ts';
import { Segments, type SpeechSegment } from './segments.ts';
import { turnsOf, type VoiceTurn } from './turns.ts';
import { voicesOf, type SpeakerHints } from './voices.ts';
import { WindowReader } from './windows.ts';

const speechThreshold = 0.6;
/** The detector says that a voice began so long after it did. */
const lateSamples = windowSamples;
/** Who goes on without a pause is listened to in pieces of this length: the labels must not wait for the pause. */
const longestPiece = 8 * sampleRate;
/** The number of voices is found: whoever speaks alone stays one. More than four in one channel are a meeting. */
export const liveHints: SpeakerHints = { max: 4 };
/** Audio that is kept while nobody speaks: a voice is told a moment after it began. */
const keptSamples = sampleRate;
/** The first two minutes of talk have windows twice as close: the sooner two voices are found. */
const hopS = { atFirst: 0.4, later: 0.8 };
const atFirst = 120 * sampleRate;
/** Directions that one leg keeps, of 1 KB each: beyond it every second one of the older half goes. */
export const maxDirections = 4_096;

type LegWindow = {
  from: number;
  to: number;
  seconds: number;
  /** Undefined where it was let go: the voice stays what it was. */
  embedding: Float32Array | undefined;
  voice: number;
};

/**
 * The voices of one leg of a call that goes on. All that was heard is grouped anew each time, because a voice is known
 * the better the more there is of it; a group keeps the number that most of it had before. Audio is let go as soon as
 * its windows are read: an hour of talk is some 5 MB.
 */
export class LegVoices {
  readonly #encoder: VoiceEncoder;
  readonly #hints: SpeakerHints;
  readonly #activity: VoiceActivity;
  readonly #segments = new Segments(longestPiece);
  readonly #resampler: Resampler | undefined;
  #audio = new Float32Array(0);
  #audioFrom = 0;
  #end = 0;
  #spoken = 0;
  #windows: LegWindow[] = [];

  constructor(options: {
    encoder: VoiceEncoder;
    sherpa: Sherpa;
    voiceActivityModel: string;
    rateHz: number;
    hints: SpeakerHints;
  }) {
    this.#encoder = options.encoder;
    this.#hints = options.hints;
    this.#activity = new VoiceActivity(options.sherpa, options.voiceActivityModel, speechThreshold);
    if (options.rateHz !== sampleRate) this.#resampler = new Resampler(options.rateHz, sampleRate);
  }

  /** Seconds up to which every voice has its windows: behind it somebody may be speaking. */
  get knownS(): number {
    return (this.#segments.openFrom ?? this.#end) / sampleRate;
  }

  hear(samples: Int16Array): void {
    const full = Float32Array.from(samples, (sample) => sample / 0x8000);
    const block = this.#resampler?.push(full) ?? full;
    const audio = new Float32Array(this.#audio.length + block.length);
    audio.set(this.#audio);
    audio.set(block, this.#audio.length);
    this.#audio = audio;
    this.#end += block.length;
    this.#activity.accept(block, (voiced, end) =>
      this.#segments.window(voiced, Math.max(0, end - windowSamples - lateSamples), end),
    );
    this.#read();
  }

  /** No more audio comes. */
  finish(): void {
    this.#segments.close();
    this.#read();
  }

  /** Who speaks when, of everything heard so far. */
  turns(): VoiceTurn[] {
    const known = this.#windows.flatMap((window) => {
      const { embedding, seconds, from, to } = window;
      if (embedding === undefined) return [];
      return [{ window, piece: { embedding, seconds, spanS: (to - from) / sampleRate } }];
    });
    const groups = voicesOf(
      known.map(({ piece }) => piece),
      this.#hints,
    );
    const numbers = this.#numbersOf(known.map(({ window }) => window), groups); // prettier-ignore
    for (const [index, { window }] of known.entries())
      window.voice = numbers.get(groups[index] ?? 0) ?? 0;
    return turnsOf(
      this.#windows.map(({ from, to, voice }) => ({
        start: from / sampleRate,
        end: to / sampleRate,
        voice,
      })),
    );
  }

  /** Each group takes the number that most of its seconds had; those that are left over get new ones, as they appear. */
  #numbersOf(windows: readonly LegWindow[], groups: readonly number[]): Map<number, number> {
    // As long as there was one voice its number said nothing: the first two are numbered as they come up.
    const isNew = !windows.some(({ voice }) => voice > 0);
    const shared = new Map<string, { group: number; voice: number; samples: number }>();
    for (const [index, { voice, from, to }] of windows.entries()) {
      const group = groups[index] ?? 0;
      if (voice < 0 || isNew) continue;
      const name = `${group} ${voice}`;
      const one = shared.get(name) ?? { group, voice, samples: 0 };
      one.samples += to - from;
      shared.set(name, one);
    }
    const numbers = new Map<number, number>();
    const taken = new Set<number>();
    for (const { group, voice } of [...shared.values()].sort((a, b) => b.samples - a.samples))
      if (!numbers.has(group) && !taken.has(voice)) {
        numbers.set(group, voice);
        taken.add(voice);
      }
    for (const group of groups)
      if (!numbers.has(group)) {
        let next = 0;
        while (taken.has(next)) next++;
        numbers.set(group, next);
        taken.add(next);
      }
    return numbers;
  }

  #read(): void {
    const segments = this.#segments.taken(this.#end);
    if (segments.length > 0) this.#keep(this.#windowsOf(segments));
    const from = this.#segments.openFrom ?? this.#end - keptSamples;
    const gone = Math.min(this.#audio.length, Math.max(0, from - keptSamples - this.#audioFrom));
    if (gone > 0) this.#audio = this.#audio.slice(gone);
    this.#audioFrom += gone;
  }

  #windowsOf(segments: readonly SpeechSegment[]): LegWindow[] {
    const hop = this.#spoken < atFirst ? hopS.atFirst : hopS.later;
    const reader = new WindowReader(this.#encoder, hop);
    for (const { from, to } of segments) {
      this.#spoken += to - from;
      const first = Math.max(from, this.#audioFrom);
      const samples = this.#audio.slice(first - this.#audioFrom, to - this.#audioFrom);
      if (samples.length > 0) reader.segment({ from: first, to }, samples);
    }
    return reader.finish().map((window) => ({ ...window, voice: -1 }));
  }

  #keep(windows: readonly LegWindow[]): void {
    this.#windows.push(...windows);
    const withDirections = this.#windows.filter(({ embedding }) => embedding !== undefined);
    if (withDirections.length <= maxDirections) return;
    // A window that was never grouped has no voice that could stay.
    const older = withDirections.slice(0, maxDirections / 2).filter(({ voice }) => voice >= 0);
    for (const [index, window] of older.entries())
      if (index % 2 === 0) window.embedding = undefined;
  }
}

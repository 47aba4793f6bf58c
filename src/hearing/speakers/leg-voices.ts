import { windowSamples } from '../recogniser.ts';
import { Resampler } from '../../audio/resampler.ts';
import { type VoiceActivity, type VoiceDetector } from '../offline/voice-activity.ts';
import type { Encoder } from './voice-encoder.ts';
import { LegWindows } from './leg-windows.ts';
import { sampleRate, Segments, type SpeechSegment } from './segments.ts';
import type { VoiceTurn } from './speaker-turns.ts';
import type { SpeakerHints } from './voice-groups.ts';
import { voiceWindows, type VoiceWindow } from './voice-windows.ts';

const speechThreshold = 0.6;
/** The detector reports the start of a voice this much late. */
const lateSamples = windowSamples;
/** Speech without a pause is analysed in pieces of this length, because the labels must not wait for the pause. */
const longestPiece = 8 * sampleRate;
/** The number of voices is found automatically and may be one. More than four in one channel are treated as four. */
export const liveHints: SpeakerHints = { max: 4 };
/** This much audio is kept while nobody speaks, because the start of a voice is reported late. */
const keptSamples = sampleRate;
/** In the first two minutes of talk, windows lie twice as close together, so that two voices are found sooner. */
const hopS = { atFirst: 0.4, later: 0.8 };
const atFirst = 120 * sampleRate;

/**
 * The voices of one leg of a running call. Audio is dropped as soon as its windows are analysed. An hour of talk needs
 * some 5 MB.
 */
export class LegVoices {
  readonly #encoder: Encoder;
  readonly #windows: LegWindows;
  readonly #activity: VoiceActivity;
  readonly #segments = new Segments(longestPiece);
  readonly #resampler: Resampler | undefined;
  #audio = new Float32Array(0);
  #audioFrom = 0;
  #end = 0;
  #spoken = 0;

  constructor(options: {
    encoder: Encoder;
    detector: VoiceDetector;
    rateHz: number;
    hints: SpeakerHints;
  }) {
    this.#encoder = options.encoder;
    this.#windows = new LegWindows(options.hints);
    this.#activity = options.detector.open(speechThreshold);
    if (options.rateHz !== sampleRate) this.#resampler = new Resampler(options.rateHz, sampleRate);
  }

  /** The second up to which every voice has its windows. Somebody may still be speaking after it. */
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

  /** Tells that no more audio comes. */
  finish(): void {
    this.#segments.close();
    this.#read();
    this.#windows.finish();
  }

  /** The turns of all audio so far. */
  turns(): VoiceTurn[] {
    return this.#windows.turns();
  }

  #read(): void {
    const segments = this.#segments.taken(this.#end);
    if (segments.length > 0) this.#windows.add(this.#windowsOf(segments));
    const from = this.#segments.openFrom ?? this.#end - keptSamples;
    const gone = Math.min(this.#audio.length, Math.max(0, from - keptSamples - this.#audioFrom));
    if (gone > 0) this.#audio = this.#audio.slice(gone);
    this.#audioFrom += gone;
  }

  #windowsOf(segments: readonly SpeechSegment[]): VoiceWindow[] {
    const how = {
      encoder: this.#encoder,
      hopS: this.#spoken < atFirst ? hopS.atFirst : hopS.later,
    };
    const windows: VoiceWindow[] = [];
    for (const { from, to } of segments) {
      this.#spoken += to - from;
      const first = Math.max(from, this.#audioFrom);
      const samples = this.#audio.slice(first - this.#audioFrom, to - this.#audioFrom);
      if (samples.length > 0) windows.push(...voiceWindows({ from: first, to }, samples, how));
    }
    return windows;
  }
}

import { sampleRate } from './segments.ts';
import { turnsOf, type VoiceTurn } from './speaker-turns.ts';
import { followed, mostGrouped, voicesOf, type SpeakerHints } from './voice-groups.ts';
import type { VoiceWindow } from './voice-windows.ts';

/** If grouping a leg's talk takes longer than listening to it, only one request in this many is answered. */
const groupedEvery = 3;
/** A leg keeps at most this many directions of 1 KB. Beyond it, every second one of the older half is dropped. */
export const maxDirections = 4_096;

type LegWindow = {
  from: number;
  to: number;
  seconds: number;
  /** Undefined if the direction was dropped. The voice of the window then never changes. */
  embedding: Float32Array | undefined;
  voice: number;
};

/**
 * The windows of one leg. All of them are grouped again each time, because more audio describes a voice better. A group
 * keeps the number that most of its windows had before.
 */
export class LegWindows {
  readonly #hints: SpeakerHints;
  readonly #windows: LegWindow[] = [];
  #asked = 0;

  constructor(hints: SpeakerHints) {
    this.#hints = hints;
  }

  /** The number of windows whose direction is kept. */
  get directions(): number {
    return this.#windows.filter(({ embedding }) => embedding !== undefined).length;
  }

  /** Tells that no more audio comes. The next answer uses all windows. */
  finish(): void {
    this.#asked = 0;
  }

  add(windows: readonly VoiceWindow[]): void {
    this.#windows.push(...windows.map((window) => ({ ...window, voice: -1 })));
    const withDirections = this.#windows.filter(({ embedding }) => embedding !== undefined);
    if (withDirections.length <= maxDirections) return;
    // A window that was never grouped has no voice to keep.
    const older = withDirections.slice(0, maxDirections / 2).filter(({ voice }) => voice >= 0);
    for (const [index, window] of older.entries())
      if (index % 2 === 0) window.embedding = undefined;
  }

  /** The turns of all audio so far. */
  turns(): VoiceTurn[] {
    const known = this.#windows.flatMap((window) => {
      const { embedding, seconds, from, to } = window;
      if (embedding === undefined) return [];
      return [{ window, piece: { embedding, seconds, spanS: (to - from) / sampleRate } }];
    });
    const pieces = known.map(({ piece }) => piece);
    const before = known.map(({ window }) => window.voice);
    const isDue = known.length <= mostGrouped || this.#asked++ % groupedEvery === 0;
    if (isDue)
      this.#group(known.map(({ window }) => window), voicesOf(pieces, this.#hints)); // prettier-ignore
    else
      for (const [index, voice] of followed(pieces, before).entries()) {
        const window = known[index]?.window;
        if (window) window.voice = voice;
      }
    return turnsOf(
      this.#windows.map(({ from, to, voice }) => ({
        start: from / sampleRate,
        end: to / sampleRate,
        voice,
      })),
    );
  }

  #group(windows: readonly LegWindow[], groups: readonly number[]): void {
    const numbers = this.#numbersOf(windows, groups);
    for (const [index, window] of windows.entries())
      window.voice = numbers.get(groups[index] ?? 0) ?? 0;
  }

  /**
   * Each group gets the number that most of its seconds had before. The remaining groups get new numbers in order of
   * appearance.
   */
  #numbersOf(windows: readonly LegWindow[], groups: readonly number[]): Map<number, number> {
    // While there was only one voice, its number meant nothing. The first two voices are numbered in order of
    // appearance.
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
}

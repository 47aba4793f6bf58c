import type { HeardFinal } from './heard-text.ts';

/** Triggers look back at most this many seconds. */
const keptS = 3_600;
const maxKept = 2_000;

type Point = { at: number; value: number };
type SpeechStretch = { role: string; start: number; end: number };

/** The course of one call: moods, and who spoke when. */
export class Course {
  readonly #points = new Map<string, Point[]>();
  #stretches: SpeechStretch[] = [];
  #overlaps: { by: string; at: number }[] = [];
  #presses: number[] = [];
  /** The end of the last speech, in seconds of the call. Undefined until somebody spoke. */
  lastSpeechS: number | undefined;

  speech({ role, start, end }: Pick<HeardFinal, 'role' | 'start' | 'end'>): void {
    const other = this.#stretches.findLast((one) => one.role !== role && one.start < start);
    if (other !== undefined && start < other.end - 0.3 && end > other.end)
      this.#overlaps = [...this.#overlaps, { by: role, at: start }].slice(-100);
    this.#stretches.push({ role, start, end });
    if (this.#stretches.length > maxKept) this.#stretches = this.#stretches.slice(-maxKept / 2);
    this.speaking(end);
  }

  speaking(at: number): void {
    this.lastSpeechS = Math.max(this.lastSpeechS ?? 0, at);
  }

  felt(role: string, at: number, value: number): void {
    const points = this.#points.get(role) ?? [];
    points.push({ at, value });
    this.#points.set(role, points.slice(-200));
  }

  pressed(at: number): void {
    this.#presses = [...this.#presses, at].slice(-100);
  }

  pressesSince(second: number): number {
    return this.#presses.filter((at) => at >= second).length;
  }

  overlapsSince(by: string, second: number): number {
    return this.#overlaps.filter((one) => one.by === by && one.at >= second).length;
  }

  /** The last points of a role that are all of this sign. */
  lastInARow(role: string, sign: number): number {
    const points = this.#points.get(role) ?? [];
    const other = points.findLastIndex(({ value }) => Math.sign(value) !== sign);
    return points.length - 1 - other;
  }

  /** The move of a role's mood within the last seconds: the later half against the earlier one. */
  change(role: string, second: number, least: number): number {
    const points = (this.#points.get(role) ?? []).filter(({ at }) => at >= second);
    if (points.length < least) return 0;
    const half = Math.floor(points.length / 2);
    return meanOf(points.slice(-half)) - meanOf(points.slice(0, half));
  }

  /** The share of a role in all speech since then. Undefined where too little was said. */
  shareSince(role: string, second: number): number | undefined {
    let [own, all] = [0, 0];
    for (const stretch of this.#stretches) {
      const length = Math.max(0, stretch.end - Math.max(stretch.start, second));
      all += length;
      if (stretch.role === role) own += length;
    }
    return all < 15 ? undefined : own / all;
  }

  forget(nowS: number): void {
    if ((this.#stretches[0]?.end ?? nowS) < nowS - keptS)
      this.#stretches = this.#stretches.filter(({ end }) => end >= nowS - keptS);
  }
}

function meanOf(points: readonly Point[]): number {
  return points.reduce((sum, { value }) => sum + value, 0) / Math.max(1, points.length);
}

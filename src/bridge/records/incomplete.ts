import { round3 } from '../../lib/round.ts';
import type { GapCause, Incomplete } from '../../protocol/events.ts';

/** Where words of somebody are missing, in seconds of the call. */
export type GapSpan = { cause: GapCause; start: number; end: number };
export type Span = { start: number; end: number };

/** A call that lost less than this is whole: no word is that short, and carriers lose single frames all the time. */
const leastS = 0.5;

/** A call of which more than this share was not heard has no figures: those of the rest would be taken for its own. */
const mostUnheard = 0.1;

/** What the service did not hear or not say is in the recording; what never reached us is not. */
export function isInRecording(cause: GapCause): boolean {
  return canBeReadAgain.includes(cause);
}

export const canBeReadAgain: readonly GapCause[] = ['service', 'deadline', 'sessions', 'refused'];

/** What is missing of a call and why, the cause that cost most first; null for one that is whole. Pure. */
export function incompleteOf(gaps: readonly GapSpan[], durationS: number): Incomplete | null {
  const seconds = lengthOf(within(gaps, durationS));
  if (seconds < leastS) return null;
  const causes = [...Map.groupBy(gaps, ({ cause }) => cause)].map(([cause, spans]) => ({
    cause,
    seconds: round3(lengthOf(within(spans, durationS))),
  }));
  return {
    seconds: round3(seconds),
    causes: causes.filter((one) => one.seconds > 0).toSorted((a, b) => b.seconds - a.seconds),
  };
}

/** Whether figures of what was heard say anything true of the whole call. */
export function tellsOfTheWhole(gaps: readonly GapSpan[], durationS: number): boolean {
  return lengthOf(within(gaps, durationS)) <= durationS * mostUnheard;
}

/** The spans as far as they lie in the call, in order, those that touch made one. */
export function within(spans: readonly Span[], durationS: number): Span[] {
  const joined: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const start = Math.max(0, span.start);
    const end = Math.min(durationS, span.end);
    const last = joined.at(-1);
    if (end <= start) continue;
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else joined.push({ start, end });
  }
  return joined;
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

import { round3 } from '../../lib/round.ts';
import type { GapCause, Incomplete } from '../../protocol/events.ts';

/** A stretch with missing words, in seconds of the call. */
export type GapSpan = { cause: GapCause; start: number; end: number };
export type Span = { start: number; end: number };

/**
 * A call with less missing audio than this counts as complete: no word is that short, and carriers lose single frames
 * all the time.
 */
const leastS = 0.5;

/**
 * If more than this share of a call was not heard, it gets no statistics, because people would take figures of the rest
 * for the whole call.
 */
const mostUnheard = 0.1;

/** True for causes whose audio is in the recording: we received it, but the service did not hear or transcribe it. */
export function isInRecording(cause: GapCause): boolean {
  return canBeReadAgain.includes(cause);
}

export const canBeReadAgain: readonly GapCause[] = ['service', 'deadline', 'sessions', 'refused'];

/** The missing parts of a call and their causes, the largest cause first. Null for a complete call. Pure. */
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

/** True if enough of the call was heard, so that statistics of that part hold for the whole call. */
export function tellsOfTheWhole(gaps: readonly GapSpan[], durationS: number): boolean {
  return lengthOf(within(gaps, durationS)) <= durationS * mostUnheard;
}

/** The parts of the spans within the call, in order. Spans that touch are joined. */
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

import type { EntitySpan } from '../types.ts';

/** Merges two lists of entities. The first list wins where they overlap, and what it leaves of the others stays. */
export function merged(first: readonly EntitySpan[], more: readonly EntitySpan[]): EntitySpan[] {
  const rest = first.reduce<readonly EntitySpan[]>(
    (spans, taken) => spans.flatMap((span) => outside(span, taken)),
    more,
  );
  return [...first, ...rest];
}

/** The parts of a span that another one leaves. */
function outside(span: EntitySpan, taken: EntitySpan): EntitySpan[] {
  if (span.start >= taken.end || taken.start >= span.end) return [span];
  // An echo has the text of the secret, not its own.
  if (span.text.length !== span.end - span.start) return [];
  const part = (start: number, end: number): EntitySpan => {
    const text = span.text.slice(start - span.start, end - span.start);
    const from = start + text.length - text.trimStart().length;
    return { ...span, text: text.trim(), start: from, end: from + text.trim().length };
  };
  const parts = [part(span.start, taken.start), part(taken.end, span.end)];
  return parts.filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
}

export function within(spans: readonly EntitySpan[], from: number, to: number): EntitySpan[] {
  return spans
    .filter((span) => span.start < to && span.end > from)
    .map((span) => ({
      ...span,
      start: Math.max(0, span.start - from),
      end: Math.min(span.end, to) - from,
    }));
}

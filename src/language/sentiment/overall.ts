import type { SentimentLabel } from '../types.ts';

/** A call is full of neutral sentences: what was expressed decides, both only where both weigh. */
export function overallOf(counts: Record<SentimentLabel, number>): SentimentLabel {
  const good = counts.positive + counts.mixed / 2;
  const bad = counts.negative + counts.mixed / 2;
  if (good + bad === 0) return counts.neutral > 0 ? 'neutral' : 'unknown';
  if (Math.min(good, bad) * 2 >= Math.max(good, bad)) return 'mixed';
  return good > bad ? 'positive' : 'negative';
}

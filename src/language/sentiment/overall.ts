import type { SentimentLabel } from '../types.ts';

/**
 * The overall sentiment of a call. Most sentences are neutral, so only the others count; `mixed` needs enough of both.
 */
export function overallOf(counts: Record<SentimentLabel, number>): SentimentLabel {
  const good = counts.positive + counts.mixed / 2;
  const bad = counts.negative + counts.mixed / 2;
  if (good + bad === 0) return counts.neutral > 0 ? 'neutral' : 'unknown';
  if (Math.min(good, bad) * 2 >= Math.max(good, bad)) return 'mixed';
  return good > bad ? 'positive' : 'negative';
}

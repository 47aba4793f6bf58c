import { splitSentences } from '../text/sentences.ts';
import type { SentimentCourse, SentimentLabel, SpokenTurn } from '../types.ts';
import { overallOf } from './overall.ts';
import { scoreSentiment } from './score.ts';

const values: Record<SentimentLabel, number> = {
  positive: 1,
  negative: -1,
  mixed: 0,
  neutral: 0,
  unknown: 0,
};

const quarters = 4;

/** The mood of each party in each quarter of the call's time. */
export function courseOf(turns: readonly SpokenTurn[]): SentimentCourse[] {
  const start = turns[0]?.start ?? 0;
  const length = Math.max(1e-6, (turns.at(-1)?.end ?? 0) - start);
  const byRole = new Map<string, { quarter: number; label: SentimentLabel }[]>();
  for (const turn of turns) {
    const middle = ((turn.start + turn.end) / 2 - start) / length;
    const quarter = Math.min(quarters - 1, Math.max(0, Math.floor(middle * quarters)));
    const list = byRole.get(turn.role) ?? [];
    byRole.set(turn.role, list);
    for (const span of splitSentences(turn.text))
      list.push({ quarter, label: scoreSentiment(turn.text.slice(span.start, span.end)).label });
  }
  return [...byRole].map(([role, list]) => {
    const counts = { positive: 0, negative: 0, neutral: 0, mixed: 0, unknown: 0 };
    for (const item of list) counts[item.label] += 1;
    const score = mean(list.map((item) => values[item.label]));
    return {
      role,
      overall: overallOf(counts),
      score,
      course: Array.from({ length: quarters }, (_, quarter) =>
        mean(list.filter((item) => item.quarter === quarter).map((item) => values[item.label])),
      ),
      counts,
    };
  });
}

function mean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return Math.round((values.reduce((sum, value) => sum + value, 0) / values.length) * 100) / 100;
}

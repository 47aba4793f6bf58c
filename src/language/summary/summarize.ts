import { splitSentences } from '../text/sentences.ts';
import type { SummaryType, Turn } from '../types.ts';

/** The sentences of a call that tell most about it, in the order in which they were said. */
export function summarize(turns: readonly Turn[], type: SummaryType): string {
  const sentences = turns.flatMap((turn) =>
    splitSentences(turn.text).map((span) => turn.text.slice(span.start, span.end)),
  );
  const chosen = sentences
    .map((text, index) => ({ text, index, weight: Math.min(text.length, 160) }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, type === 'concise' ? 2 : 6)
    .sort((a, b) => a.index - b.index)
    .map((sentence) => sentence.text);
  return type === 'bullet_points' ? chosen.map((text) => `- ${text}`).join('\n') : chosen.join(' ');
}

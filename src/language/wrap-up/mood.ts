import { scoreSentiment } from '../sentiment/score.ts';
import { splitSentences } from '../text/sentences.ts';
import type { SpokenTurn } from '../types.ts';

export type Mood = {
  from: 'positive' | 'neutral' | 'negative';
  to: 'positive' | 'neutral' | 'negative';
  turns: number[];
};

/** The customer's mood in the first and in the last part of the call, and the turns that show it. */
export function moodOf(turns: readonly SpokenTurn[]): Mood | undefined {
  const own = turns.flatMap((turn, place) => (turn.role === 'customer' ? [{ turn, place }] : []));
  if (own.length < 2) return undefined;
  const half = Math.ceil(own.length / 2);
  const first = own
    .slice(0, half)
    .map(felt)
    .find(({ mood }) => mood !== 'neutral');
  const last = own
    .slice(half)
    .map(felt)
    .findLast(({ mood }) => mood !== 'neutral');
  const turnsOf = [first?.place, last?.place].filter((place) => place !== undefined);
  return { from: first?.mood ?? 'neutral', to: last?.mood ?? 'neutral', turns: turnsOf };
}

function felt({ turn, place }: { turn: SpokenTurn; place: number }): {
  mood: Mood['from'];
  place: number;
} {
  let sum = 0;
  for (const span of splitSentences(turn.text)) {
    const { label } = scoreSentiment(turn.text.slice(span.start, span.end));
    sum += label === 'positive' ? 1 : label === 'negative' ? -1 : 0;
  }
  return { mood: sum > 0 ? 'positive' : sum < 0 ? 'negative' : 'neutral', place };
}

import type { SentimentLabel } from '../types.ts';

const negative =
  /\b(?:angry|terrible|awful|worst|ridiculous|unacceptable|disappointed|horrible|useless)\b/i;
const positive = /\b(?:great|excellent|wonderful|fantastic|perfect|love|amazing|brilliant)\b/i;

export function scoreSentiment(text: string): { label: SentimentLabel; emotion: string } {
  if (!/\p{L}/u.test(text)) return { label: 'unknown', emotion: 'neutral' };
  const bad = negative.test(text);
  const good = positive.test(text);
  if (bad && good) return { label: 'mixed', emotion: 'disappointment' };
  if (bad) return { label: 'negative', emotion: 'anger' };
  if (good) return { label: 'positive', emotion: 'contentment' };
  return { label: 'neutral', emotion: 'neutral' };
}

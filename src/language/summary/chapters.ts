import { splitSentences } from '../text/sentences.ts';
import { timelineOf } from '../timing.ts';
import { summarize } from './summarize.ts';
import type { Chapter, Turn, Word } from '../types.ts';

export type TimedTurn = Turn & { words?: Word[] };

/** The chapters of a call. */
export function chaptersOf(turns: readonly TimedTurn[]): Chapter[] {
  const spoken = turns.filter((turn) => turn.text.trim() !== '');
  if (spoken.length === 0) return [];
  return [chapterOf(spoken)];
}

function chapterOf(turns: readonly TimedTurn[]): Chapter {
  const summary = summarize(turns, 'concise');
  return {
    headline: summary.split(/[.!?]/)[0] ?? '',
    gist: summary.split(/\s+/).slice(0, 5).join(' '),
    keywords: [],
    start: turns[0]?.start ?? 0,
    end: turns.at(-1)?.end ?? 0,
    sentences: turns.flatMap(sentencesOf),
    text: turns.map((turn) => turn.text).join(' '),
    summary,
    extractive_summary: summary,
  };
}

export function sentencesOf(turn: TimedTurn): Chapter['sentences'] {
  const words = turn.words ?? [];
  const at = timelineOf({ ...turn, words, confidence: 1, channel: 0, language: 'en' });
  return splitSentences(turn.text).map((span) => {
    const time = at(span.start, span.end);
    return {
      sentence: turn.text.slice(span.start, span.end),
      ...time,
      words: words.filter((word) => word.start >= time.start && word.end <= time.end),
    };
  });
}

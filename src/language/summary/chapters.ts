import { isAbroad } from '../abroad/number-words.ts';
import { contentWords } from '../text/content.ts';
import { splitSentences } from '../text/sentences.ts';
import { timelineOf } from '../timing.ts';
import { boundariesOf } from './boundaries.ts';
import { chapterToldAbroad, isTopicAbroad } from './chapters-abroad.ts';
import { titleOf } from './chapter-titles.ts';
import { extractOf } from './extract.ts';
import type { Chapter, Word } from '../../protocol/addons.ts';
import type { SpokenTurn } from '../types.ts';

export type TimedTurn = SpokenTurn & { words?: Word[] };

/** Divides a call into chapters where the topic changes. The greeting stays with the chapter it leads to. */
export function chaptersOf(
  turns: readonly TimedTurn[],
  givenStarts?: number[],
  language = 'en',
): Chapter[] {
  const spoken = turns.filter((turn) => turn.text.trim() !== '');
  if (spoken.length === 0) return [];
  const starts = givenStarts ?? [0, ...boundariesOf(spoken).slice(1)];
  const parts = starts.map((start, i) => spoken.slice(start, starts[i + 1] ?? spoken.length));
  const chaptersWith = new Map<string, number>();
  for (const part of parts)
    for (const stem of new Set(
      part.flatMap((turn) => contentWords(turn.text).map((word) => word.stem)),
    ))
      chaptersWith.set(stem, (chaptersWith.get(stem) ?? 0) + 1);
  return parts.map((part, place) =>
    chapterOf(part, chaptersWith, { isFirst: place === 0, language }),
  );
}

/** The chapters of a call. A call about one topic has none: its summary says what it was about. */
export function severalOf(chapters: Chapter[]): Chapter[] {
  return chapters.length > 1 ? chapters : [];
}

function chapterOf(
  turns: readonly TimedTurn[],
  chaptersWith: ReadonlyMap<string, number>,
  { isFirst, language }: { isFirst: boolean; language: string },
): Chapter {
  const keywords = keywordsOf(turns, chaptersWith, language);
  const { headline, summary } = isAbroad(language)
    ? chapterToldAbroad(turns, language)
    : { headline: titleOf(turns, { isFirst }), summary: extractOf(turns, 'concise') };
  return {
    headline,
    gist: keywords.slice(0, 3).join(', '),
    keywords,
    start: turns[0]?.start ?? 0,
    end: turns.at(-1)?.end ?? 0,
    sentences: turns.flatMap(sentencesOf),
    text: turns.map((turn) => turn.text.trim()).join(' '),
    summary,
    extractive_summary: summary,
  };
}

/** Words that are frequent in this chapter and rare in the others. */
function keywordsOf(
  turns: readonly SpokenTurn[],
  chaptersWith: ReadonlyMap<string, number>,
  language: string,
): string[] {
  const counts = new Map<string, { word: string; count: number; first: number }>();
  let order = 0;
  for (const turn of turns)
    for (const { stem, word } of contentWords(turn.text)) {
      if (isAbroad(language) && !isTopicAbroad(word, language)) continue;
      const known = counts.get(stem);
      if (known) known.count += 1;
      else counts.set(stem, { word, count: 1, first: order++ });
    }
  return [...counts]
    .map(([stem, entry]) => {
      return { ...entry, weight: entry.count / (chaptersWith.get(stem) ?? 1) };
    })
    .sort((a, b) => b.weight - a.weight || a.first - b.first)
    .slice(0, 6)
    .map((entry) => entry.word);
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

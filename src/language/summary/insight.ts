import { findEntities } from '../entities/find.ts';
import { courseOf } from '../sentiment/course.ts';
import { timelineOf } from '../timing.ts';
import { chaptersOf, type TimedTurn } from './chapters.ts';
import { summarize } from './summarize.ts';
import type { CallInsight, SummaryType } from '../types.ts';

/**
 * Everything that the end of a call says about it. In other languages than English there is no course of sentiment rather than a guessed one.
 */
export function insightOf(
  turns: readonly TimedTurn[],
  summaryType: SummaryType,
  language = 'en',
): CallInsight {
  return {
    summary: summarize(turns, summaryType),
    summary_kind: 'extractive',
    chapters: chaptersOf(turns),
    entities: turns.flatMap((turn) => {
      const at = timelineOf({
        ...turn,
        words: turn.words ?? [],
        confidence: 1,
        channel: 0,
        language: 'en',
      });
      return findEntities(turn.text, undefined, language).map((span) => ({
        entity_type: span.type,
        text: span.text,
        ...at(span.start, span.end),
        role: turn.role,
      }));
    }),
    sentiment: language === 'en' ? courseOf(turns) : [],
  };
}

import { expect, test } from 'vitest';
import { findEntities } from '../../../src/language/entities/find-entities.ts';
import { scoreSentiment } from '../../../src/language/sentiment/score.ts';
import { boundariesOf } from '../../../src/language/summary/boundaries.ts';
import { summarize } from '../../../src/language/wrap-up/summarize.ts';
import {
  Counts,
  factsIn,
  lines,
  scoreBoundaries,
  scoreEntities,
  scoreSentiments,
  turnsOf,
  type CallFixture,
  type EntityLine,
  type SentimentLine,
} from '../../support/language/language-scores.ts';

test(
  'entities of the set that is only scored reach F1 0.85 strict and 0.93 by overlap and family',
  { timeout: 60_000 },
  () => {
    const score = scoreEntities(lines<EntityLine>('entities-held'), (text) => findEntities(text));
    expect(score.strict.f1).toBeGreaterThanOrEqual(0.85);
    expect(score.overlap.f1).toBeGreaterThanOrEqual(0.93);
  },
);

test('the spoken half is no more than 0.08 behind the written one', { timeout: 60_000 }, () => {
  const { byStyle } = scoreEntities(lines<EntityLine>('entities-held'), (text) =>
    findEntities(text),
  );
  expect(byStyle.written.f1 - byStyle.spoken.f1).toBeLessThanOrEqual(0.08);
});

test('at most one line in fifty without entities is given one', { timeout: 60_000 }, () => {
  const score = scoreEntities(lines<EntityLine>('entities-held'), (text) => findEntities(text));
  expect(score.freeLines).toBeGreaterThan(40);
  expect(score.freeLinesHit / score.freeLines).toBeLessThanOrEqual(0.02);
});

test(
  'sentiment of the set that is only scored reaches accuracy 0.90 and macro F1 0.90',
  { timeout: 60_000 },
  () => {
    const score = scoreSentiments(
      lines<SentimentLine>('sentiment-held'),
      (text) => scoreSentiment(text).label,
    );
    expect(score.accuracy).toBeGreaterThanOrEqual(0.9);
    expect(score.macroF1).toBeGreaterThanOrEqual(0.9);
  },
);

test.each([
  { split: 'dev', most: 0 },
  { split: 'held', most: 4 },
])(
  'greetings, names, holds, refusals and closings are neutral: of 100 ($split) at most $most are not',
  ({ split, most }) => {
    const felt = lines<{ text: string }>(`service-${split}`).filter(
      ({ text }) => scoreSentiment(text).label !== 'neutral',
    );
    expect(felt.length).toBeLessThanOrEqual(most);
  },
);

test('a summary of at most 125 words holds seven facts of ten', { timeout: 60_000 }, () => {
  let hits = 0;
  let all = 0;
  for (const call of lines<CallFixture>('calls-held')) {
    const summary = summarize(turnsOf(call), 'general');
    expect(summary.split(/\s+/).length).toBeLessThanOrEqual(125);
    const found = factsIn(summary, call.facts);
    hits += found.filter(Boolean).length;
    all += found.length;
  }
  expect(hits / all).toBeGreaterThanOrEqual(0.7);
});

test('chapters begin where the topic turns, a turn more or less', { timeout: 60_000 }, () => {
  const counts = new Counts();
  for (const call of lines<CallFixture>('calls-held'))
    scoreBoundaries(call.chapters, boundariesOf(turnsOf(call)), counts);
  expect(counts.f1).toBeGreaterThanOrEqual(0.65);
});

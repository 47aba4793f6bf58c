import { expect, test } from 'vitest';
import { performTask } from '../../../src/language/perform.ts';
import { boundariesOf, openingWeights } from '../../../src/language/summary/boundaries.ts';
import { titleOf } from '../../../src/language/summary/chapter-titles.ts';
import { Counts, scoreBoundaries } from '../../support/language/language-scores.ts';
import {
  callsOfOneTopic,
  callsWithChapters,
  joinedCalls,
  learntWeights,
} from '../../support/language/learn-boundaries.ts';
import type { ChapterCall } from '../../support/language/chapter-calls.ts';

/** The first topic begins every call, so it counts for nothing. */
function scoreOf(calls: readonly ChapterCall[]): Counts {
  const counts = new Counts();
  for (const { turns, starts } of calls)
    scoreBoundaries(starts.slice(1), boundariesOf(turns).slice(1), counts);
  return counts;
}

test('in calls that taught nothing, chapters begin where the topic turns', () => {
  expect(scoreOf(callsWithChapters('held')).f1).toBeGreaterThanOrEqual(0.85);
  const unseen = callsOfOneTopic(['third', 'fourth', 'fifth']);
  expect(scoreOf(joinedCalls(unseen, 20)).f1).toBeGreaterThanOrEqual(0.7);
  // A short call about one topic is hardly ever cut.
  expect(scoreOf(unseen).extra).toBeLessThanOrEqual(2);
});

test('words without marks, or voices without roles, still show most of the chapters', () => {
  const changed = (change: (turn: ChapterCall['turns'][number]) => Partial<ChapterCall['turns'][number]>) =>
    scoreOf(callsWithChapters('held').map((call) => ({ ...call, turns: call.turns.map((turn) => ({ ...turn, ...change(turn) })) }))); // prettier-ignore
  expect(changed(({ text }) => ({ text: text.toLowerCase().replace(/[.,?!]/g, '') })).f1).toBeGreaterThanOrEqual(0.6); // prettier-ignore
  expect(changed(() => ({ role: 'speaker' })).f1).toBeGreaterThanOrEqual(0.6);
});

test('the weights are those that the calls teach', { timeout: 60_000 }, () => {
  const learnt = learntWeights(callsWithChapters('dev'));
  const rounded = Object.fromEntries(Object.entries(learnt).map(([name, weight]) => [name, Math.round(weight * 100) / 100])); // prettier-ignore
  expect(rounded).toEqual(openingWeights);
});

test.each([
  ['I had a voucher for my birthday too but the website did not take it.', 'Voucher for my birthday'],
  ["I've paid for ten sessions with Andre and used four.", 'Ten sessions with Andre'],
  ['While I have you, could you tell me if the money for the trip has arrived?', 'Money for the trip has arrived'],
  ["The next thing is, we're having a baby in February.", 'Baby in February'],
  ['And what happens to my email address if I leave one day?', 'Email address'],
  ['The mechanic also noticed that your rear tyres are nearly down to the limit.', 'Rear tyres are nearly down to the limit'],
  ["This is Dana Whitlock, my suitcase didn't come out.", "Suitcase didn't come out"],
])('"%s" is titled "%s"', (text, title) => {
  expect(titleOf([{ role: 'customer', text, start: 0, end: 3 }])).toBe(title);
}); // prettier-ignore

test('chapters of a call, a session and a job are the same', () => {
  const [call] = callsWithChapters('held');
  const turns = call!.turns;
  const ofCall = performTask('call', { turns, summaryType: 'general', language: 'en' });
  const utterances = turns.map((turn) => ({ ...turn, confidence: 1, channel: 0, words: [], language: 'en' })); // prettier-ignore
  const ofSession = performTask('chapterization', { utterances });
  const shown = (chapters: { headline: string; start: number }[] | undefined) =>
    chapters?.map(({ headline, start }) => [headline, start]);
  expect(shown(ofCall.results?.chapters)).toEqual([
    ['Grey estate', 0],
    ['Rear tyres are nearly down to the limit', 44],
    ['Little red car', 72],
  ]);
  expect(shown(ofSession.results?.chapters)).toEqual(shown(ofCall.results?.chapters));
});

test('titles of hostile text take time by its length', () => {
  for (const text of [
    'a '.repeat(200_000),
    'about '.repeat(80_000),
    `${'while i '.repeat(50_000)},`,
    '<script>alert(1)</script> '.repeat(20_000),
  ]) {
    // prettier-ignore
    const title = titleOf([{ role: 'customer', text, start: 0, end: 3 }]);
    expect(title.length).toBeLessThan(400);
  }
});

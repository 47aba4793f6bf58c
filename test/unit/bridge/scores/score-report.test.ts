import { expect, test } from 'vitest';
import { reportOf, type ReportedScore } from '../../../../src/bridge/scores/score-report.ts';

const score = (id: number, agent: string | null, percent: number | null, day: string, more: Partial<ReportedScore> = {}): ReportedScore => ({ call_id: `call_${id}`, scorecard: 'quality', agent, percent, state: 'auto', critical_failed: 0, open_items: 0, scored_at: Date.parse(`${day} 12:00Z`), ...more }); // prettier-ignore

const scores = [
  score(5, 'bob', 90, '2026-02-10'),
  score(4, 'ann', 50, '2026-02-09', { state: 'disputed' }),
  score(3, 'ann', 0, '2026-02-08', { critical_failed: 1, open_items: 2 }),
  score(2, 'ann', 70, '2026-02-02', { state: 'reviewed' }),
  score(1, null, null, '2026-02-02'),
];
const teamsOf = (agent: string): string[] => (agent === 'ann' ? ['north', 'night'] : ['north']);

test('scores are told by agent and week, the lowest first, and disputes wait before open items', () => {
  const { rows, waiting } = reportOf(scores, 'agent', teamsOf);
  expect(rows.map(({ name, calls, percent }) => [name, calls, percent])).toEqual([['ann', 3, 40], ['bob', 1, 90], [null, 1, null]]); // prettier-ignore
  expect(rows[0]).toMatchObject({
    ...{ critical_failed: 1, reviewed: 2, disputed: 1 },
    weeks: [
      { from: '2026-02-02', calls: 2, percent: 35 },
      { from: '2026-02-09', calls: 1, percent: 50 },
    ],
  });
  expect(waiting.map(({ call_id: id }) => id)).toEqual(['call_4', 'call_3']);
});

test('a team has the calls of all its agents, and an agent of two teams counts in both', () => {
  const { rows } = reportOf(scores, 'team', teamsOf);
  expect(rows.map(({ name, calls }) => [name, calls])).toEqual([['night', 3], ['north', 4], [null, 1]]); // prettier-ignore
});

import type { ScoreReport } from '../../protocol/call-scores.ts';

/** A score as a report needs it. */
export type ReportedScore = {
  call_id: string;
  scorecard: string;
  agent: string | null;
  state: 'auto' | 'reviewed' | 'disputed' | 'settled';
  percent: number | null;
  critical_failed: number;
  open_items: number;
  scored_at: number;
};

const maxWaiting = 50;
const dayMs = 24 * 3_600_000;

/** The figures of agents or teams, over all and by week. The scores come with the newest first. Pure. */
export function reportOf(
  scores: readonly ReportedScore[],
  by: 'agent' | 'team',
  teamsOf: (agent: string) => readonly string[],
): Pick<ScoreReport, 'rows' | 'waiting'> {
  const namesOf = ({ agent }: ReportedScore): (string | null)[] => {
    if (by === 'agent' || agent === null) return [agent];
    const teams = teamsOf(agent);
    return teams.length === 0 ? [null] : [...teams];
  };
  const groups = Map.groupBy(
    scores.flatMap((score) => namesOf(score).map((name) => ({ name, score }))),
    ({ name, score }) => JSON.stringify([score.scorecard, name]),
  );
  const rows = [...groups.values()].map((group) => {
    const own = group.map(({ score }) => score);
    const weeks = Map.groupBy(own, ({ scored_at }) => mondayOf(scored_at));
    const [{ name, score } = { name: null, score: undefined }] = group;
    return {
      scorecard: score?.scorecard ?? '',
      name,
      ...figuresOf(own),
      critical_failed: own.filter(({ critical_failed }) => critical_failed === 1).length,
      reviewed: own.filter(({ state }) => state !== 'auto').length,
      disputed: own.filter(({ state }) => state === 'disputed').length,
      weeks: [...weeks].map(([from, ofWeek]) => ({ from, ...figuresOf(ofWeek) })).toReversed(),
    };
  });
  const open = scores.filter(({ state, open_items }) => state === 'disputed' || (open_items > 0 && state === 'auto')); // prettier-ignore
  const first = open.filter(({ state }) => state === 'disputed');
  const waiting = [...first, ...open.filter(({ state }) => state !== 'disputed')]
    .slice(0, maxWaiting)
    .map(({ call_id, scorecard, agent, state, percent, open_items }) => ({ call_id, scorecard, agent, state, percent, open: open_items })); // prettier-ignore
  return {
    rows: rows.toSorted((one, other) => (one.percent ?? 101) - (other.percent ?? 101)),
    waiting,
  };
}

function figuresOf(scores: readonly ReportedScore[]): { calls: number; percent: number | null } {
  const known = scores.flatMap(({ percent }) => percent ?? []);
  const sum = known.reduce((all, one) => all + one, 0);
  const percent = known.length === 0 ? null : Math.round((sum / known.length) * 10) / 10;
  return { calls: scores.length, percent };
}

/** The Monday of the week, in UTC. */
function mondayOf(ms: number): string {
  const day = new Date(ms);
  const sinceMonday = (day.getUTCDay() + 6) % 7;
  return new Date(ms - sinceMonday * dayMs).toISOString().slice(0, 10);
}

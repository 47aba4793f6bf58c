import type { CallScore, ScoreReport } from '../../../src/protocol/call-scores.ts';
import { callId } from './recorded-call.ts';

const yesOrNo = [
  { answer: 'yes', share: 1 },
  { answer: 'no', share: 0 },
];

/** A score with an answer of each kind. */
export function recordedScore(more: Partial<CallScore> = {}): CallScore {
  const item = { answers: yesOrNo, critical: false, evidence: [], points: 10 };
  return {
    ...{ call_id: callId, scorecard: 'service-quality', title: 'Service <i>quality</i>', version: 1, digest: 'd1' }, // prettier-ignore
    ...{ agent: 'a17', state: 'auto', points: 15, of: 30, percent: 50, critical_failed: false, open: 1, revision: 0 }, // prettier-ignore
    scored_at: '2026-02-03T09:20:00.000Z',
    items: [
      { ...item, id: 'greeted', section: 'Opening', question: 'Did the agent greet and give a name?', answer: 'yes', share: 1, by: 'rule', evidence: [{ at: 1.2, role: 'agent', matched: 'my name is Omar' }] }, // prettier-ignore
      { ...item, id: 'polite', section: 'Conversation', question: 'Did the agent stay polite?', critical: true, answer: 'no', share: 0, by: 'reviewer', note: 'He <b>shouted</b>.' }, // prettier-ignore
      { ...item, id: 'silence', section: 'Conversation', question: 'Was there no long silence?', answer: '12.4', share: 0.5, by: 'rule' }, // prettier-ignore
      { ...item, id: 'solved', section: 'Conversation', question: 'Was the question answered?', answer: null, share: null, by: null }, // prettier-ignore
    ],
    reviews: [],
    disputes: [],
    ...more,
  };
}

export function recordedScoreReport(): ScoreReport {
  const counts = { critical_failed: 1, reviewed: 4, disputed: 1 };
  const weeks = [62, 70, 58, 74].map((percent, at) => ({ from: `2026-02-${String(2 + at * 7).padStart(2, '0')}`, calls: 9, percent })); // prettier-ignore
  return {
    days: 30,
    by: 'agent',
    rows: [
      { ...counts, scorecard: 'service-quality', name: 'a17', calls: 36, percent: 66, weeks },
      { ...counts, scorecard: 'service-quality', name: null, calls: 2, percent: null, weeks: [] },
    ],
    waiting: [
      { call_id: callId, scorecard: 'service-quality', agent: 'a17', state: 'disputed', percent: 50, open: 0 }, // prettier-ignore
      { call_id: 'call_other', scorecard: 'service-quality', agent: null, state: 'auto', percent: 80, open: 1 }, // prettier-ignore
    ],
    agreement: [
      { scorecard: 'service-quality', item: null, question: null, answers: 40, agreed: 36, kappa: 0.71 }, // prettier-ignore
      { scorecard: 'service-quality', item: 'greeted', question: 'Did the agent greet?', answers: 20, agreed: 20, kappa: null }, // prettier-ignore
    ],
    left_out: false,
  };
}

import { z } from 'zod';
import {
  CallScore,
  CallScoreList,
  DisputeOrder,
  ScorecardList,
  ScoreOrder,
  ScoreReport,
  ScoreReview,
} from '../call-scores.ts';
import { answer, json, type Route } from './route.ts';

const tag = 'Scores';

/** Scorecards, the scores of calls, and scores over time. */
export const scoreRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/api/scorecards',
    tag,
    summary: 'The scorecards that calls are judged by',
    access: 'key',
    answers: { 200: answer('The scorecards, and the files that cannot be used.', ScorecardList) },
  },
  {
    method: 'get',
    path: '/api/scores',
    tag,
    summary: 'Scores over time, by agent or team',
    access: 'key',
    query: [
      {
        name: 'last_days',
        description: 'The calls of so many days.',
        schema: z.int().min(1).max(365).default(30),
      },
      { name: 'by', description: 'The rows.', schema: z.enum(['agent', 'team']).default('agent') },
    ],
    answers: { 200: answer('Rows with their weeks, and what waits for a person.', ScoreReport) },
    errors: [400],
  },
  {
    method: 'get',
    path: '/api/calls/{id}/scores',
    tag,
    summary: 'The scores of a call, with their evidence',
    access: 'key',
    answers: { 200: answer('One score for each scorecard.', CallScoreList) },
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/calls/{id}/scores',
    tag,
    summary: 'Judge a call now',
    description: 'Also a call that is not in the sample. A score that is there stays.',
    access: 'key',
    body: json(ScoreOrder, { scorecard: 'service-quality' }),
    answers: { 200: answer('The score.', CallScore) },
    errors: [400, 404, 409],
  },
  {
    method: 'put',
    path: '/api/calls/{id}/scores/{scorecard}',
    tag,
    summary: 'Complete or change a score',
    description:
      'Names the items that change. Of two reviewers with the same revision the second is refused.',
    access: 'key',
    body: json(ScoreReview, {
      revision: 0,
      items: [{ id: 'solved', answer: 'yes', note: 'The refund was promised.' }],
    }),
    answers: { 200: answer('As it is now.', CallScore) },
    errors: [400, 404, 409],
  },
  {
    method: 'post',
    path: '/api/calls/{id}/scores/{scorecard}/dispute',
    tag,
    summary: 'Dispute a score',
    access: 'key',
    body: json(DisputeOrder, { revision: 1, reason: 'The customer hung up before I could.' }),
    answers: { 200: answer('As it is now.', CallScore) },
    errors: [400, 404, 409],
  },
];

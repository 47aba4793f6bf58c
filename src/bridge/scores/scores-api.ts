import { Router, type Response } from 'express';
import type { Scorecards } from '../../assist/scorecards.ts';
import { storable } from '../../lib/storable.ts';
import { agentsAllowed, principalOf } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import {
  DisputeOrder,
  ScoreOrder,
  ScoreReview,
  type CallScoreList,
  type ScorecardList,
} from '../../protocol/call-scores.ts';
import { check } from '../../protocol/validation.ts';
import { invalid, reportDaysIn } from '../api/query.ts';
import { countsOf, type ScoreRefusal, type CallJudge } from './call-judge.ts';

type ScoresApiOptions = {
  scores: Pick<CallJudge, 'of' | 'score' | 'review' | 'dispute' | 'report'>;
  scorecards: Pick<Scorecards, 'current' | 'problems'>;
};

/** Routes of scorecards, of the scores of calls, and of scores over time. */
export function scoresApi({ scores, scorecards }: ScoresApiOptions): Router {
  const router = Router();

  router.get('/api/scorecards', async (_request, response) => {
    const cards = await scorecards.current();
    response.json({
      scorecards: cards.map((card) => {
        const { id, version, digest, title, status } = card;
        return { id, version, digest, title, status, ...countsOf(card) };
      }),
      problems: [...scorecards.problems],
    } satisfies ScorecardList);
  });

  router.get('/api/scores', async (request, response) => {
    const days = reportDaysIn(request.query);
    const { by = 'agent' } = request.query;
    if (by !== 'agent' && by !== 'team') throw invalid(['by must be agent or team']);
    response.json(await scores.report(days, by, agentsAllowed(response)));
  });

  router.get('/api/calls/:id/scores', async (request, response) => {
    const items = answered(await scores.of(request.params.id));
    response.json({ items } satisfies CallScoreList);
  });

  router.post('/api/calls/:id/scores', async (request, response) => {
    const parsed = check(ScoreOrder, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    response.json(answered(await scores.score(request.params.id, parsed.value.scorecard)));
  });

  router.put('/api/calls/:id/scores/:scorecard', async (request, response) => {
    const parsed = check(ScoreReview, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const { id: callId, scorecard } = request.params;
    const who = { callId, scorecard, by: nameOf(response) };
    response.json(answered(await scores.review(who, storable(parsed.value))));
  });

  router.post('/api/calls/:id/scores/:scorecard/dispute', async (request, response) => {
    const parsed = check(DisputeOrder, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const { id: callId, scorecard } = request.params;
    const who = { callId, scorecard, by: nameOf(response) };
    response.json(answered(await scores.dispute(who, storable(parsed.value))));
  });

  return router;
}

function nameOf(response: Response): string {
  return principalOf(response)?.name ?? '';
}

function answered<T extends object>(result: T | ScoreRefusal): T {
  if (!('refused' in result)) return result;
  const { refused, why } = result;
  if (refused === 'unknown') throw new Problem(404, why);
  if (refused === 'answer') throw invalid([why]);
  if (refused === 'revision')
    throw new Problem(409, `somebody changed the score meanwhile: ${why}; read it again`);
  throw new Problem(409, why);
}

import { Router } from 'express';
import { CallRules } from '../../assist/call-rules.ts';
import { hitsOf, judgeHit, ruleFigures } from '../../assist/hit-rows.ts';
import type { Playbooks } from '../../assist/playbooks.ts';
import { playbookFrom, ruleSetInSlices, type RuleSet } from '../../assist/rule-set.ts';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { firstId } from '../../lib/ids.ts';
import { Problem } from '../../port/problem.ts';
import {
  HintFeedback,
  PlaybookTrialRequest,
  type CallAssistance,
  type PlaybookList,
  type RulesReport,
} from '../../protocol/assist-events.ts';
import { Role } from '../../protocol/events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import { callRowOf, recordFrom } from '../events/call-rows.ts';
import { scopeOf } from './call-scope.ts';
import { callsFor, trialOf } from './playbook-trials.ts';
import { invalid, reportDaysIn } from './query.ts';

/** The playbooks of the process. Tests may have some that teach nobody. */
export type ListeningPlaybooks = Pick<Playbooks, 'current' | 'problems' | 'load'> &
  Partial<Pick<Playbooks, 'teach' | 'waiting'>>;

type AssistApiOptions = {
  store: Store;
  playbooks: ListeningPlaybooks;
  clock: Clock;
};

const dayMs = 24 * 3_600_000;

/** Routes of playbooks, and of what they did in a call. */
export function assistApi({ store, playbooks, clock }: AssistApiOptions): Router {
  const { db } = store;
  const router = Router();

  router.get('/api/calls/:id/assist', async (request, response) => {
    response.json(await assistanceOf(store, playbooks.current, request.params.id));
  });

  router.post('/api/calls/:id/assist/feedback', async (request, response) => {
    const parsed = check(HintFeedback, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const { hit_id: key, verdict } = parsed.value;
    const { id: callId } = request.params;
    if (!(await judgeHit(db, { callId, key, verdict, at: clock.now() })))
      throw new Problem(404, 'the call has no such hint');
    response.json(await assistanceOf(store, playbooks.current, callId));
  });

  router.get('/api/assist/playbooks', (_request, response) => {
    response.json(listOf(playbooks));
  });

  router.post('/api/assist/reload', async (_request, response) => {
    await playbooks.load();
    response.json(listOf(playbooks));
  });

  router.get('/api/assist/report', async (request, response) => {
    const days = reportDaysIn(request.query);
    const rules = await ruleFigures(db, firstId('call', clock.now() - days * dayMs));
    response.json({ days, rules } satisfies RulesReport);
  });

  router.post('/api/assist/try', async (request, response) => {
    const parsed = check(PlaybookTrialRequest, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const { playbook, against, call_ids: ids, last_days: days = 30, limit } = parsed.value;
    const set = await setFrom(playbook);
    const older = against === undefined ? undefined : await setFrom(against);
    await playbooks.teach?.(set);
    if (older !== undefined) await playbooks.teach?.(older);
    const calls = await callsFor(store, { ids, sinceMs: clock.now() - days * dayMs, limit });
    const left = new AbortController();
    response.once('close', () => left.abort());
    response.json(await trialOf(store, set, calls, { older, isOver: () => left.signal.aborted }));
  });

  return router;
}

async function setFrom(text: string): Promise<RuleSet> {
  try {
    return await ruleSetInSlices([playbookFrom(text)]);
  } catch (error) {
    throw invalid(reasonOf(error).split('\n'));
  }
}

function listOf({ current, problems, waiting }: ListeningPlaybooks): PlaybookList {
  return {
    waiting: waiting ?? null,
    playbooks: current.playbooks.map(({ id, version, digest, title = null, status, rules }) => ({
      id,
      version,
      digest,
      title,
      status,
      rules: rules.map((rule) => ({ id: rule.id, title: rule.title })),
    })),
    problems: [...problems],
  };
}

/** The hits as they were stored. Hits of a shadow are counted in the metrics and shown to nobody. */
async function assistanceOf(store: Store, set: RuleSet, callId: string): Promise<CallAssistance> {
  const row = await callRowOf(store.db, callId);
  if (row === undefined) throw new Problem(404, 'call not found');
  const hits = (await hitsOf(store.db, callId)).filter(({ isShadow }) => !isShadow);
  const done = hits.flatMap(({ did }) => did);
  const rules = new CallRules(set, scopeOf(recordFrom(row)));
  for (const one of done)
    if (one.kind === 'step') rules.stepsDone.add(`${one.checklist}.${one.step}`);
  return {
    hits: hits.map(({ key, rule, playbook, version, digest, at, title, did, verdict, cause }) => ({
      hit_id: key,
      rule,
      playbook,
      version,
      digest,
      at,
      cause: { ...cause, role: cause.role === undefined ? undefined : Role.parse(cause.role) },
      title,
      did,
      verdict,
    })),
    tags: [...new Set(done.flatMap((one) => (one.kind === 'tag' ? [one.tag] : [])))],
    checklists: rules.checklists.map(({ id, title, steps }) => ({
      id,
      title,
      steps: steps.map(({ isDone, ...step }) => ({ ...step, done: isDone })),
    })),
  };
}

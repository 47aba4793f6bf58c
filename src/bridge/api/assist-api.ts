import { Router } from 'express';
import { CallRules } from '../../assist/call-rules.ts';
import type { Hit } from '../../assist/hits.ts';
import { hitsOf, judgeHit, ruleFigures } from '../../assist/hit-rows.ts';
import type { Playbooks } from '../../assist/playbooks.ts';
import { playbookFrom, ruleSetOf, type CallScope, type RuleSet } from '../../assist/rule-set.ts';
import { trialHits, understood, type RuleInput } from '../../assist/trial.ts';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { firstId } from '../../lib/ids.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import { Problem } from '../../port/problem.ts';
import {
  HintFeedback,
  PlaybookTrialRequest,
  type CallAssistance,
  type PlaybookList,
  type PlaybookTrial,
  type RulesReport,
} from '../../protocol/assist-events.ts';
import { Role } from '../../protocol/events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import { callRowOf, recordFrom } from '../events/call-rows.ts';
import type { CallRecord } from '../records/call-record.ts';
import { callInputs } from '../events/assist-inputs.ts';
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
const placesShown = 20;
/** After this many milliseconds of work, other requests have their turn. */
const sliceMs = 10;

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
    const set = setFrom(playbook);
    const older = against === undefined ? undefined : setFrom(against);
    await playbooks.teach?.(set);
    if (older !== undefined) await playbooks.teach?.(older);
    const calls = await callsFor(store, { ids, sinceMs: clock.now() - days * dayMs, limit });
    response.json(await trialOf(store, set, calls, older));
  });

  return router;
}

function setFrom(text: string): RuleSet {
  try {
    return ruleSetOf([playbookFrom(text)]);
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

type TriedCall = { id: string; scope: CallScope };

async function callsFor(
  { db }: Store,
  { ids, sinceMs, limit }: { ids: string[] | undefined; sinceMs: number; limit: number },
): Promise<TriedCall[]> {
  const select = db.selectFrom('calls').selectAll().orderBy('id', 'desc').limit(limit);
  const rows =
    ids === undefined
      ? await select.where('id', '>=', firstId('call', sinceMs)).execute()
      : await select.where('id', 'in', ids).execute();
  return rows.map((row) => ({ id: row.id, scope: scopeOf(recordFrom(row)) }));
}

/** The facts of a call that scopes of playbooks ask for. */
export function scopeOf({ direction, carrier, to, metadata, language }: CallRecord): CallScope {
  return {
    direction: direction ?? null,
    carrier,
    to: to ?? null,
    metadata,
    language: language ?? null,
  };
}

async function trialOf(
  { db }: Store,
  set: RuleSet,
  calls: readonly TriedCall[],
  older?: RuleSet,
): Promise<PlaybookTrial> {
  const rules = set.rules.map(({ rule }) => ({
    rule: rule.id,
    title: rule.title,
    hits: 0,
    calls: 0,
    places: [] as PlaybookTrial['rules'][number]['places'],
  }));
  const slice = new TimeSlice(sliceMs);
  const hitsIn = async (of: RuleSet, scope: CallScope, inputs: RuleInput[]): Promise<Hit[]> => {
    const found: Hit[] = [];
    for (const hits of trialHits(of, scope, await understood(of, inputs))) {
      found.push(...hits);
      await slice.stepped();
    }
    return found;
  };
  const changes = new Map<string, RuleChange>();
  for (const { id, scope } of calls) {
    const fired = new Set<string>();
    const inputs = await callInputs(db, id);
    const hits = await hitsIn(set, scope, inputs);
    for (const hit of hits) noteHit(rules, hit, id, fired);
    if (older === undefined) continue;
    const before = await hitsIn(older, scope, inputs);
    for (const hit of missingIn(before, hits)) noteChange(changes, hit, id, 'comes');
    for (const hit of missingIn(hits, before)) noteChange(changes, hit, id, 'goes');
  }
  const trial = { calls: calls.length, rules };
  return older === undefined ? trial : { ...trial, changes: [...changes.values()] };
}

type RuleChange = NonNullable<PlaybookTrial['changes']>[number];

/** The hits that have no equal among the others: the same rule at the same utterance, or at the same second. */
function missingIn(others: readonly Hit[], hits: readonly Hit[]): Hit[] {
  const keyOf = ({ rule, at, cause }: Hit): string => `${rule}@${cause.utterance_id ?? at}`;
  const known = new Set(others.map(keyOf));
  return hits.filter((hit) => !known.has(keyOf(hit)));
}

function noteChange(
  changes: Map<string, RuleChange>,
  { rule, at, cause }: Hit,
  callId: string,
  change: 'comes' | 'goes',
): void {
  const told = changes.get(rule) ?? { rule, comes: 0, goes: 0, places: [] };
  changes.set(rule, told);
  told[change]++;
  const { role = null, matched = null } = cause;
  if (told.places.length < placesShown)
    told.places.push({ change, call_id: callId, at, role, matched });
}

function noteHit(
  rules: PlaybookTrial['rules'],
  { rule, at, cause }: Hit,
  callId: string,
  fired: Set<string>,
): void {
  const trial = rules.find((one) => one.rule === rule);
  if (trial === undefined) return;
  trial.hits++;
  if (!fired.has(rule)) trial.calls++;
  fired.add(rule);
  const { role = null, matched = null, score = null } = cause;
  if (trial.places.length < placesShown)
    trial.places.push({ call_id: callId, at, role, matched, score });
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

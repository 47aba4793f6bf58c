import type { Hit } from '../../assist/hits.ts';
import type { CallScope, RuleSet } from '../../assist/rule-set.ts';
import type { RuleInput } from '../../assist/rule-inputs.ts';
import { trialHits, understood } from '../../assist/trial.ts';
import { firstId } from '../../lib/ids.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import type { PlaybookTrial } from '../../protocol/assist-events.ts';
import type { Store } from '../../store/store.ts';
import { callInputs } from '../events/assist-inputs.ts';
import { recordFrom } from '../events/call-rows.ts';
import { scopeOf } from './call-scope.ts';

/* Playbooks on calls that are over: by the engine that listens to live ones. */

const placesShown = 20;
/** After this many milliseconds of work, other requests have their turn. */
const sliceMs = 10;

type TriedCall = { id: string; scope: CallScope };

/** The calls that a trial is about, the newest first. */
export async function callsFor(
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

type TrialBounds = {
  /** An older form of the playbook: the trial then says which hits come and go. */
  older?: RuleSet | undefined;
  /** Asked before each call. The calls after that are left out. */
  isOver: () => boolean;
};

/** The hits that a set of rules would have had in calls that are over. */
export async function trialOf(
  { db }: Store,
  set: RuleSet,
  calls: readonly TriedCall[],
  { older, isOver }: TrialBounds,
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
  let tried = 0;
  for (const { id, scope } of calls) {
    if (isOver()) break;
    tried++;
    const fired = new Set<string>();
    const inputs = await callInputs(db, id);
    const hits = await hitsIn(set, scope, inputs);
    for (const hit of hits) noteHit(rules, hit, id, fired);
    if (older === undefined) continue;
    const before = await hitsIn(older, scope, inputs);
    for (const hit of missingIn(before, hits)) noteChange(changes, hit, id, 'comes');
    for (const hit of missingIn(hits, before)) noteChange(changes, hit, id, 'goes');
  }
  const trial = { calls: tried, left_out: calls.length - tried, rules };
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

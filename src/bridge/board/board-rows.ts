import type { Kysely } from 'kysely';
import { CallRules } from '../../assist/call-rules.ts';
import { hitsOf } from '../../assist/hit-rows.ts';
import type { RuleSet } from '../../assist/rule-set.ts';
import type { CallEvent } from '../../protocol/events.ts';
import { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { callItems } from '../api/call-json.ts';
import { scopeOf } from '../api/call-scope.ts';
import type { Call } from '../call/call.ts';
import { recordFrom } from '../events/call-rows.ts';
import { pointOf, type BoardFacts, type MoodPoint } from './board-call.ts';

/** Judgements that are read of each call; the events of both parties are among them. */
const judgementsRead = 24;

type BoardReadOptions = {
  db: Kysely<Database>;
  rules: RuleSet;
  live: (id: string) => Call | undefined;
};

/** The newest running calls, at most so many, and how many there are in all. */
export async function runningCalls(
  db: Kysely<Database>,
  most: number,
): Promise<{ ids: string[]; of: number }> {
  const running = db.selectFrom('calls').where('state', '<>', 'ended');
  const rows = await running.select('id').orderBy('id', 'desc').limit(most).execute();
  if (rows.length < most) return { ids: rows.map(({ id }) => id), of: rows.length };
  const { count } = await running
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return { ids: rows.map(({ id }) => id), of: Number(count) };
}

/**
 * The facts of running calls. A call that has ended or is erased is left out. `isFirm` is false where events were
 * committed while its rows were read: the caller reads again.
 */
export async function boardFacts(
  { db, rules, live }: BoardReadOptions,
  ids: readonly string[],
): Promise<{ facts: BoardFacts; isFirm: boolean }[]> {
  if (ids.length === 0) return [];
  const before = await lastSequences(db, ids);
  const [items, rows, talk, lastTurns] = await Promise.all([
    callItems({ db, ids, live }),
    db.selectFrom('calls').selectAll().where('id', 'in', ids).execute(),
    talkOf(db, ids),
    turnsAtTheEnd(db, ids),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const read: BoardFacts[] = [];
  for (const item of items) {
    const row = byId.get(item.id);
    if (row === undefined || item.state === 'ended') continue;
    const [moods, hits] = await Promise.all([moodsOf(db, item.id), hitsOf(db, item.id)]);
    const done = hits.flatMap(({ key, did, isShadow }) =>
      isShadow ? [] : did.map((one) => ({ ...one, id: key })),
    );
    const last = lastTurns.get(item.id);
    read.push({
      item,
      zeroAt: row.zero_at ?? row.started_at,
      pausedAt: row.paused === 0 ? null : (row.paused_at ?? row.started_at),
      sequence: 0,
      alerts: done.filter((one) => one.kind === 'alert'),
      stepsDone: done.flatMap((one) =>
        one.kind === 'step' ? [`${one.checklist}.${one.step}`] : [],
      ),
      steps: new CallRules(rules, scopeOf(recordFrom(row))).checklists.flatMap(
        (list) =>
        list.steps.map(({ id, title, required }) => ({ key: `${list.id}.${id}`, title, isRequired: required })), // prettier-ignore
      ),
      moods,
      talk: talk.get(item.id) ?? { customer: 0, agent: 0 },
      spokeS: last?.end,
      said: last ?? null,
    });
  }
  const after = await lastSequences(db, ids);
  return read.map((facts) => {
    const { id } = facts.item;
    const sequence = after.get(id) ?? 0;
    return { facts: { ...facts, sequence }, isFirm: before.get(id) === after.get(id) };
  });
}

async function lastSequences(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('event_calls')
    .select(['call_id', 'last_sequence'])
    .where('call_id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.call_id, row.last_sequence]));
}

async function talkOf(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<Map<string, BoardFacts['talk']>> {
  const rows = await db
    .selectFrom('leg_results')
    .select(({ fn, eb }) => [
      'call_id',
      'role',
      fn.sum<number>(eb('end_s', '-', eb.ref('start_s'))).as('seconds'),
    ])
    .where('call_id', 'in', ids)
    .where('kind', '=', 'call.transcript')
    .groupBy(['call_id', 'role'])
    .execute();
  const talk = new Map<string, BoardFacts['talk']>();
  for (const { call_id, role, seconds } of rows) {
    const of = talk.get(call_id) ?? { customer: 0, agent: 0 };
    if (role === 'customer' || role === 'agent') of[role] = seconds;
    talk.set(call_id, of);
  }
  return talk;
}

type LastTurn = { role: Role; text: string; end: number };

async function turnsAtTheEnd(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<Map<string, LastTurn>> {
  const ends = db
    .selectFrom('leg_results')
    .select(({ fn }) => ['call_id', fn.max('end_s').as('end')])
    .where('call_id', 'in', ids)
    .where('kind', '=', 'call.transcript')
    .groupBy('call_id')
    .as('ends');
  const rows = await db
    .selectFrom('leg_results')
    .innerJoin(ends, (join) =>
      join
        .onRef('ends.call_id', '=', 'leg_results.call_id')
        .onRef('ends.end', '=', 'leg_results.end_s'),
    )
    .select(['leg_results.call_id', 'role', 'text', 'end_s'])
    .where('kind', '=', 'call.transcript')
    .execute();
  return new Map(
    rows.map(({ call_id, role, text, end_s }) => [
      call_id,
      { role: Role.safeParse(role).data ?? 'mixed', text, end: end_s },
    ]),
  );
}

/** The last judgements of the customer's mood, the oldest first. */
async function moodsOf(db: Kysely<Database>, callId: string): Promise<MoodPoint[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', '=', 'call.sentiment')
    .orderBy('sequence', 'desc')
    .limit(judgementsRead)
    .execute();
  return rows.toReversed().flatMap(({ body }) => {
    const event = JSON.parse(body) as Extract<CallEvent, { type: 'call.sentiment' }>;
    if (event.leg?.role !== 'customer') return [];
    return event.data.results.map(({ sentiment }) => pointOf(sentiment));
  });
}

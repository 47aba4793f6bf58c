import type { Kysely } from 'kysely';
import { z } from 'zod';
import { arrivalOf, type RuleInput } from '../../assist/rule-inputs.ts';
import type { CallEvent } from '../../protocol/events.ts';
import type { AssistMoment, Database } from '../../store/schema.ts';
import { utteranceIdOf } from '../records/timeline.ts';
import { HeardNote } from './arrivals.ts';
import { finite } from './call-rows.ts';

/** At most this many results of one call are heard again, and as many entities and other moments. */
const maxInputs = 20_000;

const Points = z.array(z.object({ sentiment: z.string() }));

/**
 * A call as the rules of playbooks hear it, in the order in which it came: finals and moods, what else the rules heard,
 * and entities as long as their events are kept. The rows of an older version do not say when it came.
 */
export async function callInputs(db: Kysely<Database>, callId: string): Promise<RuleInput[]> {
  const moments = await momentsOf(db, callId);
  const { said, entitiesHeard } = await saidInputs(db, callId, moments);
  const told = await toldInputs(db, callId, entitiesHeard, moments);
  // Entities come after the final that they stand in, as live.
  return [...said, ...told, ...moments.flatMap(momentInput)].toSorted((one, other) => arrivalOf(one) - arrivalOf(other)); // prettier-ignore
}

async function momentsOf(db: Kysely<Database>, callId: string): Promise<AssistMoment[]> {
  return db
    .selectFrom('assist_moments')
    .selectAll()
    .where('call_id', '=', callId)
    .orderBy('heard_ms')
    .limit(maxInputs)
    .execute();
}

function momentInput({ kind, heard_ms, at_ms, language }: AssistMoment): RuleInput[] {
  const [heard, end] = [heard_ms / 1_000, at_ms / 1_000];
  if (kind === 'blind') return [];
  if (kind === 'language') return [{ kind, heard, end, language: language ?? '' }];
  return [{ kind, heard, end }];
}

async function saidInputs(
  db: Kysely<Database>,
  callId: string,
  moments: readonly AssistMoment[],
): Promise<{ said: RuleInput[]; entitiesHeard: Map<string, number> }> {
  const rows = await db
    .selectFrom('leg_results')
    .select([
      'leg_id',
      'session_id',
      'key',
      'kind',
      'role',
      'start_s',
      'end_s',
      'text',
      'spoken',
      'heard',
    ]) // prettier-ignore
    .where('call_id', '=', callId)
    .where('kind', 'in', ['call.transcript', 'call.sentiment', 'call.entities'])
    .orderBy('end_s')
    // A final comes before what is said of it.
    .orderBy('kind', 'desc')
    .limit(maxInputs)
    .execute();
  const blind = new Set(moments.filter(({ kind }) => kind === 'blind').map(({ heard_ms }) => heard_ms)); // prettier-ignore
  const entitiesHeard = new Map<string, number>();
  const said = rows.flatMap((row): RuleInput[] => {
    const { role, text, leg_id: legId } = row;
    const [start, end] = [finite(row.start_s), finite(row.end_s)];
    const utteranceId = utteranceIdOf(legId, row.session_id, row.key);
    const arrival =
      row.heard === null ? undefined : HeardNote.safeParse(JSON.parse(row.heard)).data;
    const heard = arrival && arrival.ms / 1_000;
    const speech = (arrival?.speaking ?? []).map(([ms, atMs]): RuleInput => ({ kind: 'speaking', heard: ms / 1_000, end: atMs / 1_000 })); // prettier-ignore
    if (row.kind === 'call.entities') {
      if (heard !== undefined) entitiesHeard.set(utteranceId, heard);
      return speech;
    }
    if (row.kind === 'call.transcript') {
      const isBlind = arrival !== undefined && blind.has(arrival.ms);
      // As live: the wordings of a playbook are those of speech, and the text has its numbers in figures.
      const final = { utteranceId, legId, role, start, end, text: row.spoken ?? text };
      return [...speech, { kind: 'final', heard, isBlind, ...final }];
    }
    const points = Points.safeParse(JSON.parse(text)).data ?? [];
    const moods = points.map(({ sentiment }): RuleInput => ({ kind: 'sentiment', heard, role, end, sentiment, utteranceId })); // prettier-ignore
    return [...speech, ...moods];
  });
  return { said, entitiesHeard };
}

type ToldEvent = Extract<CallEvent, { type: 'call.entities' | 'call.dtmf' }>;

/** Entities, and the key presses of older versions. */
async function toldInputs(
  db: Kysely<Database>,
  callId: string,
  entitiesHeard: ReadonlyMap<string, number>,
  moments: readonly AssistMoment[],
): Promise<RuleInput[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', 'in', ['call.entities', 'call.dtmf'])
    .orderBy('sequence')
    .limit(maxInputs)
    .execute();
  const pressed = new Set(moments.filter(({ kind }) => kind === 'dtmf').map(({ at_ms }) => at_ms));
  return rows.flatMap(({ body }): RuleInput[] => {
    const event = JSON.parse(body) as ToldEvent;
    if (event.type === 'call.dtmf') {
      const { at: end } = event.data;
      return pressed.has(Math.round(end * 1_000)) ? [] : [{ kind: 'dtmf', end }];
    }
    const { utterance_id: utteranceId, results } = event.data;
    const { role = 'mixed' } = event.leg ?? {};
    const heard = entitiesHeard.get(utteranceId);
    return results.map(({ entity_type: type, start, end }) => ({ kind: 'entity', heard, role, start, end, type, utteranceId })); // prettier-ignore
  });
}

import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { RuleInput } from '../../assist/trial.ts';
import type { CallEvent } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { utteranceIdOf } from '../records/timeline.ts';
import { finite } from './call-rows.ts';

/** At most this many finals and sentiments of one call are heard again, and as many entities and key presses. */
const maxInputs = 20_000;

const Points = z.array(z.object({ sentiment: z.string() }));

/**
 * A call as the rules of playbooks hear it, in order of time: finals and moods, and entities and key presses as long as
 * their events are kept.
 */
export async function callInputs(db: Kysely<Database>, callId: string): Promise<RuleInput[]> {
  const [said, told] = [await saidInputs(db, callId), await toldInputs(db, callId)];
  // Entities come after the final that they stand in, as live.
  return [...said, ...told].toSorted((one, other) => one.end - other.end);
}

async function saidInputs(db: Kysely<Database>, callId: string): Promise<RuleInput[]> {
  const rows = await db
    .selectFrom('leg_results')
    .select(['leg_id', 'session_id', 'key', 'kind', 'role', 'start_s', 'end_s', 'text', 'spoken'])
    .where('call_id', '=', callId)
    .where('kind', 'in', ['call.transcript', 'call.sentiment'])
    .orderBy('end_s')
    // A final comes before what is said of it.
    .orderBy('kind', 'desc')
    .limit(maxInputs)
    .execute();
  return rows.flatMap((row): RuleInput[] => {
    const { role, text, leg_id: legId } = row;
    const [start, end] = [finite(row.start_s), finite(row.end_s)];
    const utteranceId = utteranceIdOf(legId, row.session_id, row.key);
    if (row.kind === 'call.transcript')
      // As live: the wordings of a playbook are those of speech, and the text has its numbers in figures.
      return [{ kind: 'final', utteranceId, legId, role, start, end, text: row.spoken ?? text }];
    const points = Points.safeParse(JSON.parse(text));
    return (points.data ?? []).map(({ sentiment }) => ({
      kind: 'sentiment',
      role,
      end,
      sentiment,
    }));
  });
}

type ToldEvent = Extract<CallEvent, { type: 'call.entities' | 'call.dtmf' }>;

async function toldInputs(db: Kysely<Database>, callId: string): Promise<RuleInput[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', 'in', ['call.entities', 'call.dtmf'])
    .orderBy('sequence')
    .limit(maxInputs)
    .execute();
  return rows.flatMap(({ body }): RuleInput[] => {
    const event = JSON.parse(body) as ToldEvent;
    if (event.type === 'call.dtmf') return [{ kind: 'dtmf', end: event.data.at }];
    const { utterance_id: utteranceId, results } = event.data;
    const { role = 'mixed' } = event.leg ?? {};
    return results.map(({ entity_type: type, start, end }) => ({ kind: 'entity', role, start, end, type, utteranceId })); // prettier-ignore
  });
}

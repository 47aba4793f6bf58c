import type { Transaction } from 'kysely';
import { z } from 'zod';
import { parseJson } from '../../lib/json.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { insertKeys, tagKey, type CallKey } from '../events/call-keys.ts';
import { entityKeys, ruleKeys } from '../events/content-keys.ts';

/** Facts that every call has by itself; a filter finds them. */
const ownNames = new Set(['call_id', 'carrier', 'carrier_call_id', 'direction', 'from', 'to', 'started_at']); // prettier-ignore
/** The fields of a record that hold words. */
const recordNames = new Set(['text', 'what', 'value', 'disposition']);
const Entities = z.object({
  data: z.object({ entities: z.array(z.object({ entity_type: z.string(), text: z.string() }).loose()) }), // prettier-ignore
});

type EarlierCall = {
  id: string;
  tags: string | null;
  custom_metadata: string;
  summary: string | null;
};

/** Words that stand beside a call, in the form of a row of `said`. */
export type WrittenText = { kind: 'wrap-up' | 'tag' | 'parameter'; text: string };

/**
 * The wrap-up, tags and parameters of a call from before they were searchable. Those that are in the search by now are
 * left out. Keys for the filters by mood, entity, disposition and rule are stored, too.
 */
export async function writtenOf(
  tx: Transaction<Database>,
  kind: Store['kind'],
  call: EarlierCall,
): Promise<WrittenText[]> {
  let wrapUp = tx.selectFrom('wrap_ups').select('record').where('call_id', '=', call.id);
  if (kind === 'postgres') wrapUp = wrapUp.forShare();
  const record = parsed((await wrapUp.executeTakeFirst())?.record ?? null);
  await insertKeys(tx, call.id, [
    ...moodKeys(call),
    ...textsBelow(record, (name) => name === 'disposition').map(ofKind('disposition')),
    ...(await rulesOf(tx, call.id)),
    ...(await entitiesOf(tx, call.id)).map((key) => ({ kind: 'entity' as const, key })),
  ]);
  const known = await tx.selectFrom('said').select('kind').distinct().where('call_id', '=', call.id).execute(); // prettier-ignore
  const texts: WrittenText[] = [
    { kind: 'wrap-up', text: textsBelow(record, (name) => recordNames.has(name)).join(' · ') },
    { kind: 'tag', text: textsBelow(parsed(call.tags), () => true).join(' · ') },
    { kind: 'parameter', text: textsBelow(parsed(call.custom_metadata), (name) => !ownNames.has(name)).join(' · ') }, // prettier-ignore
  ];
  return texts.filter((one) => one.text !== '' && !known.some((row) => row.kind === one.kind));
}

function moodKeys({ summary }: EarlierCall): CallKey[] {
  const { mood } = z.object({ mood: z.string() }).safeParse(parsed(summary)).data ?? {};
  return mood === undefined || mood === 'unknown' ? [] : [{ kind: 'mood', key: mood }];
}

async function rulesOf(tx: Transaction<Database>, callId: string): Promise<CallKey[]> {
  const rows = await tx.selectFrom('assist_hits').select('rule').distinct().where('call_id', '=', callId).execute(); // prettier-ignore
  return rows.flatMap(({ rule: name }) => {
    const [playbook = '', rule = ''] = name.split(/\/(.*)/s);
    return ruleKeys({ playbook, rule });
  });
}

/** They stand in the call's last event about them, as long as events are kept. */
async function entitiesOf(tx: Transaction<Database>, callId: string): Promise<string[]> {
  const row = await tx
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', 'in', ['call.completed', 'call.transcript.revised'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  return entityKeys(Entities.safeParse(parsed(row?.body ?? null)).data?.data.entities ?? []);
}

function ofKind(kind: CallKey['kind']) {
  return (text: string): CallKey => ({ kind, key: tagKey(text) });
}

/** The texts and numbers in a value, if the name of their field is meant. An outcome is a kind, not words. */
function textsBelow(value: unknown, isMeant: (name: string) => boolean, name = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => textsBelow(one, isMeant, name));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, one]) =>
      key === 'outcome' ? [] : textsBelow(one, isMeant, key),
    );
  if (value === null || value === undefined || !isMeant(name)) return [];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? [String(value)]
    : [];
}

/** A text of a version that wrote another form has no words for the search. */
function parsed(text: string | null): unknown {
  return text === null ? undefined : parseJson(text);
}

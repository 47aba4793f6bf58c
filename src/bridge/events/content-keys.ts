import type { Transaction } from 'kysely';
import { insertHit } from '../../assist/hit-rows.ts';
import type { Hit } from '../../assist/hits.ts';
import type { CallEventData } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { insertKeys, longestParty, replaceKeys, tagKey, type CallKey } from './call-keys.ts';

/** At most this many entities of a call can be searched for. */
const maxEntities = 200;

/** The keys of what was named in a call: each type, and each type with its value. */
export function entityKeys(
  entities: readonly { entity_type: string; text: string; value?: unknown }[],
): string[] {
  const keys = new Set<string>();
  for (const { entity_type: type, text, value } of entities) {
    if (keys.size >= maxEntities) break;
    const told = typeof value === 'string' ? [text, value] : [text];
    for (const name of [type, ...told.map((one) => `${type}:${one.trim()}`)])
      keys.add(tagKey(name).slice(0, longestParty));
  }
  return [...keys];
}

/** The keys of a rule that fired: people know it by its name, with its playbook or without. */
export function ruleKeys({ playbook, rule }: { playbook: string; rule: string }): CallKey[] {
  return [`${playbook}/${rule}`, rule].map((name) => ({ kind: 'rule', key: tagKey(name) }));
}

/** Makes an ended call findable by its mood, and by what was named in it. */
export async function keepContentKeys(
  tx: Transaction<Database>,
  callId: string,
  { sentiment, entities }: Pick<CallEventData<'call.completed'>, 'sentiment' | 'entities'>,
): Promise<void> {
  await replaceKeys(tx, callId, 'mood', sentiment === 'unknown' ? [] : [sentiment]);
  await replaceKeys(tx, callId, 'entity', entityKeys(entities));
}

/** Stores a hit, and makes its call findable by its rule. Returns false if the hit was stored before. */
export async function insertFoundHit(
  tx: Transaction<Database>,
  callId: string,
  hit: Hit,
): Promise<boolean> {
  const isNew = await insertHit(tx, callId, hit);
  if (isNew) await insertKeys(tx, callId, ruleKeys(hit));
  return isNew;
}

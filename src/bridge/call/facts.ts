import type { Kysely } from 'kysely';
import type { Database } from '../../store/schema.ts';
import type { CallFacts, ReadFacts } from '../streams.ts';
import { metadataLimit, legKeysReserve, type CallRecord } from '../records/call-record.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';

/** At most this many callbacks of one call are read for facts. A call has a handful of them. */
const statusesRead = 200;

/**
 * Collects the facts that the carrier's callbacks have given about this call so far, on any node. Callbacks come
 * before, during and after the stream. The first value of each fact is kept, because later ones may be about a call
 * that was transferred.
 */
export async function toldFacts(
  db: Kysely<Database>,
  { carrier, carrierCallId }: Pick<CallRecord, 'carrier' | 'carrierCallId'>,
  factsOf: ReadFacts,
): Promise<CallFacts> {
  const rows = await db
    .selectFrom('call_statuses')
    .select('status')
    .where('carrier', '=', carrier)
    .where('carrier_call_id', '=', carrierCallId)
    .orderBy('received_at')
    .limit(statusesRead)
    .execute();
  let facts: CallFacts = {};
  for (const { status } of rows) {
    const fields = JSON.parse(status) as Record<string, string>;
    facts = { ...factsOf({ carrier, carrierCallId, status: fields }), ...facts };
  }
  return facts;
}

type KnownFacts = Pick<CallRecord, 'from' | 'to' | 'direction' | 'metadata'>;

/**
 * The facts that are new to the call, or undefined if there are none. Values from its stream are never changed. Pure.
 */
export function learnt(known: KnownFacts, facts: CallFacts): KnownFacts | undefined {
  const from = known.from ?? facts.from;
  const to = known.to ?? facts.to;
  const direction = known.direction ?? facts.direction;
  if (from === known.from && to === known.to && direction === known.direction) return undefined;
  const metadata = {
    ...known.metadata,
    ...withoutUndefined({ direction, from, to }),
  };
  const fits = JSON.stringify(metadata).length <= metadataLimit - legKeysReserve;
  return { from, to, direction, metadata: fits ? metadata : known.metadata };
}

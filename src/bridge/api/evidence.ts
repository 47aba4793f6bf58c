import type { Kysely } from 'kysely';
import type { Database } from '../../store/schema.ts';
import type { Cadence, CallDiagnostics } from '../../protocol/api.ts';
import type { Call } from '../call/call.ts';

/** What `trunkline doctor` looks at beside the call itself and its events. */
export async function evidenceOf(
  db: Kysely<Database>,
  callId: string,
  live: Call | undefined,
): Promise<CallDiagnostics | undefined> {
  const call = await db
    .selectFrom('calls')
    .select(['zero_at', 'hung_up_at'])
    .where('id', '=', callId)
    .executeTakeFirst();
  if (call === undefined) return undefined;
  const [streams, sessions, legs] = await Promise.all([
    db.selectFrom('streams').selectAll().where('call_id', '=', callId).orderBy('id').execute(),
    db
      .selectFrom('leg_sessions')
      .selectAll()
      .where('call_id', '=', callId)
      .orderBy('opened_at')
      .execute(),
    db.selectFrom('legs').selectAll().where('call_id', '=', callId).orderBy('id').execute(),
  ]);
  return {
    zero_at: iso(call.zero_at),
    hung_up_at: iso(call.hung_up_at),
    streams: streams.map((stream) => ({
      carrier_stream_id: stream.carrier_stream_id,
      opened_at: new Date(stream.opened_at).toISOString(),
      closed_at: iso(stream.closed_at),
      closed_by: stream.end_reason,
    })),
    sessions: sessions.map((session) => ({
      id: session.id,
      leg_id: session.leg_id,
      offset_s: session.offset_s,
      opened_at: new Date(session.opened_at).toISOString(),
    })),
    legs: legs.map((row) => {
      const leg = live?.legs.find((open) => open.record.id === row.id);
      const stored = row.cadence === null ? null : (JSON.parse(row.cadence) as Cadence);
      return {
        id: row.id,
        reconnects: leg?.reconnects ?? row.reconnects,
        cadence: leg?.cadence() ?? stored,
      };
    }),
  };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

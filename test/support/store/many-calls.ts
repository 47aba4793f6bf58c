import { partyKey, tagKey, type CallKey } from '../../../src/bridge/events/call-keys.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Store } from '../../../src/store/store.ts';

/** The number of rows per statement. SQLite accepts some thousand values. */
const batch = 500;

export type StoredCall = { id: string; from: string; durationMs: number; carrier: string };

/**
 * A year of ended calls, a few minutes apart, as of an installation with one number: thousands of callers, two
 * carriers, one call in a hundred incomplete, one in a hundred with a tag, some without words of the agent.
 */
export async function storeCalls(
  store: Store,
  count: number,
  { from = Date.UTC(2025, 0, 1), everyMs = 300_000, first = 0 } = {},
): Promise<StoredCall[]> {
  const calls = Array.from({ length: count }, (_, on) => {
    const at = first + on;
    const startedAt = from + at * everyMs;
    return {
      id: newId('call', startedAt),
      from: `+1555${String((at * 7_919) % 10_000_000).padStart(7, '0')}`,
      to: '+442079460018',
      durationMs: ((at * 104_729) % 600_000) + 1_000,
      carrier: at % 3 === 0 ? 'telnyx' : 'twilio',
      startedAt,
      at,
    };
  });
  for (let at = 0; at < count; at += batch)
    await store.transaction(async (tx) => {
      const some = calls.slice(at, at + batch);
      await tx
        .insertInto('calls')
        .values(
          some.map((call) => ({
            id: call.id,
            node: 'node-1',
            carrier: call.carrier,
            carrier_call_id: `CA${call.at}`,
            state: 'ended' as const,
            direction: call.at % 5 === 0 ? 'outbound' : 'inbound',
            from_number: call.from,
            to_number: call.to,
            started_at: call.startedAt,
            zero_at: call.startedAt,
            hung_up_at: call.startedAt + call.durationMs,
            ended_at: call.startedAt + call.durationMs + 500,
            end_reason: 'stop',
            custom_metadata: JSON.stringify({ call_id: call.id, crmCase: `C-${call.at}` }),
            overrides: '{}',
            warnings: '[]',
            counts: '{}',
            paused: 0,
            statistics: JSON.stringify({
              duration: call.durationMs / 1_000,
              filler: 'x'.repeat(600),
            }),
            incomplete: call.at % 100 === 0 ? JSON.stringify({ seconds: 1, causes: [] }) : null,
            summary_due: 0,
            has_recording: 1,
            recover_tries: 0,
            said_by: rolesOf(call).join(' '),
            last_turn: JSON.stringify({ role: 'agent', text: 'Thank you for calling. Goodbye.' }),
            tags: call.at % 100 === 1 ? '["Refund"]' : null,
            duration_ms: call.durationMs,
          })),
        )
        .execute();
      await tx
        .insertInto('legs')
        .values(some.map((call) => legRow(call.id, call.startedAt, call.durationMs)))
        .execute();
      await tx
        .insertInto('leg_results')
        .values(
          some.flatMap((call) =>
            rolesOf(call).map((role, turn) => ({
              leg_id: `leg${call.id}`,
              session_id: 'session',
              kind: 'call.transcript',
              key: `${turn}`,
              call_id: call.id,
              role,
              start_s: turn,
              end_s: turn + 0.9,
              text: 'Thank you for calling. Goodbye.',
            })),
          ),
        )
        .execute();
      const keys = some.flatMap((call) =>
        keysOf(call).map(({ kind, key }) => ({ call_id: call.id, kind, key })),
      );
      await tx.insertInto('call_keys').values(keys).execute();
    });
  return calls;
}

const rolesOf = ({ at }: { at: number }): string[] =>
  at % 50 === 0 ? ['customer'] : ['agent', 'customer'];

function keysOf(call: { from: string; to: string; at: number }): CallKey[] {
  const parties = [call.from, call.to].flatMap((party) => partyKey(party) ?? []);
  return call.at % 100 === 1 ? [...parties, { kind: 'tag', key: tagKey('Refund') }] : parties;
}

function legRow(callId: string, startedAt: number, durationMs: number) {
  const received = durationMs * 8;
  return {
    id: `leg${callId}`,
    call_id: callId,
    role: 'customer',
    track: 'inbound',
    encoding: 'mulaw',
    sample_rate: 8_000,
    channels: 1,
    offset_ms: 0,
    started_at: startedAt,
    state: 'done' as const,
    received,
    acknowledged: received,
    gaps: 0,
    paused: 0,
    filler: 0,
    reconnects: 0,
  };
}

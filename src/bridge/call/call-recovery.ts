import type { Logger } from '../../lib/log.ts';
import {
  legRecordFrom,
  legsOf,
  recordFrom,
  toldUntilOf,
  type CallRow,
} from '../events/call-rows.ts';
import { leftLeg } from './call-leg.ts';
import { lengthOf } from './length.ts';
import { recoveredLive, type CallState } from './call-state.ts';
import type { Call } from './call.ts';
import type { Calls } from './calls.ts';
import type { LeftResults } from '../events/held-results.ts';
import { bridgeMetrics } from '../metrics.ts';
import type { EndReason } from '../../protocol/events.ts';

/**
 * After this many failed attempts to restore a call, it is set aside, so that one bad row cannot make every start fail.
 */
export const triesLimit = 3;

/**
 * Runs after a start: every unfinished call of this node continues from its rows and journals. Calls that were live
 * wait for their stream; the others finish their legs and declare their end.
 */
export async function recoverCalls(
  calls: Calls,
  node: string,
  log: Logger,
): Promise<{ recovered: number; setAside: number }> {
  const { store } = calls.environment;
  const rows = await store.db
    .selectFrom('calls')
    .selectAll()
    .where('node', '=', node)
    .where((where) => where.or([where('state', '<>', 'ended'), where('summary_due', '=', 1)]))
    .orderBy('id')
    .execute();
  const waiting = rows.filter((row) => row.recover_tries < triesLimit);
  const setAside = rows.length - waiting.length;
  if (setAside > 0) {
    bridgeMetrics.setAside.inc(setAside);
    log.error(
      { calls: rows.filter((row) => row.recover_tries >= triesLimit).map((row) => row.id) },
      'calls were set aside: their rows could not be read',
    );
  }
  if (waiting.length === 0) return { recovered: 0, setAside };
  // The attempt is counted before it is made, so that a row that crashes the process counts as well.
  const ids = waiting.map((row) => row.id);
  await store.db
    .updateTable('calls')
    .set((eb) => ({ recover_tries: eb('recover_tries', '+', 1) }))
    .where('id', 'in', ids)
    .execute();
  const taken: Call[] = [];
  for (const row of waiting) {
    try {
      taken.push(await recoverCall(calls, row));
    } catch (error) {
      log.error(
        { err: error, callId: row.id },
        'a call could not be continued after the restart; its audio is kept, and the next start tries again',
      );
    }
  }
  const takenIds = taken.map((call) => call.record.id);
  if (takenIds.length > 0)
    await store.db
      .updateTable('calls')
      .set({ recover_tries: 0 })
      .where('id', 'in', takenIds)
      .execute();
  for (const call of taken) call.goOn();
  return { recovered: taken.length, setAside };
}

/**
 * Removes legs from this disk's journal whose call another node took over while this one was away. That node has
 * declared their missing audio, and nothing here sends it any more.
 */
export async function leaveTakenLegs(calls: Calls, log: Logger): Promise<void> {
  const { store, journal, node } = calls.environment;
  const callIds = new Set([...journal.recovered.values()].map(({ callId }) => callId));
  if (callIds.size === 0) return;
  const elsewhere = await store.db
    .selectFrom('calls')
    .select('id')
    .where('id', 'in', [...callIds])
    .where('node', '<>', node)
    .execute();
  const taken = new Set(elsewhere.map(({ id }) => id));
  const legs = [...journal.recovered.values()].filter(({ callId }) => taken.has(callId));
  for (const { legId } of legs) await journal.erase(legId);
  if (legs.length > 0)
    log.warn({ calls: taken.size }, 'other nodes took calls of this one over while it was away');
}

async function recoverCall(calls: Calls, row: CallRow): Promise<Call> {
  const env = calls.environment;
  const legs = await legsOf(env.store.db, row.id);
  // A leg that is not in the journal has no unsent audio. It is opened only if a stream may come back.
  const open = legs.filter(
    (leg) => leg.state === 'open' && (row.state === 'live' || env.journal.recovered.has(leg.id)),
  );
  const call = calls.newCall(
    recordFrom(row),
    stateFrom(row, new Set(open.map((leg) => leg.id)), env.clock.now()),
    row.fence,
  );
  call.restore({
    pausedBy: row.paused,
    pausedAt: row.paused_at ?? 0,
    zeroAgoMs: row.zero_at === null ? undefined : Math.max(0, env.clock.now() - row.zero_at),
  });
  call.events.knowLength(row.state === 'live' ? undefined : lengthOf(row, legs));
  if (row.state !== 'ended') await call.events.assistance.restore(env.store.db);
  if (row.state !== 'ended') {
    const left: LeftResults[] = [];
    const told = await toldUntilOf(env.store.db, row.id);
    for (const record of open) {
      const recovered = env.journal.recovered.get(record.id);
      const about = legRecordFrom(record, env.config.stereoRoles);
      const leg = call.openLeg(
        about,
        leftLeg(about, { recovered, offsetMs: record.offset_ms, untilS: told.get(record.id) }),
      );
      const waiting = recovered?.snapshot.waiting;
      if (waiting !== undefined) left.push({ leg, waiting });
    }
    call.events.restoreResults(left);
  }
  calls.adopt(call);
  return call;
}

/** Derives the state of a call after its process ended. `now` is read from the same clock as the times in the row. */
export function stateFrom(row: CallRow, openLegs: ReadonlySet<string>, now: number): CallState {
  if (row.state === 'live') return recoveredLive(now);
  if (row.state === 'ended') return { at: 'ended' };
  const hungUp = {
    reason: (row.end_reason ?? 'restart') as EndReason,
    hungUpAt: row.hung_up_at ?? now,
    deadline: null,
  };
  return openLegs.size > 0
    ? { at: 'finishing', ...hungUp, legs: openLegs }
    : { at: 'ending', ...hungUp };
}

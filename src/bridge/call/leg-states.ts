import { sql, type Kysely } from 'kysely';
import { within, type Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { CallLease } from '../records/lease.ts';
import type { SharedLegState } from '../leg/after-loss.ts';

/**
 * Leg states are shared at this interval and with each commit of the call. If a node is lost, at most this much of its
 * knowledge becomes a gap.
 */
const shareEveryMs = 1_000;
const rowsPerStatement = 200;

type SharingCall = {
  readonly record: { readonly id: string };
  readonly lease: CallLease;
  readonly legs: readonly {
    /** The last state of this leg that was shared. */
    shared: string | undefined;
    readonly audio: { readonly legId: string; sharedState(): SharedLegState | undefined };
  }[];
};

/**
 * Writes the state of each leg to the database, for the nodes that may take over its call. Only legs that changed are
 * written, and only legs of calls that this node owns: a node that was declared lost must not overwrite the state of
 * its successor.
 */
export async function shareLegs(
  db: Kysely<Database>,
  calls: readonly SharingCall[],
): Promise<void> {
  const changed = changedLegs(calls);
  for (let at = 0; at < changed.length; at += rowsPerStatement) {
    const some = changed.slice(at, at + rowsPerStatement);
    const rows = some.map(
      ({ call: { record, lease }, leg, state }) =>
        sql`(${leg.audio.legId}::text, ${record.id}::text, ${state}::text, ${lease.node}::text, ${lease.fence}::bigint)`,
    );
    await sql`
      insert into leg_states (leg_id, call_id, state)
      select mine.leg_id, mine.call_id, mine.state
      from (values ${sql.join(rows)}) as mine (leg_id, call_id, state, node, fence)
      join calls on calls.id = mine.call_id and calls.node = mine.node
        and calls.fence = mine.fence and calls.state <> 'ended'
      on conflict (leg_id) do update set state = excluded.state`.execute(db);
    // A transaction may still be rolled back, so legs that are shared in one are shared again in the next round.
    if (!db.isTransaction) for (const { leg, state } of some) leg.shared = state;
  }
}

function changedLegs(calls: readonly SharingCall[]) {
  return calls.flatMap((call) =>
    call.legs.flatMap((leg) => {
      const shared = leg.audio.sharedState();
      const state = shared && JSON.stringify(shared);
      return state === undefined || state === leg.shared ? [] : [{ call, leg, state }];
    }),
  );
}

type LegStatesOptions = {
  calls: { readonly all: readonly SharingCall[] };
  store: Store;
  clock: Clock;
  log: Logger;
};

/**
 * Shares the legs of all calls every second. While the database is unreachable nothing queues up: the next round
 * writes the state of that moment.
 */
export class LegStates implements AsyncDisposable {
  readonly #options: LegStatesOptions;
  readonly #shares: Loop;

  constructor(options: LegStatesOptions) {
    this.#options = options;
    const { calls, store, clock, log } = options;
    this.#shares = every(clock, shareEveryMs, () => shareLegs(store.db, calls.all), {
      failed: (error) => log.warn({ err: error }, 'the state of legs could not be shared'),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await within(this.#options.clock, maxDatabaseWaitMs, this.#shares.stop());
  }
}

import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Membership } from '../../nodes/membership.ts';
import type { Store } from '../../store/store.ts';
import type { Calls } from './calls.ts';
import { shareLegs } from './leg-states.ts';

/** What has been sent to the speech service is acknowledged within this time; what is not then becomes a gap. */
const acknowledgedWithinMs = 2_000;
/** The others look five times in the time after which a node counts as lost. Our own speech service waits for them. */
const takenWithinMs = 6_000;
const lookMs = 100;

type HandOver = {
  calls: Calls;
  store: Store;
  nodes: Membership;
  clock: Clock;
  log: Logger;
};

/**
 * The process stops and other nodes are there: the calls that are left, whose streams look for a new door, go on at those
 * at once. Nothing more comes here, so that all audio is acknowledged in a moment, and the others begin where it ends.
 */
export async function handOverCalls({ calls, store, nodes, clock, log }: HandOver): Promise<void> {
  const left = calls.all;
  if (left.length > 0) {
    const settledMs = clock.monotonicMs() + acknowledgedWithinMs;
    const isUnderWay = (): boolean =>
      left.some(({ legs }) => legs.some(({ audio }) => audio.underWay > 0));
    while (isUnderWay() && clock.monotonicMs() < settledMs) await wait(clock, lookMs);
    await shareLegs(store.db, left);
    await calls.leave();
  }
  await nodes.leaveCalls();
  const untilMs = clock.monotonicMs() + takenWithinMs;
  let waiting = await waitingOf(store, nodes.node);
  while (waiting > 0 && clock.monotonicMs() < untilMs) {
    await wait(clock, lookMs);
    waiting = await waitingOf(store, nodes.node);
  }
  if (left.length > 0)
    log.info({ calls: left.length, waiting }, 'calls were handed over to the other nodes');
}

async function waitingOf(store: Store, node: string): Promise<number> {
  const { count } = await store.db
    .selectFrom('calls')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('node', '=', node)
    .where((where) => where.or([where('state', '<>', 'ended'), where('summary_due', '=', 1)]))
    .executeTakeFirstOrThrow();
  return count;
}

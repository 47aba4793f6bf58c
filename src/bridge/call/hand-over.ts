import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Membership } from '../../nodes/membership.ts';
import type { Store } from '../../store/store.ts';
import type { Calls } from './calls.ts';
import { shareLegs } from './leg-states.ts';

/**
 * The speech service acknowledges sent audio within this time. Audio that is not acknowledged by then becomes a gap.
 */
const acknowledgedWithinMs = 2_000;
/**
 * Other nodes check for our calls five times within the period after which a node counts as lost. Our own speech
 * service keeps running for them that long.
 */
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
 * Hands this node's remaining calls to other nodes when the process stops. A call continues there as soon
 * as its stream reconnects. No more audio arrives here, so all of it is soon acknowledged. The other nodes begin behind
 * the last acknowledged byte.
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

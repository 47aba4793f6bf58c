import type { LostNode, Membership } from '../../nodes/membership.ts';
import type { Recordings } from '../recordings/recordings.ts';
import type { Calls } from './calls.ts';
import { LegStates } from './leg-states.ts';
import { leaveTakenLegs, recoverCalls } from './call-recovery.ts';
import { takeOverCalls } from './take-over.ts';

type GoOnOptions = {
  opened: AsyncDisposableStack;
  calls: Calls;
  recordings: Recordings;
  secondPasses: { takeOver(lost: readonly LostNode[]): Promise<void> };
  nodes?: Membership | undefined;
  node: string;
};

/** Runs after a start: continues this node's unfinished calls, and from then on takes over calls of lost nodes. */
export async function goOnWithCalls({
  opened,
  calls,
  recordings,
  secondPasses,
  nodes,
  node,
}: GoOnOptions): Promise<{ setAside: number }> {
  const { store, clock, log } = calls.environment;
  const { recovered, setAside } = await recoverCalls(calls, node, log);
  if (recovered > 0) log.info({ recovered }, 'unfinished calls go on');
  if (!nodes?.isFleet) return { setAside };
  await leaveTakenLegs(calls, log);
  const erased = opened.use(recordings.watchErased());
  // Erasures are applied before the first request is served, so that an erased recording cannot be played here.
  await erased.look();
  opened.use(new LegStates({ calls, store, clock, log }));
  nodes.attach({
    legs: () => calls.legCount,
    takeOver: async (lost) => {
      await takeOverCalls({ calls, lost, aheadMs: nodes.aheadMs, log });
      await secondPasses.takeOver(lost);
    },
    wasGivenUp: async () => {
      await calls.checkLeases();
      await erased.look();
    },
  });
  return { setAside };
}

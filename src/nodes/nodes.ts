import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Part } from '../port/part.ts';
import type { Store } from '../store/store.ts';
import type { NodesConfig } from './config.ts';
import { NodeLink } from './link.ts';
import { Membership } from './membership.ts';
import { nodesApi } from './nodes-api.ts';

type NodesOptions = {
  config: NodesConfig;
  store: Store;
  clock: Clock;
  log: Logger;
  node: string;
  roles: readonly string[];
  capacity: number;
};

export type NodesPart = Part &
  AsyncDisposable & {
    readonly membership: Membership;
    /** The port for the other nodes; undefined if it is not open. */
    readonly link: NodeLink | undefined;
  };

/** Starts this process as one of the nodes of its database, even if it is the only one. */
export async function startNodes({ config, ...options }: NodesOptions): Promise<NodesPart> {
  await using opened = new AsyncDisposableStack();
  const { url, key } = config;
  // The port opens before the row is written, because the row names the port.
  const link =
    url === undefined || key === undefined
      ? undefined
      : opened.use(
          await NodeLink.open({
            config: { ...config, url, key },
            clock: options.clock,
            log: options.log,
          }),
        );
  const { silentMs } = config;
  const membership = opened.use(
    await Membership.join({ ...options, silentMs, address: link?.url }),
  );
  const stack = opened.move();
  return {
    name: 'nodes',
    membership,
    link,
    routers: [{ access: 'operator', router: nodesApi(membership) }],
    leaving: () => membership.drain(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

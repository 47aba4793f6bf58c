import type { Part } from '../port/part.ts';
import { nodesApi } from './nodes-api.ts';
import { Membership, type MembershipOptions } from './membership.ts';

export type NodesPart = Part & AsyncDisposable & { readonly membership: Membership };

/** This process as one of several nodes of one database; alone it is the only one. */
export async function startNodes(options: MembershipOptions): Promise<NodesPart> {
  const membership = await Membership.join(options);
  return {
    name: 'nodes',
    membership,
    routers: [{ access: 'operator', router: nodesApi(membership) }],
    drain: () => {
      membership.drain();
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => membership[Symbol.asyncDispose](),
  };
}

import { Router, type Request, type RequestHandler, type Response } from 'express';
import { byTokenHeader } from '../../nodes/link.ts';
import { isByToken } from '../../port/keys.ts';
import { Problem } from '../../port/problem.ts';
import type { Store } from '../../store/store.ts';

const readWithinMs = 2_000;
const changeWithinMs = 15_000;

type OwnerOptions = {
  store: Store;
  node: string;
  /** The address of a running node. Undefined if it is not running. */
  addressOf: (node: string) => Promise<string | undefined>;
  /** Forwards a request. Returns false if that node did not begin to answer in time. */
  forward: (
    address: string,
    request: Request,
    response: Response,
    withinMs: number,
  ) => Promise<boolean>;
  /** True if every node can read the recording from the object store. */
  isInStore: (callId: string) => Promise<boolean>;
};

/**
 * Forwards requests that only the node with the call can answer: they need data in its memory during the call, or its
 * recording. If that node is down, the request is answered here from the rows.
 */
export function toOwner({ store, node, addressOf, forward, isInStore }: OwnerOptions): Router {
  const router = Router();
  /** Returns true if the request was answered. */
  const isPassedOn = async (
    request: Request<{ id: string }>,
    response: Response,
    needsDisk: boolean,
  ): Promise<boolean> => {
    const row = await store.db
      .selectFrom('calls')
      .select(['node', 'state'])
      .where('id', '=', request.params.id)
      .executeTakeFirst();
    if (row === undefined || row.node === node || (row.state === 'ended' && !needsDisk))
      return false;
    const isRead = needsDisk && request.method === 'GET';
    if (isRead && (await isInStore(request.params.id))) return false;
    const address = await addressOf(row.node);
    if (address === undefined) return false;
    if (isByToken(response)) request.headers[byTokenHeader] = 'yes';
    const withinMs = request.method === 'GET' ? readWithinMs : changeWithinMs;
    if (await forward(address, request, response, withinMs)) return true;
    if (response.destroyed) return true;
    // For a read, the rows are better than no answer. A change is not answered here, because nobody has carried it out.
    if (request.method === 'GET' && !needsDisk) return false;
    throw new Problem(503, 'the node that has this call does not answer: try again', {
      headers: { 'retry-after': '5' },
    });
  };
  const pass =
    (needsDisk: boolean): RequestHandler<{ id: string }> =>
    async (request, response, next) => {
      if (!(await isPassedOn(request, response, needsDisk))) next();
    };
  router.get('/api/calls/:id', pass(false));
  router.get('/api/calls/:id/evidence', pass(false));
  router.get('/api/calls/:id/live', pass(false));
  router.post('/api/calls/:id/pause', pass(false));
  router.post('/api/calls/:id/resume', pass(false));
  router.post('/api/calls/:id/expect', pass(false));
  router.put('/api/calls/:id/agent', pass(false));
  router.delete('/api/calls/:id/agent', pass(false));
  router.get('/api/calls/:id/recording', pass(true));
  router.post('/api/calls/:id/transcribe', pass(true));
  router.delete('/api/calls/:id', pass(true));
  return router;
}

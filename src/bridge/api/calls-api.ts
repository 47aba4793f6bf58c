import { Router } from 'express';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { agentsAllowed, teamAgentsOf } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import { storable } from '../../lib/storable.ts';
import { CallNotes, type CallPage } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import { callItems, callJson } from './call-json.ts';
import { callOrders } from './call-orders.ts';
import { callReadings } from './call-readings.ts';
import { CallListQuery, findCalls, namesOfOthers } from './call-search.ts';
import type { Calls } from '../call/calls.ts';
import { insertKeys, tagKey } from '../events/call-keys.ts';
import type { Eraser } from './erasure.ts';
import type { LiveFeed } from '../live-feed.ts';
import { found, invalid, readKnown } from './query.ts';
import type { Recordings } from '../recordings/recordings.ts';
import type { WrapUps } from '../wrap-up/wrap-ups.ts';
import { wrapUpApi } from './wrap-up-api.ts';
import type { SecondPasses } from '../second-pass/second-passes.ts';

type CallsApiOptions = {
  store: Store;
  calls: Calls;
  recordings: Recordings;
  eraser: Eraser;
  feed: LiveFeed;
  secondPasses: SecondPasses;
  wrapUps: WrapUps;
  clock: Clock;
  log: Logger;
  /** True if this installation redacts calls. */
  isRedacted: boolean;
  stereoRoles: readonly [Role, Role];
};

/** Routes under `/api/calls`. The shapes of the answers are in `protocol/api.ts`. */
export function callsApi(options: CallsApiOptions): Router {
  const { store, calls, eraser, feed } = options;
  const { db } = store;
  const live = (id: string): ReturnType<Calls['get']> => calls.get(id);
  const router = Router();
  router.use(callReadings(options), callOrders(options), wrapUpApi(options));

  router.get('/api/calls', async (request, response) => {
    const query = readKnown(CallListQuery, request, namesOfOthers);
    const among = agentsAllowed(response);
    const { ids, nextCursor } = await findCalls(db, {
      ...query,
      ...{ among, teamAgents: teamAgentsOf(response) },
    });
    const page: CallPage = { items: await callItems({ db, ids, live }), next_cursor: nextCursor };
    response.json(page);
  });

  router.get('/api/calls/:id', async (request, response) => {
    response.json(await found(callJson(db, request.params.id, live)));
  });

  router.patch('/api/calls/:id', async (request, response) => {
    const { id } = request.params;
    const parsed = check(CallNotes, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const { notes, tags } = storable(parsed.value);
    if (notes === undefined && tags === undefined) throw invalid(['notes or tags must be present']);
    const distinct = tags && [...new Map(tags.map((tag) => [tagKey(tag), tag])).values()];
    const isThere = await keepNotes(store, id, { notes, tags: distinct });
    if (!isThere) throw new Problem(404, 'call not found');
    feed.publish({ kind: 'call', callId: id });
    response.json(await found(callJson(db, id, live)));
  });

  router.delete('/api/calls/:id', async (request, response) => {
    const erasure = await eraser.erase(request.params.id);
    if (erasure.outcome === 'unknown') throw new Problem(404, 'call not found');
    if (erasure.outcome === 'live')
      throw new Problem(
        409,
        'the phone call is still going on; it can be erased once its stream has ended',
      );
    const { remaining } = erasure;
    // The call no longer appears in any answer. Some of its bytes may remain: on disk while a database reader still
    // uses an older state, or in an object store that cannot delete them now.
    if (remaining.length > 0) response.status(202).json({ status: 'pending', remaining });
    else response.status(204).end();
  });

  return router;
}

/**
 * Stores the notes that people attach to a call, and the keys by which its tags are found. Returns false if the call
 * does not exist.
 */
function keepNotes(
  store: Store,
  id: string,
  { notes, tags }: { notes: string | null | undefined; tags: string[] | undefined },
): Promise<boolean> {
  return store.transaction(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('calls')
      .set({
        notes: notes === '' ? null : notes,
        tags: tags && JSON.stringify(tags),
      })
      .where('id', '=', id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    if (tags === undefined) return true;
    await tx.deleteFrom('call_keys').where('call_id', '=', id).where('kind', '=', 'tag').execute();
    await insertKeys(
      tx,
      id,
      tags.map((tag) => ({ kind: 'tag', key: tagKey(tag) })),
    );
    return true;
  });
}

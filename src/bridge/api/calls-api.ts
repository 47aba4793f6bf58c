import { Router, type Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import { storable } from '../../lib/storable.ts';
import { CallNotes, type CallPage } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import { callDiagnostics, callItems, callJson } from './call-json.ts';
import { CallListQuery, findCalls, namesOfOthers } from './call-search.ts';
import { TranscriptQuery, transcriptFile } from './call-transcript.ts';
import type { Calls } from '../call/calls.ts';
import { insertKeys, tagKey } from '../events/call-keys.ts';
import { inOrderOfTime } from './statuses.ts';
import type { Eraser } from './erasure.ts';
import type { LiveFeed } from '../live-feed.ts';
import { invalid, readKnown } from './query.ts';
import { sendRecording } from '../recordings/recording-file.ts';
import type { Recordings } from '../recordings/recordings.ts';
import type { SecondPasses } from '../second-pass/second-passes.ts';

type CallsApiOptions = {
  store: Store;
  calls: Calls;
  recordings: Recordings;
  eraser: Eraser;
  feed: LiveFeed;
  secondPasses: SecondPasses;
  /** Calls are redacted here. */
  isRedacted: boolean;
  stereoRoles: readonly [Role, Role];
};

const EventsQuery = z.object({
  cursor: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  type: z.string().max(50).optional(),
});

const TranscribeAllQuery = z.object({ before: z.string().min(1).max(100).optional() });

/** `/api/calls` and everything below a call. The shapes of the answers are in protocol/api.ts. */
export function callsApi(options: CallsApiOptions): Router {
  const { store, calls, recordings, eraser, feed, secondPasses, stereoRoles } = options;
  const { db } = store;
  const live = (id: string): ReturnType<Calls['get']> => calls.get(id);
  const router = Router();

  router.get('/api/calls', async (request, response) => {
    const query = readKnown(CallListQuery, request, namesOfOthers);
    const { ids, nextCursor } = await findCalls(db, query);
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
    const isThere = await store.transaction(async (tx) => {
      const { numUpdatedRows } = await tx
        .updateTable('calls')
        .set({
          ...(notes === undefined ? {} : { notes: notes === '' ? null : notes }),
          ...(distinct === undefined ? {} : { tags: JSON.stringify(distinct) }),
        })
        .where('id', '=', id)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      if (distinct === undefined) return true;
      await tx
        .deleteFrom('call_keys')
        .where('call_id', '=', id)
        .where('kind', '=', 'tag')
        .execute();
      await insertKeys(
        tx,
        id,
        distinct.map((tag) => ({ kind: 'tag', key: tagKey(tag) })),
      );
      return true;
    });
    if (!isThere) throw new Problem(404, 'call not found');
    feed.publish({ kind: 'call', callId: id });
    response.json(await found(callJson(db, id, live)));
  });

  router.get('/api/calls/:id/transcript', async (request, response) => {
    const { format } = readKnown(TranscriptQuery, request);
    const call = await found(callJson(db, request.params.id, live));
    const { type, name, text } = transcriptFile(call, format);
    // The id of a call is ours: nothing that anybody sent is in the name.
    if (format !== 'json')
      response.setHeader('content-disposition', `attachment; filename="${name}"`);
    response.setHeader('content-type', type);
    response.send(text);
  });

  router.get('/api/calls/:id/events', async (request, response) => {
    const query = readKnown(EventsQuery, request);
    await found(callJson(db, request.params.id, live));
    let select = db
      .selectFrom('events')
      .select(['sequence', 'body'])
      .where('call_id', '=', request.params.id)
      .orderBy('sequence')
      .limit(query.limit + 1);
    if (query.cursor !== undefined) select = select.where('sequence', '>', query.cursor);
    if (query.type !== undefined) select = select.where('type', '=', query.type);
    const rows = await select.execute();
    const shown = rows.slice(0, query.limit);
    const next =
      rows.length > query.limit ? JSON.stringify(String(shown.at(-1)?.sequence ?? 0)) : 'null';
    // The bodies go out as they were sent: parsing and printing them again could change them.
    response
      .type('application/json')
      .send(`{"items":[${shown.map((row) => row.body).join(',')}],"next_cursor":${next}}`);
  });

  router.get('/api/calls/:id/statuses', async (request, response) => {
    const row = await found(
      db
        .selectFrom('calls')
        .select(['carrier', 'carrier_call_id'])
        .where('id', '=', request.params.id)
        .executeTakeFirst(),
    );
    const statuses = await db
      .selectFrom('call_statuses')
      .select(['received_at', 'status'])
      .where('carrier', '=', row.carrier)
      .where('carrier_call_id', '=', row.carrier_call_id)
      .orderBy('received_at')
      .execute();
    response.json({
      items: inOrderOfTime(
        statuses.map(({ received_at, status }) => ({
          received_at,
          status: JSON.parse(status) as Record<string, unknown>,
        })),
      ).map(({ received_at, status }) => ({
        received_at: new Date(received_at).toISOString(),
        status,
      })),
      next_cursor: null,
    });
  });

  router.get('/api/calls/:id/evidence', async (request, response) => {
    const { id } = request.params;
    response.json(await found(callDiagnostics(db, id, live(id))));
  });

  router.post('/api/calls/:id/pause', async (request, response) => {
    await (await liveCall(request)).pause('operator');
    response.json(await found(callJson(db, request.params.id, live)));
  });

  router.post('/api/calls/:id/resume', async (request, response) => {
    const call = await liveCall(request);
    if (call.isWithdrawn)
      throw new Problem(409, 'the consent was withdrawn: this call stays paused');
    await call.resume('operator');
    response.json(await found(callJson(db, request.params.id, live)));
  });

  router.post('/api/calls/transcribe', async (request, response) => {
    const { before } = readKnown(TranscribeAllQuery, request);
    const { counts, next } = await secondPasses.orderAllAgain(before);
    const finishing = await db
      .selectFrom('calls')
      .select((eb) => eb.fn.countAll().as('calls'))
      .where('state', '=', 'finishing')
      .executeTakeFirst();
    response.status(202).json({
      ordered: counts.ordered,
      already: counts.already,
      without_recording: counts['no-recording'],
      waiting: Number(finishing?.calls ?? 0),
      next,
    });
  });

  router.post('/api/calls/:id/transcribe', async (request, response) => {
    const { id } = request.params;
    const { state } = await found(
      db.selectFrom('calls').select('state').where('id', '=', id).executeTakeFirst(),
    );
    if (state === 'live')
      throw new Problem(409, 'the phone call is still going on: its words are on their way');
    // What waits in the journal is sent as soon as the service takes it.
    const status = state === 'finishing' ? 'waiting' : await secondPasses.orderAgain(id);
    if (status === 'no-recording')
      throw new Problem(
        409,
        'the call has no recording to read again: TRUNKLINE_RECORDING and TRUNKLINE_RETENTION_DAYS_RECORDINGS say whether and for how long there is one',
      );
    response.status(202).json({ status });
  });

  router.get('/api/calls/:id/recording', async (request, response) => {
    await sendRecording({
      db,
      recordings,
      stereoRoles,
      callId: request.params.id,
      request,
      response,
      onlyEnded: options.isRedacted,
    });
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
    // The call is gone from every answer, and is not gone from a disk where somebody else reads the old state, or where
    // the object store does not delete it now.
    if (remaining.length > 0) response.status(202).json({ status: 'pending', remaining });
    else response.status(204).end();
  });

  async function liveCall(
    request: Request<{ id: string }>,
  ): Promise<NonNullable<ReturnType<typeof live>>> {
    const call = live(request.params.id);
    if (call !== undefined && call.state === 'live') return call;
    await found(callJson(db, request.params.id, live));
    throw new Problem(409, 'the phone call is over: nothing can be paused or resumed');
  }

  return router;
}

export async function found<T>(row: Promise<T | undefined>): Promise<T> {
  const value = await row;
  if (value === undefined) throw new Problem(404, 'call not found');
  return value;
}

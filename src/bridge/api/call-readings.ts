import { Router } from 'express';
import { z } from 'zod';
import type { CallStatusPage } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import { mayReadScores } from '../../port/principal.ts';
import type { Store } from '../../store/store.ts';
import type { Logger } from '../../lib/log.ts';
import { callDiagnostics, callJson } from './call-json.ts';
import { TranscriptQuery } from './call-transcript.ts';
import { callRowOf } from '../events/call-rows.ts';
import { sendTranscript } from './transcript-file.ts';
import type { Calls } from '../call/calls.ts';
import { inOrderOfTime } from './statuses.ts';
import { found, readKnown } from './query.ts';
import { sendRecording } from '../recordings/recording-file.ts';
import type { Recordings } from '../recordings/recordings.ts';

type CallReadingsOptions = {
  store: Store;
  calls: Calls;
  recordings: Recordings;
  /** True if this installation redacts calls. */
  isRedacted: boolean;
  stereoRoles: readonly [Role, Role];
  log: Logger;
};

const EventsQuery = z.object({
  cursor: z.coerce
    .number('must be the next_cursor of the page before: without it come the first events')
    .int()
    .min(0)
    .optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  type: z.string().max(50).optional(),
});

/** Routes that read one part of a call: its transcript, events, statuses, evidence or recording. */
export function callReadings(options: CallReadingsOptions): Router {
  const { store, calls, recordings, stereoRoles, log } = options;
  const { db } = store;
  const live = (id: string): ReturnType<Calls['get']> => calls.get(id);
  const router = Router();

  router.get('/api/calls/:id/transcript', async (request, response) => {
    const { format } = readKnown(TranscriptQuery, request);
    const call = await found(callRowOf(db, request.params.id));
    await sendTranscript({ db, call, format, response, log });
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
    if (!mayReadScores(response)) select = select.where('type', '!=', 'call.scored');
    if (query.type !== undefined) select = select.where('type', '=', query.type);
    const rows = await select.execute();
    const shown = rows.slice(0, query.limit);
    const next =
      rows.length > query.limit ? JSON.stringify(String(shown.at(-1)?.sequence ?? 0)) : 'null';
    // The bodies are returned exactly as they were sent. Parsing and printing them again could change them.
    response
      .type('application/json')
      .send(`{"items":[${shown.map((row) => row.body).join(',')}],"next_cursor":${next}}`);
  });

  router.get('/api/calls/:id/statuses', async (request, response) => {
    response.json(await statusesOf(db, request.params.id));
  });

  router.get('/api/calls/:id/evidence', async (request, response) => {
    const { id } = request.params;
    response.json(await found(callDiagnostics(db, id, live(id))));
  });

  router.get('/api/calls/:id/recording', async (request, response) => {
    await sendRecording({
      db,
      recordings,
      stereoRoles,
      callId: request.params.id,
      request,
      response,
      isRedacted: options.isRedacted,
    });
  });

  return router;
}

/** The carrier's status callbacks for the call, ordered by their times. */
async function statusesOf(
  db: Store['db'],
  callId: string,
): Promise<z.input<typeof CallStatusPage>> {
  const row = await found(
    db
      .selectFrom('calls')
      .select(['carrier', 'carrier_call_id'])
      .where('id', '=', callId)
      .executeTakeFirst(),
  );
  const statuses = await db
    .selectFrom('call_statuses')
    .select(['received_at', 'status'])
    .where('carrier', '=', row.carrier)
    .where('carrier_call_id', '=', row.carrier_call_id)
    .orderBy('received_at')
    .execute();
  return {
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
  };
}

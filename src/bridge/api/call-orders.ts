import { Router, type Request } from 'express';
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { Problem } from '../../port/problem.ts';
import { type Expected, ExpectRequest } from '../../protocol/expect-request.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import { callJson } from './call-json.ts';
import type { Call } from '../call/call.ts';
import type { Calls } from '../call/calls.ts';
import { found, invalid, readKnown } from './query.ts';
import type { SecondPasses } from '../second-pass/second-passes.ts';

type CallOrdersOptions = {
  store: Store;
  calls: Calls;
  secondPasses: SecondPasses;
  clock: Clock;
};

const TranscribeAllQuery = z.object({ before: z.string().min(1).max(100).optional() });

/** Routes by which operators control a call: pause it, resume it, close its links, have its recording read again. */
export function callOrders({ store, calls, secondPasses, clock }: CallOrdersOptions): Router {
  const { db } = store;
  const live = (id: string): ReturnType<Calls['get']> => calls.get(id);
  const router = Router();

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

  router.delete('/api/calls/:id/links', async (request, response) => {
    if (!(await closeLinks(db, request.params.id, clock.now())))
      throw new Problem(404, 'call not found');
    response.status(204).end();
  });

  router.post('/api/calls/:id/expect', async (request, response) => {
    const parsed = check(ExpectRequest, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    response.json(expected(await liveCall(request), parsed.value));
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
    // Audio that waits in the journal is sent as soon as the service accepts it.
    const status = state === 'finishing' ? 'waiting' : await secondPasses.orderAgain(id);
    if (status === 'no-recording')
      throw new Problem(
        409,
        'the call has no recording to read again: TRUNKLINE_RECORDING and TRUNKLINE_RETENTION_DAYS_RECORDINGS say whether and for how long there is one',
      );
    response.status(202).json({ status });
  });

  async function liveCall(
    request: Request<{ id: string }>,
  ): Promise<NonNullable<ReturnType<typeof live>>> {
    const call = live(request.params.id);
    if (call !== undefined && call.state === 'live') return call;
    await found(callJson(db, request.params.id, live));
    throw new Problem(409, 'the phone call is over: nothing can be paused, resumed or expected');
  }

  return router;
}

/** Invalidates all links to this call that exist now. Returns false if the call does not exist. */
async function closeLinks(db: Store['db'], id: string, now: number): Promise<boolean> {
  const closed = await db
    .updateTable('calls')
    .set({ links_closed_at: now })
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return closed !== undefined;
}

function expected({ expectations }: Pick<Call, 'expectations'>, order: ExpectRequest): Expected {
  const { answer, role, seconds } = order;
  if (!expectations.order(order))
    throw new Problem(409, `the call has no party with the role "${role}" that is being heard`);
  return { answer, role, seconds };
}

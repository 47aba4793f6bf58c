import { json, Router, type Request } from 'express';
import { z } from 'zod';
import { Problem } from '../port/problem.ts';
import { ApiDeliveryState, RetryCallRequest } from '../protocol/api.ts';
import { check } from '../protocol/validation.ts';
import type { Deliveries } from './deliveries.ts';

const ListQuery = z.strictObject({
  state: ApiDeliveryState.optional(),
  call_id: z.string().max(200).optional(),
  endpoint: z.string().max(200).optional(),
  cursor: z.string().max(300).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/** /api/deliveries and what an operator may do with a call's deliveries. */
export function deliveriesApi(deliveries: Deliveries): Router {
  const router = Router();
  router.get('/api/deliveries', async (request, response) => {
    const query = valid(ListQuery, request.query);
    const { items, nextCursor } = await deliveries.list({
      state: query.state,
      callId: query.call_id,
      endpoint: query.endpoint,
      cursor: query.cursor,
      limit: query.limit,
    });
    response.json({ items, next_cursor: nextCursor });
  });
  router.get('/api/deliveries/endpoints', async (_request, response) => {
    response.json({ items: await deliveries.endpoints(), next_cursor: null });
  });
  router.post('/api/deliveries/endpoints/:name/enable', async (request, response) => {
    if (!(await deliveries.enable(request.params.name))) throw new Problem(404, 'no such endpoint');
    response.status(202).json({ changed: 1 });
  });
  router.get('/api/deliveries/:id', async (request, response) => {
    response.json(found(await deliveries.find(request.params.id)));
  });
  router.post('/api/deliveries/:id/retry', async (request, response) => {
    response.status(202).json({ changed: found(await deliveries.retry(request.params.id)) });
  });
  router.post(
    '/api/calls/:id/deliveries/retry',
    json({ limit: '4kb' }),
    async (request, response) => {
      const body = valid(RetryCallRequest, bodyOf(request));
      const changed = await deliveries.retryCall(request.params.id, body.from, body.endpoint);
      response.status(202).json({ changed });
    },
  );
  router.post('/api/calls/:id/deliveries/release', async (request, response) => {
    response.status(202).json({ changed: await deliveries.releaseCall(request.params.id) });
  });
  return router;
}

function bodyOf(request: Request): unknown {
  return request.body ?? {};
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Problem(404, 'no such delivery');
  return value;
}

function valid<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = check(schema, value);
  if (parsed.ok) return parsed.value;
  throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
}

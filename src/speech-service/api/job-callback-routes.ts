import { Router } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import { ApiJobCallbackState, type JobCallbackPage } from '../../protocol/api.ts';
import { check } from '../../protocol/validation.ts';
import { Uuid } from '../../protocol/values.ts';
import type { Jobs } from '../jobs/jobs.ts';

const maxItems = 200;
const callbackId = /^\w{1,200}$/;

const JobCallbackListQuery = z.strictObject({
  state: ApiJobCallbackState.optional(),
  job_id: Uuid.optional(),
  cursor: z
    .string()
    .regex(
      /^\d{1,15}\.\w{1,200}$/,
      'must be the next_cursor of the page before: without it comes the first page',
    )
    .optional(),
  limit: z.coerce.number().int().min(1).max(maxItems).default(50),
});

/** Shows an operator the callbacks of jobs. The speech API has no such routes. */
export function jobCallbackRoutes({ callbacks }: Pick<Jobs, 'callbacks'>): Router {
  const router = Router();
  router.get('/api/job-callbacks', async (request, response) => {
    const parsed = check(JobCallbackListQuery, request.query);
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const { state, job_id: jobId, cursor, limit } = parsed.value;
    const { items, next } = await callbacks.list({
      state,
      jobId: jobId?.toLowerCase(),
      after: cursor === undefined ? undefined : placeOf(cursor),
      limit,
    });
    const next_cursor = next ? `${next.createdAt}.${next.id}` : null;
    response.json({ items, next_cursor } satisfies JobCallbackPage);
  });
  router.post('/api/job-callbacks/:id/retry', async (request, response) => {
    const { id } = request.params;
    const changed = callbackId.test(id) ? await callbacks.retry(id) : undefined;
    if (changed === undefined) throw new Problem(404, 'no such callback of a job');
    response.status(202).json({ changed });
  });
  return router;
}

function placeOf(cursor: string): { createdAt: number; id: string } {
  const dot = cursor.indexOf('.');
  return { createdAt: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) };
}

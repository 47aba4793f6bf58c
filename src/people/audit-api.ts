import { Router } from 'express';
import { once } from 'node:events';
import { z } from 'zod';
import { Problem } from '../port/problem.ts';
import type { AuditLine, AuditPage } from '../protocol/people-reports.ts';
import { check } from '../protocol/validation.ts';
import type { AuditTable } from '../store/schema.ts';
import type { Audit } from './audit.ts';

const filter = z
  .string()
  .min(1)
  .max(200)
  .refine((given) => !/\p{Cc}/u.test(given), 'must have no control characters');

const AuditQuery = z.strictObject({
  call_id: filter.optional(),
  actor: filter.optional(),
  action: filter.optional(),
  cursor: z.string().regex(/^\d{1,15}$/, 'must be the next_cursor of the page before: without it comes the newest').transform(Number).optional(), // prettier-ignore
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

/** Routes by which admins read, save and check the record of who did what. */
export function auditApi(audit: Audit): Router {
  const router = Router();
  router.get('/api/audit', async (request, response) => {
    const parsed = check(AuditQuery, request.query);
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const { cursor, limit, ...asked } = parsed.value;
    const lines = await audit.page(asked, cursor, limit + 1);
    const shown = lines.slice(0, limit);
    const page: AuditPage = {
      items: shown.map(lineOf),
      next_cursor: lines.length > limit ? String(shown.at(-1)?.seq) : null,
    };
    response.json(page);
  });
  router.get('/api/audit/export', async (_request, response) => {
    response.set('content-disposition', 'attachment; filename="audit.jsonl"');
    response.type('application/x-ndjson');
    for await (const lines of audit.lines()) {
      if (response.destroyed) return;
      const text = lines.map((line) => `${JSON.stringify(lineOf(line))}\n`).join('');
      // A client that does not read any more is ended by the port, and 'close' then ends this wait.
      if (!response.write(text)) await Promise.race([once(response, 'drain'), once(response, 'close')]); // prettier-ignore
    }
    response.end();
  });
  router.get('/api/audit/check', async (_request, response) => {
    response.json(await audit.verify());
  });
  return router;
}

function lineOf({ seq, at, ...line }: AuditTable): AuditLine {
  return { ...line, seq, at: new Date(at).toISOString() };
}

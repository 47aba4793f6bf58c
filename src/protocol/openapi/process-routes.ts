import { z } from 'zod';
import { answer, type Route } from './route.ts';

const tag = 'Process';

const Check = z
  .object({ state: z.enum(['ok', 'degraded', 'down']), detail: z.string().optional() })
  .meta({ id: 'HealthCheck' });

const Readiness = z
  .object({
    status: z.enum(['ready', 'not ready']),
    checks: z.record(z.string(), Check).optional().describe('With a key only.'),
  })
  .meta({ id: 'Readiness' });

export const processRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/health/live',
    tag,
    access: 'public',
    summary: 'The process answers',
    answers: { 200: answer('It does.', z.object({ status: z.literal('ok') })) },
  },
  {
    method: 'get',
    path: '/health/ready',
    tag,
    access: 'public',
    summary: 'The process takes calls',
    answers: { 200: answer('Ready.', Readiness), 503: answer('Not ready.', Readiness) },
  },
  {
    method: 'get',
    path: '/metrics',
    tag,
    access: 'key',
    summary: 'Metrics in the Prometheus text format',
    answers: { 200: { description: 'Metrics.', content: { 'text/plain': z.string() } } },
  },
  {
    method: 'get',
    path: '/openapi.json',
    tag,
    access: 'public',
    summary: 'This document',
    answers: {
      200: { description: 'OpenAPI 3.1.', content: { 'application/json': z.looseObject({}) } },
    },
  },
  page('/docs', 'This document as a page'),
  {
    method: 'get',
    path: '/docs/{file}',
    tag,
    access: 'public',
    summary: 'What that page is made of',
    answers: {
      200: {
        description: 'A script or a style sheet.',
        content: { 'text/javascript': z.string(), 'text/css': z.string() },
      },
    },
    errors: [404],
  },
  page('/', 'The console'),
  page('/panel', 'The panel for a frame in an agent’s desktop'),
  page('/panel/demo', 'The panel in a fake desktop'),
  {
    method: 'get',
    path: '/page/{file}',
    tag,
    access: 'public',
    summary: 'A module or the style sheet of the console',
    answers: {
      200: {
        description: 'The file.',
        content: { 'text/javascript': z.string(), 'text/css': z.string() },
      },
      304: answer('Unchanged.'),
    },
    errors: [404],
  },
];

function page(path: string, summary: string): Route {
  const answers = { 200: { description: 'A page.', content: { 'text/html': z.string() } } };
  return { method: 'get', path, tag, access: 'public', summary, answers };
}

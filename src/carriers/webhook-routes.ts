import express, { type ErrorRequestHandler, type Router } from 'express';
import { z } from 'zod';
import { clientAddress, type IsProxy } from '../port/addresses.ts';
import { Problem } from '../port/problem.ts';
import type { SecretJudge } from '../port/secrets.ts';
import type { Route, RouteAnswer } from '../protocol/openapi/route.ts';
import { carrierNames, carriers } from './all.ts';
import type { CarriersConfig } from './config.ts';
import type { WebhookContext } from './carrier.ts';
import { webhooksTotal } from './metrics.ts';
import { requirementsOf } from './requirements.ts';
import type { RefusalLog } from './refusal-log.ts';

const formBytesAtMost = 32_768;

/** Mounts the carriers' own HTTP requests. Each carrier checks its own signature before anything is kept. */
export function webhookRouter(
  context: Omit<WebhookContext<CarriersConfig>, 'judgeSecret'> & {
    refusals: RefusalLog;
    secrets: SecretJudge;
    isProxy: IsProxy;
  },
): Router {
  const router = express.Router();
  const bodies = {
    form: express.text({
      type: 'application/x-www-form-urlencoded',
      limit: formBytesAtMost,
      inflate: false,
    }),
    bytes: express.raw({ type: () => true, limit: formBytesAtMost, inflate: false }),
  };
  for (const name of carrierNames) {
    const ofCarrier: WebhookContext<CarriersConfig> = {
      ...context,
      judgeSecret: (request, secret, isRight) =>
        context.secrets.judge({
          door: name,
          client: clientAddress(request, context.isProxy),
          secret,
          isRight,
        }),
    };
    const { whyElsewhere } = requirementsOf(context.config, name);
    for (const webhook of carriers[name].webhooks) {
      const path = `/carriers/${name}/${webhook.action}`;
      const labels = { carrier: name, webhook: webhook.action };
      const refused: ErrorRequestHandler = (error: unknown, _request, _response, next) => {
        const { status, reason } = refusalOf(error);
        webhooksTotal.inc({ ...labels, outcome: String(status) });
        if (reason !== undefined)
          context.refusals.note('carrier webhook refused', { ...labels, status, reason });
        next(error);
      };
      router[webhook.method ?? 'post'](path, bodies[webhook.body], async (request, response) => {
        response.once('finish', () => {
          if (response.statusCode < 300) webhooksTotal.inc({ ...labels, outcome: 'answered' });
        });
        const elsewhere = whyElsewhere(clientAddress(request, context.isProxy));
        if (elsewhere !== undefined) throw new Problem(403, elsewhere);
        const answer = await webhook.handle(request, ofCarrier);
        if ('xml' in answer) {
          response.type('text/xml').send(answer.xml);
          return;
        }
        if ('json' in answer) {
          response.json(answer.json);
          return;
        }
        if (!answer.callId)
          throw new Problem(400, 'Validation failed', {
            validationErrors: ['the id of the call is missing'],
          });
        await context.bridge.carrierStatus(name, answer.callId, answer.fields);
        response.status(204).end();
      });
      router.use(path, refused);
    }
  }
  return router;
}

/** The reason goes into the log. It holds the words of our own refusal or of the body parser, never the request's. */
function refusalOf(error: unknown): { status: number; reason?: string } {
  if (error instanceof Problem)
    return {
      status: error.status,
      reason: [error.message, ...(error.validationErrors ?? [])].join(': '),
    };
  const { status, type } = z
    .object({ status: z.number(), type: z.string() })
    .catch({ status: 500, type: '' })
    .parse(error);
  // The last handler of the app logs unexpected errors, with their stack.
  return type === '' ? { status } : { status, reason: type };
}

const CarrierForm = {
  description: 'The carrier’s own fields; those we read are in the schema.',
  content: {
    'application/x-www-form-urlencoded': z
      .looseObject({ CallSid: z.string().optional(), CallUUID: z.string().optional() })
      .meta({ id: 'CarrierForm' }),
    'application/json': z
      .looseObject({ data: z.looseObject({ event_type: z.string() }) })
      .meta({ id: 'CarrierEvent' }),
  },
};

const CallSid = {
  name: 'CallSid',
  description:
    'The carrier’s id of the call; its other parameters are ignored but for the direction.',
  schema: z.string().optional(),
};

const answers: Record<'kept' | 'xml' | 'json', Record<number, RouteAnswer>> = {
  kept: { 204: { description: 'Kept with the call.' } },
  xml: {
    200: {
      description: 'XML that starts the stream with a token of its own.',
      content: { 'text/xml': z.string() },
    },
  },
  json: {
    200: {
      description: 'What starts the stream, in the carrier’s own form.',
      content: { 'application/json': z.unknown() },
    },
  },
};

/**
 * Describes the same routes as data, for the API's description. Each carrier authenticates itself as its platform
 * does.
 */
export const carrierRoutes: readonly Route[] = carrierNames.flatMap((name) =>
  carriers[name].webhooks.map((webhook) => ({
    method: webhook.method ?? 'post',
    path: `/carriers/${name}/${webhook.action}`,
    tag: 'Carriers',
    access: 'carrier',
    summary: webhook.summary,
    headers: webhook.headers,
    ...(webhook.method === 'get' ? { query: [CallSid] } : { body: CarrierForm }),
    answers: answers[webhook.answers],
    errors: [400, 401, 403, 413, 415, 429],
  })),
);

import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, NonceMemory, WebhookContext } from '../carrier.ts';
import { bearerOf } from '../credentials.ts';
import { jsonBody } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { ownRecord } from '../parameters.ts';
import { checkVonageJwt } from './signature.ts';
import type { VonageConfig } from './settings.ts';

export const vonageWebhooks: readonly CarrierWebhook<VonageConfig>[] = [
  {
    action: 'status',
    body: 'bytes',
    summary: 'Vonage’s event webhooks, of calls and of their WebSocket legs',
    headers: [
      {
        name: 'authorization',
        description:
          'A JWT, checked with TRUNKLINE_VONAGE_SIGNATURE_SECRET; `payload_hash` is that of the body.',
        schema: z.string(),
      },
    ],
    answers: 'kept',
    async handle(request, context) {
      await prove(request, context);
      const fields = ownRecord(Object.entries(textParameters(jsonBody(request))));
      return { callId: fields['uuid'], fields };
    },
  },
];

/** The body is part of the proof. The `jti` is used up in the store: a captured event says nothing twice. */
async function prove(
  request: Request,
  { config, insecure, clock, bridge }: WebhookContext<VonageConfig>,
): Promise<void> {
  const authorization = request.get('authorization');
  if (authorization === undefined) {
    if (insecure) return;
    throw new Problem(401, 'Authorization is missing: switch signed webhooks on at Vonage');
  }
  const token = bearerOf({ headers: { authorization } });
  if (token === undefined) throw new Problem(403, 'Authorization is not a bearer token');
  const used: Parameters<NonceMemory['remember']>[] = [];
  const check = checkVonageJwt(token, {
    secrets: config.vonageSignatureSecret,
    apiKey: config.vonageApiKey,
    applicationId: config.vonageApplicationId,
    nowMs: clock.now(),
    nonces: { remember: (...nonce) => used.push(nonce) > 0 },
    payload: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  });
  if (check !== 'good') throw new Problem(403, check.bad);
  for (const [, jti, untilMs] of used)
    if (!(await bridge.claimNonce('vonage-webhook', jti, untilMs)))
      throw new Problem(403, 'the jti of the JWT was used before');
}

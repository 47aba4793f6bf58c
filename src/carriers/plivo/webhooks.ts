import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { formFields, type FormFields } from '../forms.ts';
import { ownRecord } from '../parameters.ts';
import type { PlivoConfig } from './settings.ts';
import { isPlivoSignature } from './signature.ts';

/** As long as a callback could be repeated to us; its signature has no time in it. */
const nonceMs = 86_400_000;

export const plivoWebhooks: readonly CarrierWebhook<PlivoConfig>[] = [
  {
    action: 'status',
    body: 'form',
    summary: 'Plivo’s status callbacks',
    headers: [
      {
        name: 'x-plivo-signature-v3',
        description: 'Plivo’s signature, checked with TRUNKLINE_PLIVO_AUTH_TOKEN.',
        schema: z.string(),
      },
      { name: 'x-plivo-signature-v3-nonce', description: 'Used once.', schema: z.string() },
    ],
    answers: 'kept',
    handle: async (request, context) => {
      const fields = ownRecord(await signedFields(request, context));
      return { callId: fields['CallUUID'], fields };
    },
  },
];

async function signedFields(
  request: Request,
  { config, publicUrl, insecure, bridge, clock }: WebhookContext<PlivoConfig>,
): Promise<FormFields> {
  const fields = formFields(request);
  const signature = request.get('x-plivo-signature-v3');
  const nonce = request.get('x-plivo-signature-v3-nonce') ?? '';
  if (insecure && signature === undefined) return fields;
  if (signature === undefined || nonce === '')
    throw new Problem(401, 'X-Plivo-Signature-V3 or its nonce is missing');
  const signed = {
    publicUrl: publicUrl(),
    kind: 'webhook',
    target: request.originalUrl,
    fields,
    nonce,
  } as const;
  if (
    config.plivoAuthToken.length === 0 ||
    !isPlivoSignature(signature, config.plivoAuthToken, signed)
  )
    throw new Problem(
      403,
      'X-Plivo-Signature-V3 does not match: check TRUNKLINE_PLIVO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL',
    );
  if (!(await bridge.claimNonce('plivo-webhook', nonce, clock.now() + nonceMs)))
    throw new Problem(403, 'the nonce was used before');
  return fields;
}

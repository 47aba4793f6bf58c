import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, NonceMemory, WebhookContext } from '../carrier.ts';
import { bearerOf } from '../credentials.ts';
import { jsonBody } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { fieldIn, ownRecord, splitTarget } from '../parameters.ts';
import { checkVonageJwt } from './signature.ts';
import type { VonageConfig } from './settings.ts';
import { voiceAnswer } from './voice.ts';

const headers = [
  {
    name: 'authorization',
    description:
      'A JWT, checked with TRUNKLINE_VONAGE_SIGNATURE_SECRET; `payload_hash` is that of the body.',
    schema: z.string(),
  },
];

export const vonageWebhooks: readonly CarrierWebhook<VonageConfig>[] = [
  {
    action: 'voice',
    body: 'bytes',
    summary: 'What a Vonage application asks when its number is called (answer URL, POST)',
    headers,
    answers: 'json',
    async handle(request, context) {
      const jwt = proven(request, context)?.jwt;
      const fields = ownRecord(Object.entries(textParameters(jsonBody(request))));
      const [secret] = context.config.vonageSignatureSecret;
      const by = jwt !== undefined && secret !== undefined ? { by: { secret, jwt } } : {};
      return { json: await voiceAnswer({ fields, ...by }, context) };
    },
  },
  {
    action: 'status',
    body: 'bytes',
    summary: 'Vonage’s event webhooks, of calls and of their WebSocket legs',
    headers,
    answers: 'kept',
    async handle(request, context) {
      await useUp(proven(request, context)?.nonces ?? [], context);
      const fields = ownRecord(Object.entries(textParameters(jsonBody(request))));
      return { callId: callInAddress(request) ?? fields['uuid'], fields };
    },
  },
];

/** Our NCCO writes the call into the address for the events of the parties that it brings in. */
function callInAddress({ originalUrl }: Request): string | undefined {
  const call = fieldIn(splitTarget(originalUrl).query, 'call');
  return call === undefined || call === '' || call.length > 256 ? undefined : call;
}

type UsedNonce = Parameters<NonceMemory['remember']>;

/** The body is part of the proof. Undefined where the insecure mode needs none. */
function proven(
  request: Request,
  { config, insecure, clock }: WebhookContext<VonageConfig>,
): { jwt: string; nonces: UsedNonce[] } | undefined {
  const authorization = request.get('authorization');
  if (authorization === undefined) {
    if (insecure) return undefined;
    throw new Problem(401, 'Authorization is missing: switch signed webhooks on at Vonage');
  }
  const token = bearerOf({ headers: { authorization } });
  if (token === undefined) throw new Problem(403, 'Authorization is not a bearer token');
  const nonces: UsedNonce[] = [];
  const check = checkVonageJwt(token, {
    secrets: config.vonageSignatureSecret,
    apiKey: config.vonageApiKey,
    applicationId: config.vonageApplicationId,
    nowMs: clock.now(),
    nonces: { remember: (...nonce) => nonces.push(nonce) > 0 },
    payload: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
  });
  if (check !== 'good') throw new Problem(403, check.bad);
  return { jwt: token, nonces };
}

/** The `jti` is used up in the store: a captured event says nothing twice. */
async function useUp(
  nonces: readonly UsedNonce[],
  { bridge }: WebhookContext<VonageConfig>,
): Promise<void> {
  for (const [, jti, untilMs] of nonces)
    if (!(await bridge.claimNonce('vonage-webhook', jti, untilMs)))
      throw new Problem(403, 'the jti of the JWT was used before');
}

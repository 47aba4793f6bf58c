import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import { equalSecrets } from '../../port/secrets.ts';
import type { NonceMemory, WebhookContext } from '../carrier.ts';
import { bearerOf } from '../credentials.ts';
import { jsonBody } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { fieldIn, ownRecord, splitTarget } from '../parameters.ts';
import { voiceAndStatus, type WebhookCall } from '../voice-webhooks.ts';
import { checkVonageJwt } from './signature.ts';
import type { VonageConfig } from './settings.ts';
import { eventSignature, voiceAnswer } from './voice.ts';

type VonageCall = WebhookCall & { nonces: UsedNonce[] };

/**
 * The stream token is derived from the JWT, so the same request gets the same answer again. A voice webhook does not
 * use its `jti` up, so that Vonage may ask again for an answer that got lost.
 */
export const vonageWebhooks = voiceAndStatus<VonageConfig, VonageCall>({
  carrier: 'vonage',
  body: 'bytes',
  headers: [
    {
      name: 'authorization',
      description:
        'A JWT, checked with TRUNKLINE_VONAGE_SIGNATURE_SECRET; `payload_hash` is that of the body.',
      schema: z.string(),
    },
  ],
  voice: {
    summary: 'What a Vonage application asks when its number is called (answer URL, POST)',
    answers: 'json',
  },
  status: { summary: 'Vonage’s event webhooks, of calls and of their WebSocket legs' },
  callIdField: 'uuid',
  proven(request, context) {
    const by = proven(request, context);
    const fields = ownRecord(Object.entries(textParameters(jsonBody(request))));
    const callId = callInAddress(request, context) ?? fields['uuid'];
    return { callId, fields, nonces: by?.nonces ?? [], ...(by ? { proof: by.jwt } : {}) };
  },
  answer: voiceAnswer,
  /** Stores the `jti` as used, so that a captured event is not accepted a second time. */
  async useUp({ nonces }, { bridge }) {
    for (const nonce of nonces)
      if (!(await bridge.claimNonce(...nonce)))
        throw new Problem(403, 'the jti of the JWT was used before');
  },
});

/**
 * Reads the call that our NCCO wrote into the address for the events of other parties. Vonage's signature does not
 * cover that address, so the address carries a signature of ours.
 */
function callInAddress(
  { originalUrl }: Request,
  { config: { vonageSignatureSecret: secrets }, insecure }: WebhookContext<VonageConfig>,
): string | undefined {
  const { query } = splitTarget(originalUrl);
  const call = fieldIn(query, 'call');
  if (call === undefined || call === '' || call.length > 256) return undefined;
  const signature = fieldIn(query, 'signature') ?? '';
  if (secrets.some((secret) => equalSecrets(signature, eventSignature(secret, call)))) return call;
  if (insecure && secrets.length === 0) return call;
  throw new Problem(403, 'the call in the address is not signed by this installation');
}

type UsedNonce = Parameters<NonceMemory['remember']>;

/** Checks the JWT together with the body. Returns undefined if the insecure mode needs no proof. */
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

import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { WebhookContext } from '../carrier.ts';
import { formFields } from '../forms.ts';
import { ownRecord } from '../parameters.ts';
import {
  answerPauseS,
  element,
  socketUrlOf,
  xmlDocument,
  xmlText,
  type NextStep,
} from '../voice-answer.ts';
import { voiceAndStatus, type WebhookCall } from '../voice-webhooks.ts';
import type { PlivoConfig } from './settings.ts';
import { isPlivoSignature } from './signature.ts';

/** A nonce is remembered for a day, because the signature holds no time. */
const nonceMs = 86_400_000;

/** `nonce` is absent if the insecure mode accepts the fields unsigned. */
type PlivoCall = WebhookCall & { nonce?: string };

/**
 * The stream token is derived from the nonce and the call, which the signature proved. A voice webhook does not use its
 * nonce up, so Plivo may ask again for an answer that got lost. The token in it opens only one stream.
 */
export const plivoWebhooks = voiceAndStatus<PlivoConfig, PlivoCall>({
  carrier: 'plivo',
  body: 'form',
  headers: [
    {
      name: 'x-plivo-signature-v3',
      description: 'Plivo’s signature, checked with TRUNKLINE_PLIVO_AUTH_TOKEN.',
      schema: z.string(),
    },
    { name: 'x-plivo-signature-v3-nonce', description: 'Used once.', schema: z.string() },
  ],
  voice: { summary: 'What a Plivo application asks when its number is called', answers: 'xml' },
  status: { summary: 'Plivo’s status callbacks' },
  callIdField: 'CallUUID',
  proven: signedCall,
  answer: ({ fields }, token, context) => voiceAnswer(fields, token, context),
  async useUp({ nonce }, { bridge, clock }) {
    if (nonce === undefined) return;
    if (!(await bridge.claimNonce('plivo-webhook', nonce, clock.now() + nonceMs)))
      throw new Problem(403, 'the nonce was used before');
  },
});

function signedCall(
  request: Request,
  { config, publicUrl, insecure }: WebhookContext<PlivoConfig>,
): PlivoCall {
  const form = formFields(request);
  const fields = ownRecord(form);
  const callId = fields['CallUUID'];
  const signature = request.get('x-plivo-signature-v3');
  const nonce = request.get('x-plivo-signature-v3-nonce') ?? '';
  if (insecure && signature === undefined) return { callId, fields };
  if (signature === undefined || nonce === '')
    throw new Problem(401, 'X-Plivo-Signature-V3 or its nonce is missing');
  const signed = {
    publicUrl: publicUrl(),
    kind: 'webhook',
    target: request.originalUrl,
    fields: form,
    nonce,
  } as const;
  if (!isPlivoSignature(signature, config.plivoAuthToken, signed))
    throw new Problem(
      403,
      'X-Plivo-Signature-V3 does not match: check TRUNKLINE_PLIVO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL',
    );
  return { callId, fields, nonce, proof: JSON.stringify([nonce, callId]) };
}

function voiceAnswer(
  { From: from, To: to, Direction: direction }: Record<string, string>,
  token: string | undefined,
  { config, publicUrl, announcement }: WebhookContext<PlivoConfig>,
): string {
  const { plivoDial: dial, plivoContinueUrl: continueUrl } = config;
  const next = nextElement({ dial, continueUrl });
  if (token === undefined) return xmlDocument(element('Response', {}, [next]));
  const stream = element(
    'Stream',
    {
      bidirectional: 'false',
      audioTrack: 'both',
      // With `false` the call goes on with the next verbs at once, and not when the stream is over.
      keepCallAlive: 'false',
      contentType: 'audio/x-mulaw;rate=8000',
      streamTimeout: String(streamTimeoutS),
      statusCallbackUrl: `${publicUrl()}/carriers/plivo/status`,
      statusCallbackMethod: 'POST',
      extraHeaders: extraHeaders({ from, to, direction }),
    },
    [xmlText(`${socketUrlOf(publicUrl(), 'plivo')}/${token}`)],
  );
  const said = announcement === undefined ? [] : [element('Speak', {}, [xmlText(announcement)])];
  return xmlDocument(element('Response', {}, [...said, stream, next]));
}

/** This is Plivo's own default, a day: no call is longer. */
const streamTimeoutS = 86_400;

/** Plivo takes 512 bytes of extra headers in all, for three values. */
const valueAtMost = 150;

/**
 * Cuts each value at a semicolon, which separates the values of this header. A caller may have put one into the
 * number.
 */
function extraHeaders(values: Record<string, string | undefined>): string {
  return Object.entries(values)
    .flatMap(([name, value = '']) => {
      const safe = value
        .replace(/;.*$/s, '')
        .replace(/[^\x20-\x7e]/g, '')
        .slice(0, valueAtMost);
      return safe === '' ? [] : [`${name}=${safe}`];
    })
    .join(';');
}

function nextElement({ dial, continueUrl }: NextStep): string {
  if (continueUrl !== undefined)
    return element('Redirect', { method: 'POST' }, [xmlText(continueUrl)]);
  if (dial === undefined) return element('Wait', { length: String(answerPauseS) });
  return element('Dial', {}, [
    element(dial.startsWith('sip:') ? 'User' : 'Number', {}, [xmlText(dial)]),
  ]);
}

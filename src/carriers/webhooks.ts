import express, { type Request, type Response, type Router } from 'express';
import { Problem } from '../lib/problem.ts';
import { isPlivoSignature } from './plivo-signature.ts';
import { voiceTwiml } from './twiml.ts';
import { isTwilioSignature } from './twilio-signature.ts';
import type { UpgradeContext } from './upgrades.ts';

type Fields = [string, string][];

const formBytesAtMost = 32_768;
const fieldsAtMost = 100;

/** The carriers' own HTTP requests: each is authenticated here, by its signature. */
export function webhookRouter(context: UpgradeContext): Router {
  const router = express.Router();
  const form = express.text({
    type: 'application/x-www-form-urlencoded',
    limit: formBytesAtMost,
    inflate: false,
  });
  router.post('/carriers/twilio/voice', form, async (request, response) => {
    const fields = twilioFields(context, request);
    await answerVoice(context, fields, response);
  });
  router.post('/carriers/twilio/status', form, async (request, response) => {
    const fields = Object.fromEntries(twilioFields(context, request));
    await keepStatus(context, 'twilio', fields['CallSid'], fields);
    response.status(204).end();
  });
  router.post('/carriers/plivo/status', form, async (request, response) => {
    const fields = Object.fromEntries(plivoFields(context, request));
    await keepStatus(context, 'plivo', fields['CallUUID'], fields);
    response.status(204).end();
  });
  return router;
}

function twilioFields({ config, publicUrl, insecure }: UpgradeContext, request: Request): Fields {
  const fields = fieldsOf(request);
  const signature = request.get('x-twilio-signature');
  if (insecure && signature === undefined) return fields;
  if (signature === undefined) throw new Problem(401, 'X-Twilio-Signature is missing');
  if (config.twilioAuthToken.length === 0)
    throw new Problem(403, 'TRUNKLINE_TWILIO_AUTH_TOKEN is not set');
  const signed = {
    publicUrl: publicUrl(),
    kind: 'webhook',
    target: request.originalUrl,
    fields,
  } as const;
  if (!isTwilioSignature(signature, config.twilioAuthToken, signed))
    throw new Problem(
      403,
      'X-Twilio-Signature does not match: check TRUNKLINE_TWILIO_AUTH_TOKEN and TRUNKLINE_PUBLIC_URL',
    );
  return fields;
}

function plivoFields(
  { config, publicUrl, insecure, nonces, clock }: UpgradeContext,
  request: Request,
): Fields {
  const fields = fieldsOf(request);
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
  if (!nonces.remember('plivo-webhook', nonce, clock.now() + 86_400_000))
    throw new Problem(403, 'the nonce was used before');
  return fields;
}

function fieldsOf(request: Request): Fields {
  const body: unknown = request.body;
  if (typeof body !== 'string') throw new Problem(415, 'expected a form');
  return [...new URLSearchParams(body)].slice(0, fieldsAtMost);
}

/** The token binds the stream to the call that this signed request was about (T3). */
async function answerVoice(
  context: UpgradeContext,
  all: Fields,
  response: Response,
): Promise<void> {
  const { bridge, config, publicUrl } = context;
  const fields = Object.fromEntries(all);
  const callSid = fields['CallSid'];
  if (!callSid)
    throw new Problem(400, 'Validation failed', { validationErrors: ['CallSid is missing'] });
  const { token } = await bridge.mintToken({ carrier: 'twilio', carrierCallId: callSid });
  const { From: from, To: to, Direction: direction } = fields;
  const twiml = voiceTwiml({
    publicUrl: publicUrl(),
    parameters: {
      ...(from ? { from } : {}),
      ...(to ? { to } : {}),
      ...(direction ? { direction } : {}),
      token,
    },
    dial: config.twilioDial,
    continueUrl: config.twilioContinueUrl,
  });
  response.type('text/xml').send(twiml);
}

async function keepStatus(
  { bridge }: UpgradeContext,
  carrier: string,
  callId: string | undefined,
  fields: Record<string, string>,
): Promise<void> {
  if (!callId)
    throw new Problem(400, 'Validation failed', {
      validationErrors: ['the id of the call is missing'],
    });
  await bridge.carrierStatus(carrier, callId, fields);
}

import { createHmac } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { Problem } from '../port/problem.ts';
import { isPlivoSignature } from './plivo/signature.ts';
import { checkTelnyxSignature } from './telnyx/signature.ts';
import { voiceTwiml } from './twilio/twiml.ts';
import { isTwilioSignature } from './twilio/signature.ts';
import type { UpgradeContext } from './upgrades.ts';

type Fields = [string, string][];
/** `by`: the secret and the signature that proved the fields; absent where insecure lets them in unsigned. */
type Signed = { fields: Fields; by?: { secret: string; signature: string } };

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
    await answerVoice(context, twilioFields(context, request), response);
  });
  router.post('/carriers/twilio/status', form, async (request, response) => {
    const fields = Object.fromEntries(twilioFields(context, request).fields);
    await keepStatus(context, 'twilio', fields['CallSid'], fields);
    response.status(204).end();
  });
  router.post('/carriers/plivo/status', form, async (request, response) => {
    const fields = Object.fromEntries(await plivoFields(context, request));
    await keepStatus(context, 'plivo', fields['CallUUID'], fields);
    response.status(204).end();
  });
  router.post('/carriers/signalwire/status', form, async (request, response) => {
    const { signalwireSigningKey: secrets } = context.config;
    const setting = 'TRUNKLINE_SIGNALWIRE_SIGNING_KEY';
    const signed = signedFields(context, request, 'X-SignalWire-Signature', secrets, setting);
    const fields = Object.fromEntries(signed.fields);
    await keepStatus(context, 'signalwire', fields['CallSid'], fields);
    response.status(204).end();
  });
  // The signature is over the bytes as they came, so they are not parsed on the way.
  const raw = express.raw({ type: () => true, limit: formBytesAtMost, inflate: false });
  router.post('/carriers/telnyx/status', raw, async (request, response) => {
    const fields = telnyxFields(context, request);
    await keepStatus(context, 'telnyx', fields['call_control_id'] ?? fields['CallSid'], fields);
    response.status(204).end();
  });
  return router;
}

function twilioFields(context: UpgradeContext, request: Request): Signed {
  const { twilioAuthToken: secrets } = context.config;
  const setting = 'TRUNKLINE_TWILIO_AUTH_TOKEN';
  return signedFields(context, request, 'X-Twilio-Signature', secrets, setting);
}

/** Twilio's scheme, which SignalWire shares under its own name. */
function signedFields(
  { publicUrl, insecure }: UpgradeContext,
  request: Request,
  header: string,
  secrets: readonly string[],
  setting: string,
): Signed {
  const fields = fieldsOf(request);
  const signature = request.get(header);
  if (insecure && signature === undefined) return { fields };
  if (signature === undefined) throw new Problem(401, `${header} is missing`);
  if (secrets.length === 0) throw new Problem(403, `${setting} is not set`);
  const signed = {
    publicUrl: publicUrl(),
    kind: 'webhook',
    target: request.originalUrl,
    fields,
  } as const;
  const [secret] = secrets.filter((one) => isTwilioSignature(signature, [one], signed));
  if (secret === undefined)
    throw new Problem(403, `${header} does not match: check ${setting} and TRUNKLINE_PUBLIC_URL`);
  return { fields, by: { secret, signature } };
}

/** JSON of the call control API, or the form of a TeXML callback; both are signed alike. */
function telnyxFields(
  { config, insecure, clock }: UpgradeContext,
  request: Request,
): Record<string, string> {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const signature = request.get('telnyx-signature-ed25519');
  const timestamp = request.get('telnyx-timestamp') ?? '';
  if (signature === undefined) {
    if (!insecure) throw new Problem(401, 'telnyx-signature-ed25519 is missing');
  } else {
    const { telnyxPublicKey: publicKey } = config;
    if (publicKey === undefined) throw new Problem(403, 'TRUNKLINE_TELNYX_PUBLIC_KEY is not set');
    const nowMs = clock.now();
    const check = checkTelnyxSignature({ signature, timestamp, body, publicKey, nowMs });
    if (check === 'off')
      throw new Problem(
        403,
        `clock: signed ${Math.round(Number(timestamp) - nowMs / 1_000)} s from our time`,
      );
    if (check === 'wrong')
      throw new Problem(
        403,
        'telnyx-signature-ed25519 does not match: check TRUNKLINE_TELNYX_PUBLIC_KEY',
      );
  }
  const text = body.toString('utf8');
  if (request.is('application/x-www-form-urlencoded'))
    return Object.fromEntries([...new URLSearchParams(text)].slice(0, fieldsAtMost));
  const event = TelnyxEvent.safeParse(jsonOf(text)).data?.data;
  if (event === undefined) throw new Problem(400, 'Validation failed');
  const flat = Object.entries(event.payload)
    .filter((entry): entry is [string, string | number | boolean] =>
      ['string', 'number', 'boolean'].includes(typeof entry[1]),
    )
    .map(([name, value]): [string, string] => [name, String(value)]);
  const { event_type, occurred_at = '' } = event;
  return { ...Object.fromEntries(flat.slice(0, fieldsAtMost)), event_type, occurred_at };
}

const TelnyxEvent = z.object({
  data: z.object({
    event_type: z.string().max(100),
    occurred_at: z.string().max(100).optional(),
    payload: z.record(z.string(), z.unknown()),
  }),
});

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function plivoFields(
  { config, publicUrl, insecure, bridge, clock }: UpgradeContext,
  request: Request,
): Promise<Fields> {
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
  if (!(await bridge.claimNonce('plivo-webhook', nonce, clock.now() + 86_400_000)))
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
  { fields: all, by }: Signed,
  response: Response,
): Promise<void> {
  const { bridge, config, publicUrl } = context;
  const fields = Object.fromEntries(all);
  const callSid = fields['CallSid'];
  if (!callSid)
    throw new Problem(400, 'Validation failed', { validationErrors: ['CallSid is missing'] });
  const { token } = await bridge.mintToken({
    carrier: 'twilio',
    carrierCallId: callSid,
    ...(by ? { token: tokenOf(by) } : {}),
  });
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

/**
 * The signature holds neither nonce nor time: a request that was captured stays right for ever, and one that
 * the carrier repeats is right, too. So the token is made of what was signed, and the same request gets the
 * same answer, from every process, with the one token that is good once. Of the signature's bytes, not its
 * spelling: base64 has several for the same.
 */
function tokenOf({ secret, signature }: { secret: string; signature: string }): string {
  return createHmac('sha256', secret)
    .update('stream token for ')
    .update(Buffer.from(signature, 'base64'))
    .digest()
    .subarray(0, 24)
    .toString('base64url');
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

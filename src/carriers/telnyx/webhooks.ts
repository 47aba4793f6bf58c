import type { Request } from 'express';
import { createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { parseObject } from '../json/frames.ts';
import { clockSkewSeconds } from '../metrics.ts';
import { fieldsAtMost, fieldsIn, ownRecord } from '../parameters.ts';
import { leadCall } from './call-control.ts';
import { twimlAnswer } from '../twiml.ts';
import { voiceAndStatus, type WebhookCall } from '../voice-webhooks.ts';
import type { TelnyxConfig } from './settings.ts';

/**
 * The stream token stands in the address, because Telnyx does not describe how parameters of a stream arrive. It is
 * derived from the signature, which only Telnyx can make. The parties' numbers come with the stream itself.
 */
const [voice, status] = voiceAndStatus<TelnyxConfig, WebhookCall>({
  carrier: 'telnyx',
  body: 'bytes',
  headers: [
    {
      name: 'telnyx-signature-ed25519',
      description: 'Over the timestamp and the body, checked with TRUNKLINE_TELNYX_PUBLIC_KEY.',
      schema: z.string(),
    },
    { name: 'telnyx-timestamp', description: 'Seconds, at most 300 away.', schema: z.string() },
  ],
  voice: {
    summary:
      'What a TeXML application of Telnyx asks when its number is called, and the events of a Call Control application',
    answers: 'xml',
  },
  status: { summary: 'Telnyx’ streaming webhooks' },
  callIdField: 'CallSid',
  proven(request, context) {
    const { text, signature } = signedText(request, context);
    const fields = statusFields(request, text);
    const callId = fields['call_control_id'] ?? fields['CallSid'];
    return { callId, fields, proof: signature };
  },
  answer({ fields: { Direction: direction } }, token, { config, publicUrl, announcement }) {
    return twimlAnswer({
      carrier: 'telnyx',
      publicUrl: publicUrl(),
      stream: token === undefined ? undefined : { pathToken: token, parameters: { direction } },
      announcement,
      dial: config.telnyxDial,
      continueUrl: config.telnyxContinueUrl,
    });
  },
});

export const telnyxWebhooks: readonly CarrierWebhook<TelnyxConfig>[] = [
  {
    ...voice,
    handle(request, context) {
      if (request.is('application/json')) return callControl(request, context);
      if (!request.is('application/x-www-form-urlencoded')) {
        signedText(request, context);
        throw new Problem(415, 'expected a form');
      }
      return voice.handle(request, context);
    },
  },
  status,
];

type SignedText = {
  text: string;
  /** The signature; absent if the insecure mode accepts the text unsigned. */
  signature?: string;
};

function signedText(
  request: Request,
  { config, insecure, clock }: WebhookContext<TelnyxConfig>,
): SignedText {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const signature = request.get('telnyx-signature-ed25519');
  const timestamp = request.get('telnyx-timestamp') ?? '';
  if (signature === undefined) {
    if (!insecure) throw new Problem(401, 'telnyx-signature-ed25519 is missing');
    return { text: body.toString('utf8') };
  }
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
  // The signature's bytes count: base64 has several spellings for the same bytes.
  return {
    text: body.toString('utf8'),
    signature: Buffer.from(signature, 'base64').toString('base64'),
  };
}

/** Takes the next step of the call. The event is stored with the call, like the events that come to `status`. */
async function callControl(
  request: Request,
  context: WebhookContext<TelnyxConfig>,
): Promise<{ callId: string | undefined; fields: Record<string, string> }> {
  const { text, signature } = signedText(request, context);
  if (context.config.telnyxApiKey === undefined)
    throw new Problem(403, 'TRUNKLINE_TELNYX_API_KEY is not set');
  // The insecure mode opens this process to strangers. It must not open the operator's account at Telnyx.
  if (signature === undefined)
    throw new Problem(
      401,
      'an event that commands a call must be signed: set TRUNKLINE_TELNYX_PUBLIC_KEY',
    );
  const fields = statusFields(request, text);
  const { call_control_id: callId, event_id: id, event_type: type = '' } = fields;
  await leadCall(
    {
      id: id ?? `${callId} ${type}`,
      type,
      callControlId: callId,
      clientState: fields['client_state'],
      isIncoming: fields['direction'] === 'incoming',
      hasHungUp: fields['status'] === 'call_hangup',
    },
    context,
  );
  return { callId, fields };
}

const TelnyxEvent = z.object({
  data: z.object({
    id: z.string().max(100).optional(),
    event_type: z.string().max(100),
    occurred_at: z.string().max(100).optional(),
    payload: z.record(z.string(), z.unknown()),
  }),
});

/** Reads JSON of the Call Control API, or the form of a TeXML callback. Both are signed alike. */
function statusFields(request: Request, text: string): Record<string, string> {
  if (request.is('application/x-www-form-urlencoded')) return ownRecord(fieldsIn(text));
  const event = TelnyxEvent.safeParse(parseObject(text)).data?.data;
  if (event === undefined) throw new Problem(400, 'Validation failed');
  const flat = Object.entries(event.payload)
    .filter((entry): entry is [string, string | number | boolean] =>
      ['string', 'number', 'boolean'].includes(typeof entry[1]),
    )
    .map(([name, value]): [string, string] => [name, String(value)])
    .slice(0, fieldsAtMost);
  const { id, event_type, occurred_at = '' } = event;
  return ownRecord([
    ...flat,
    ['event_type', event_type],
    ['occurred_at', occurred_at],
    ...(id === undefined ? [] : [['event_id', id] satisfies [string, string]]),
  ]);
}

/** The bytes before the 32 of an Ed25519 key, in the form that crypto reads (SPKI). */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 signature is 64 bytes. Anything else is refused before it is checked. */
const signatureForm = /^[A-Za-z0-9+/]{86}==$/;
const timestampForm = /^\d{10}$/;
const toleranceS = 300;

/**
 * The signature covers the timestamp, a bar, and the body as it was received. The time is checked last, so `off` means
 * that only the time was wrong. The operator then has to check our clock and not the key.
 */
export function checkTelnyxSignature(options: {
  signature: string;
  timestamp: string;
  body: Buffer;
  publicKey: string;
  nowMs: number;
}): 'good' | 'wrong' | 'off' {
  const { signature, timestamp, body, publicKey, nowMs } = options;
  if (!signatureForm.test(signature) || !timestampForm.test(timestamp)) return 'wrong';
  const key = createPublicKey({
    key: Buffer.concat([spkiPrefix, Buffer.from(publicKey, 'base64')]),
    format: 'der',
    type: 'spki',
  });
  const message = Buffer.concat([Buffer.from(`${timestamp}|`), body]);
  if (!verify(null, message, key, Buffer.from(signature, 'base64'))) return 'wrong';
  const aheadS = Number(timestamp) - nowMs / 1_000;
  clockSkewSeconds.set({ carrier: 'telnyx' }, aheadS);
  return Math.abs(aheadS) > toleranceS ? 'off' : 'good';
}

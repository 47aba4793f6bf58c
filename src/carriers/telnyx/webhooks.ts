import type { Request } from 'express';
import { createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { fieldsAtMost, fieldsIn } from '../forms.ts';
import { parseObject } from '../json/frames.ts';
import { clockSkewSeconds } from '../metrics.ts';
import { ownRecord } from '../parameters.ts';
import type { TelnyxConfig } from './settings.ts';

export const telnyxWebhooks: readonly CarrierWebhook<TelnyxConfig>[] = [
  {
    action: 'status',
    body: 'bytes',
    summary: 'Telnyx’ streaming webhooks',
    headers: [
      {
        name: 'telnyx-signature-ed25519',
        description: 'Over the timestamp and the body, checked with TRUNKLINE_TELNYX_PUBLIC_KEY.',
        schema: z.string(),
      },
      { name: 'telnyx-timestamp', description: 'Seconds, at most 300 away.', schema: z.string() },
    ],
    answers: 'kept',
    handle: (request, context) => {
      const fields = statusFields(request, signedText(request, context));
      return Promise.resolve({ callId: fields['call_control_id'] ?? fields['CallSid'], fields });
    },
  },
];

function signedText(
  request: Request,
  { config, insecure, clock }: WebhookContext<TelnyxConfig>,
): string {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const signature = request.get('telnyx-signature-ed25519');
  const timestamp = request.get('telnyx-timestamp') ?? '';
  if (signature === undefined) {
    if (!insecure) throw new Problem(401, 'telnyx-signature-ed25519 is missing');
    return body.toString('utf8');
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
  return body.toString('utf8');
}

const TelnyxEvent = z.object({
  data: z.object({
    event_type: z.string().max(100),
    occurred_at: z.string().max(100).optional(),
    payload: z.record(z.string(), z.unknown()),
  }),
});

/** JSON of the call control API, or the form of a TeXML callback; both are signed alike. */
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
  const { event_type, occurred_at = '' } = event;
  return ownRecord([...flat, ['event_type', event_type], ['occurred_at', occurred_at]]);
}

/** What stands before the 32 bytes of an Ed25519 key in the form that crypto reads (SPKI). */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 signature is 64 bytes; anything else is refused before it is looked at. */
const signatureForm = /^[A-Za-z0-9+/]{86}==$/;
const timestampForm = /^\d{10}$/;
const toleranceS = 300;

/**
 * The signature is over the timestamp, a bar, and the body as it was received. The clock is looked at last, so
 * that `off` says that only the time was wrong: then our clock is to be checked, not the key.
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

import { createHmac } from 'node:crypto';
import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { signedForm, type SignedForm } from '../forms.ts';
import { ownRecord } from '../parameters.ts';
import type { TwilioConfig } from './settings.ts';

const headers = [
  {
    name: 'x-twilio-signature',
    description: 'Twilio’s signature, checked with TRUNKLINE_TWILIO_AUTH_TOKEN.',
    schema: z.string(),
  },
];

export const twilioWebhooks: readonly CarrierWebhook<TwilioConfig>[] = [
  {
    action: 'voice',
    body: 'form',
    summary: 'What a Twilio number asks when it is called',
    headers,
    answers: 'xml',
    handle: async (request, context) => ({
      xml: await voiceAnswer(signed(request, context), context),
    }),
  },
  {
    action: 'status',
    body: 'form',
    summary: 'Twilio’s status callbacks',
    headers,
    answers: 'kept',
    handle: (request, context) => {
      const fields = ownRecord(signed(request, context).fields);
      return Promise.resolve({ callId: fields['CallSid'], fields });
    },
  },
];

function signed(request: Request, context: WebhookContext<TwilioConfig>): SignedForm {
  return signedForm(request, context, {
    header: 'X-Twilio-Signature',
    secrets: context.config.twilioAuthToken,
    setting: 'TRUNKLINE_TWILIO_AUTH_TOKEN',
  });
}

/** The token binds the stream to the call that this signed request was about: it lets no other call in. */
async function voiceAnswer(
  { fields: all, by }: SignedForm,
  { bridge, config, publicUrl }: WebhookContext<TwilioConfig>,
): Promise<string> {
  const fields = ownRecord(all);
  const callSid = fields['CallSid'];
  if (!callSid)
    throw new Problem(400, 'Validation failed', { validationErrors: ['CallSid is missing'] });
  const { token } = await bridge.mintToken({
    carrier: 'twilio',
    carrierCallId: callSid,
    ...(by ? { token: tokenOf(by) } : {}),
  });
  const { From: from, To: to, Direction: direction } = fields;
  return voiceTwiml({
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
}

/**
 * Twilio's signature holds neither nonce nor time: a request that was captured stays right for ever, and a
 * request that Twilio repeats is right, too. So the token is made of what was signed: the same request gets
 * the same answer from every process, with the one token that is good once. It is made of the signature's
 * bytes and not of its text, because base64 has several spellings for the same bytes.
 */
function tokenOf({ secret, signature }: { secret: string; signature: string }): string {
  return createHmac('sha256', secret)
    .update('stream token for ')
    .update(Buffer.from(signature, 'base64'))
    .digest()
    .subarray(0, 24)
    .toString('base64url');
}

type TwimlOptions = {
  /** Base address by which the carrier reaches us. */
  publicUrl: string;
  parameters: Record<string, string>;
  dial: string | undefined;
  continueUrl: string | undefined;
};

/** As long as a call may last: without a verb behind <Start> the call would hang up at once. */
const pauseS = 14_400;

/** Starts a fork of both tracks and then goes on with the call: a fork that fails leaves the call alone. */
function voiceTwiml({ publicUrl, parameters, dial, continueUrl }: TwimlOptions): string {
  const socketUrl = `${publicUrl.replace(/^http/, 'ws')}/carriers/twilio`;
  const list = Object.entries(parameters)
    .map(([name, value]) => `<Parameter name="${escape(name)}" value="${escape(value)}"/>`)
    .join('');
  const stream =
    `<Stream url="${escape(socketUrl)}" track="both_tracks" ` +
    `statusCallback="${escape(`${publicUrl}/carriers/twilio/status`)}" statusCallbackMethod="POST">${list}</Stream>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Start>${stream}</Start>${next(dial, continueUrl)}</Response>\n`;
}

function next(dial: string | undefined, continueUrl: string | undefined): string {
  if (continueUrl !== undefined) return `<Redirect method="POST">${escape(continueUrl)}</Redirect>`;
  if (dial === undefined) return `<Pause length="${pauseS}"/>`;
  return dial.startsWith('sip:')
    ? `<Dial><Sip>${escape(dial)}</Sip></Dial>`
    : `<Dial>${escape(dial)}</Dial>`;
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escape(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (char) => entities[char] ?? '')
      // Characters that XML has no form for.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
  );
}

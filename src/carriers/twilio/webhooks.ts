import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { signedForm, type SignedForm } from '../forms.ts';
import { ownRecord } from '../parameters.ts';
import {
  answerPauseS,
  element,
  socketUrlOf,
  tokenOf,
  xmlDocument,
  xmlText,
} from '../voice-answer.ts';
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

/**
 * The token binds the stream to the call that this signed request was about: it lets no other call in.
 * Twilio's signature holds neither nonce nor time: a request that was captured stays right for ever, and a
 * request that Twilio repeats is right, too. So the token is made of what was signed: of the signature's
 * bytes and not of its text, because base64 has several spellings for the same bytes.
 */
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
    ...(by ? { token: tokenOf(by.secret, Buffer.from(by.signature, 'base64')) } : {}),
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

type TwimlOptions = {
  /** Base address by which the carrier reaches us. */
  publicUrl: string;
  parameters: Record<string, string>;
  dial: string | undefined;
  continueUrl: string | undefined;
};

/** Starts a fork of both tracks and then goes on with the call: a fork that fails leaves the call alone. */
function voiceTwiml({ publicUrl, parameters, dial, continueUrl }: TwimlOptions): string {
  const stream = element(
    'Stream',
    {
      url: socketUrlOf(publicUrl, 'twilio'),
      track: 'both_tracks',
      statusCallback: `${publicUrl}/carriers/twilio/status`,
      statusCallbackMethod: 'POST',
    },
    Object.entries(parameters).map(([name, value]) => element('Parameter', { name, value })),
  );
  return xmlDocument(
    element('Response', {}, [element('Start', {}, [stream]), next(dial, continueUrl)]),
  );
}

function next(dial: string | undefined, continueUrl: string | undefined): string {
  if (continueUrl !== undefined)
    return element('Redirect', { method: 'POST' }, [xmlText(continueUrl)]);
  if (dial === undefined) return element('Pause', { length: String(answerPauseS) });
  return element(
    'Dial',
    {},
    dial.startsWith('sip:') ? [element('Sip', {}, [xmlText(dial)])] : [xmlText(dial)],
  );
}

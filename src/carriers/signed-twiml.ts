import type { Request } from 'express';
import { z } from 'zod';
import type { CarrierWebhook, WebhookContext } from './carrier.ts';
import { requiredCallId, signedForm, type SignedForm } from './forms.ts';
import { ownRecord } from './parameters.ts';
import { streamToken } from './stream-token.ts';
import { twimlAnswer } from './twiml.ts';
import { consentOf, tokenOf, type NextStep } from './voice-answer.ts';

type TwimlCompany<Config> = {
  carrier: string;
  /** As a person writes it. */
  company: string;
  /** The header of the signature, and the setting of the secrets that it is made with. */
  header: string;
  setting: string;
  secrets: (config: Config) => readonly string[];
  next: (config: Config) => NextStep;
};

/** The webhooks of those who speak TwiML and sign their forms by HMAC-SHA1 over our address. */
export function signedTwimlWebhooks<Config>(
  of: TwimlCompany<Config>,
): readonly CarrierWebhook<Config>[] {
  const { company, header, setting } = of;
  const headers = [
    {
      name: header.toLowerCase(),
      description: `${company}’s signature, checked with ${setting}.`,
      schema: z.string(),
    },
  ];
  const signed = (request: Request, context: WebhookContext<Config>): SignedForm =>
    signedForm(request, context, { header, setting, secrets: of.secrets(context.config) });
  return [
    {
      action: 'voice',
      body: 'form',
      summary: `What a ${company} number asks when it is called`,
      headers,
      answers: 'xml',
      handle: async (request, context) => ({
        xml: await voiceAnswer(of, signed(request, context), context),
      }),
    },
    {
      action: 'status',
      body: 'form',
      summary: `${company}’s status callbacks`,
      headers,
      answers: 'kept',
      handle: (request, context) => {
        const fields = ownRecord(signed(request, context).fields);
        return Promise.resolve({ callId: fields['CallSid'], fields });
      },
    },
  ];
}

/**
 * The token binds the stream to the call that this signed request was about: it lets no other call in.
 * The signature holds neither nonce nor time: a request that was captured stays right for ever, and a request
 * that the carrier repeats is right, too. So the token is made of what was signed: of the signature's bytes and
 * not of its text, because base64 has several spellings for the same bytes.
 */
async function voiceAnswer<Config>(
  { carrier, next }: TwimlCompany<Config>,
  { fields: all, by }: SignedForm,
  context: WebhookContext<Config>,
): Promise<string> {
  const { config, publicUrl, announcement } = context;
  const fields = ownRecord(all);
  const token = await streamToken(context, {
    carrier,
    carrierCallId: requiredCallId(fields['CallSid'], 'CallSid'),
    ...consentOf(announcement),
    ...(by ? { token: tokenOf(by.secret, Buffer.from(by.signature, 'base64')) } : {}),
  });
  const { From: from, To: to, Direction: direction } = fields;
  return twimlAnswer({
    carrier,
    publicUrl: publicUrl(),
    stream: token === undefined ? undefined : { parameters: { from, to, direction, token } },
    announcement,
    ...next(config),
  });
}

import { z } from 'zod';
import type { CarrierWebhook } from './carrier.ts';
import { signedForm } from './forms.ts';
import { ownRecord } from './parameters.ts';
import { twimlAnswer } from './twiml.ts';
import type { NextStep } from './voice-answer.ts';
import { voiceAndStatus } from './voice-webhooks.ts';

type TwimlCompany<Config> = {
  carrier: string;
  /** The company's name as a person writes it. */
  company: string;
  /** The header that holds the signature, and the setting that holds its secrets. */
  header: string;
  setting: string;
  secrets: (config: Config) => readonly string[];
  next: (config: Config) => NextStep;
};

/**
 * The webhooks of companies that speak TwiML and sign their forms by HMAC-SHA1 over our address. The signature holds
 * neither nonce nor time, so a captured or repeated request stays valid for ever. The token is therefore derived from
 * the signature, and a repeated request gets the same token. The signature's bytes count and not its text, because
 * base64 has several spellings for the same bytes.
 */
export function signedTwimlWebhooks<Config>(
  of: TwimlCompany<Config>,
): readonly CarrierWebhook<Config>[] {
  const { carrier, company, header, setting } = of;
  return voiceAndStatus<Config, ReturnType<typeof proven>>({
    carrier,
    body: 'form',
    headers: [
      {
        name: header.toLowerCase(),
        description: `${company}’s signature, checked with ${setting}.`,
        schema: z.string(),
      },
    ],
    voice: { summary: `What a ${company} number asks when it is called`, answers: 'xml' },
    status: { summary: `${company}’s status callbacks` },
    callIdField: 'CallSid',
    proven: (request, context) =>
      proven(
        signedForm(request, context, { header, setting, secrets: of.secrets(context.config) }),
      ),
    answer({ fields }, token, { config, publicUrl, announcement }) {
      const { From: from, To: to, Direction: direction } = fields;
      return twimlAnswer({
        carrier,
        publicUrl: publicUrl(),
        stream: token === undefined ? undefined : { parameters: { from, to, direction, token } },
        announcement,
        ...of.next(config),
      });
    },
  });
}

function proven({ fields: all, signature }: ReturnType<typeof signedForm>) {
  const fields = ownRecord(all);
  const proof =
    signature === undefined ? {} : { proof: Buffer.from(signature, 'base64').toString('base64') };
  return { callId: fields['CallSid'], fields, ...proof };
}

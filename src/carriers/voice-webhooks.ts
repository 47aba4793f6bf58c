import type { Request } from 'express';
import type { Parameter } from '../protocol/openapi/route.ts';
import type { CarrierWebhook, WebhookContext } from './carrier.ts';
import { requiredCallId } from './forms.ts';
import { streamToken } from './stream-token.ts';
import { consentOf } from './voice-answer.ts';

/** The content of a webhook whose proof was right. */
export type WebhookCall = {
  callId: string | undefined;
  fields: Record<string, string>;
  /**
   * The text that proves the request. The stream token is derived from it, so the same proof gets the same answer
   * again. Absent if the insecure mode accepts the request without a proof; each answer then has a new token.
   */
  proof?: string | undefined;
};

type VoiceAndStatus<Config, Told extends WebhookCall> = {
  carrier: string;
  body: 'form' | 'bytes';
  headers: Parameter[];
  voice: { method?: 'get'; summary: string; answers: 'xml' | 'json' };
  status: { summary: string };
  /** The name of the field in which the carrier sends its id of the call. */
  callIdField: string;
  /** False if we say nothing to the caller before the stream. */
  announces?: boolean;
  /** Checks the signature or the password first. Throws a Problem if anything is wrong. */
  proven(request: Request, context: WebhookContext<Config>): Told;
  /** Makes the answer to the voice webhook. Without a token, the call continues without its stream. */
  answer(told: Told, token: string | undefined, context: WebhookContext<Config>): string | object;
  /** Uses up the nonce of a status callback; absent if the carrier's proof holds none. */
  useUp?(told: Told, context: WebhookContext<Config>): Promise<void>;
};

/**
 * The two webhooks of a carrier whose numbers ask us what to do. `voice` answers with a stream and with the next step
 * of the call. `status` is stored with the call. The stream's token is valid only for the call that the proven request
 * was about.
 */
export function voiceAndStatus<Config, Told extends WebhookCall>(
  of: VoiceAndStatus<Config, Told>,
): readonly [CarrierWebhook<Config>, CarrierWebhook<Config>] {
  const { carrier, body, headers, callIdField, announces = true } = of;
  return [
    {
      ...of.voice,
      action: 'voice',
      body,
      headers,
      async handle(request, context) {
        const told = of.proven(request, context);
        const token = await streamToken(context, {
          carrier,
          carrierCallId: requiredCallId(told.callId, callIdField),
          ...consentOf(announces ? context.announcement : undefined),
          madeOf: told.proof,
        });
        const answer = of.answer(told, token, context);
        return typeof answer === 'string' ? { xml: answer } : { json: answer };
      },
    },
    {
      ...of.status,
      action: 'status',
      body,
      headers,
      answers: 'kept',
      async handle(request, context) {
        const told = of.proven(request, context);
        await of.useUp?.(told, context);
        return { callId: told.callId, fields: told.fields };
      },
    },
  ];
}

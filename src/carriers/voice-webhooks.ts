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
   * The text that was proven, for the stream token: the same proof, sent again, brings the same answer. Absent where
   * the insecure mode lets the request in without a proof; each such answer then has a token of its own.
   */
  proof?: string;
};

type VoiceAndStatus<Config, Told extends WebhookCall> = {
  carrier: string;
  body: 'form' | 'bytes';
  headers: Parameter[];
  voice: { method?: 'get'; summary: string; answers: 'xml' | 'json' };
  status: { summary: string };
  /** The name of the field in which the carrier sends its id of the call. */
  callIdField: string;
  /** False where nothing of ours is said to the caller before the stream. */
  announces?: boolean;
  /** Checks the signature or the password first; throws a Problem for whatever is wrong. */
  proven(request: Request, context: WebhookContext<Config>): Told;
  /** Without a token the call goes on without its stream. */
  answer(told: Told, token: string | undefined, context: WebhookContext<Config>): string | object;
  /** Uses up the proof of a status callback, where it holds a nonce. */
  useUp?(told: Told, context: WebhookContext<Config>): Promise<void>;
};

/**
 * The two webhooks of a carrier whose numbers ask us what to do: `voice` answers with a stream and where the call goes
 * on, `status` is kept with the call. The stream's token is bound to the call that the proven request was about.
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
          ...(told.proof === undefined ? {} : { madeOf: told.proof }),
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

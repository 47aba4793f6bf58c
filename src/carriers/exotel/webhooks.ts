import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { basicProof, jsonBody, requiredCallId, type BasicProof } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { fieldsIn, ownRecord, splitTarget } from '../parameters.ts';
import { streamToken } from '../stream-token.ts';
import { socketUrlOf, tokenOf } from '../voice-answer.ts';
import type { ExotelConfig } from './settings.ts';

const headers = [
  {
    name: 'authorization',
    description:
      'HTTP Basic, checked with TRUNKLINE_EXOTEL_USERNAME and TRUNKLINE_EXOTEL_PASSWORD.',
    schema: z.string(),
  },
];

export const exotelWebhooks: readonly CarrierWebhook<ExotelConfig>[] = [
  {
    method: 'get',
    action: 'voice',
    body: 'form',
    summary: 'What a Stream applet of Exotel asks for the address of its stream',
    headers,
    answers: 'json',
    handle: async (request, context) => ({ json: { url: await streamUrl(request, context) } }),
  },
  {
    method: 'get',
    action: 'status',
    body: 'form',
    summary: 'What a Passthru applet of Exotel tells of a call',
    headers,
    answers: 'kept',
    handle(request, context) {
      proven(request, context);
      return Promise.resolve(kept(askedFields(request)));
    },
  },
  {
    action: 'status',
    body: 'bytes',
    summary: 'Exotel’s status callbacks',
    headers,
    answers: 'kept',
    handle(request, context) {
      proven(request, context);
      return Promise.resolve(kept(toldFields(request)));
    },
  },
];

function proven(request: Request, context: WebhookContext<ExotelConfig>): BasicProof | undefined {
  const { exotelUsername: username, exotelPassword: password } = context.config;
  return basicProof(request, { username, password }, context);
}

/** One call has one token, however often its applet asks: good once, and for that call. */
async function streamUrl(request: Request, context: WebhookContext<ExotelConfig>): Promise<string> {
  const by = proven(request, context);
  const fields = askedFields(request);
  const callId = requiredCallId(fields['CallSid'], 'CallSid');
  const token = await streamToken(context, {
    carrier: 'exotel',
    carrierCallId: callId,
    ...(by ? { token: tokenOf(by.password, JSON.stringify(['exotel', callId])) } : {}),
  });
  // The applet that asks is passed over, and the flow goes on.
  if (token === undefined) throw new Problem(503, 'no stream can be had now');
  const url = new URL(`${socketUrlOf(context.publicUrl(), 'exotel')}/${token}`);
  url.searchParams.set('sample-rate', '16000');
  const direction = /^(?:in|out)/.exec(fields['Direction'] ?? '')?.[0];
  if (direction) url.searchParams.set('direction', `${direction}bound`);
  return url.href;
}

function askedFields({ originalUrl }: Request): Record<string, string> {
  return ownRecord(fieldsIn(splitTarget(originalUrl).query));
}

/** A form or JSON, as the request for the callback says. */
function toldFields(request: Request): Record<string, string> {
  if (request.is('application/json')) return textParameters(jsonBody(request));
  if (!request.is('application/x-www-form-urlencoded'))
    throw new Problem(
      415,
      'expected a form or JSON: set StatusCallbackContentType=application/json',
    );
  const body: unknown = request.body;
  return ownRecord(fieldsIn(Buffer.isBuffer(body) ? body.toString('utf8') : ''));
}

function kept(fields: Record<string, string>) {
  return { callId: fields['CallSid'], fields };
}

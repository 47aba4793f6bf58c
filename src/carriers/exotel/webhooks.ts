import type { Request } from 'express';
import { z } from 'zod';
import { Problem } from '../../port/problem.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { basicProof, jsonBody, type BasicProof } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { fieldsIn, ownRecord, splitTarget } from '../parameters.ts';
import { socketUrlOf } from '../voice-answer.ts';
import { voiceAndStatus, type WebhookCall } from '../voice-webhooks.ts';
import type { ExotelConfig } from './settings.ts';

const headers = [
  {
    name: 'authorization',
    description:
      'HTTP Basic, checked with TRUNKLINE_EXOTEL_USERNAME and TRUNKLINE_EXOTEL_PASSWORD.',
    schema: z.string(),
  },
];

/** The stream token is derived from the call's id. An applet that asks again for the same call gets the same token. */
const [voice, asked] = voiceAndStatus<ExotelConfig, WebhookCall>({
  carrier: 'exotel',
  body: 'form',
  headers,
  voice: {
    method: 'get',
    summary: 'What a Stream applet of Exotel asks for the address of its stream',
    answers: 'json',
  },
  status: { summary: 'What a Passthru applet of Exotel tells of a call' },
  callIdField: 'CallSid',
  announces: false,
  proven(request, context) {
    const by = proven(request, context);
    const { callId, fields } = kept(askedFields(request));
    return { callId, fields, ...(by ? { proof: String(callId) } : {}) };
  },
  answer: ({ fields }, token, { publicUrl }) => ({ url: streamUrl(fields, token, publicUrl()) }),
});

export const exotelWebhooks: readonly CarrierWebhook<ExotelConfig>[] = [
  voice,
  { ...asked, method: 'get' },
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

function streamUrl(
  fields: Record<string, string>,
  token: string | undefined,
  publicUrl: string,
): string {
  // Exotel skips an applet that gets no address, and the call flow continues.
  if (token === undefined) throw new Problem(503, 'no stream can be opened now: try again');
  const url = new URL(`${socketUrlOf(publicUrl, 'exotel')}/${token}`);
  url.searchParams.set('sample-rate', '16000');
  const direction = /^(?:in|out)/.exec(fields['Direction'] ?? '')?.[0];
  if (direction) url.searchParams.set('direction', `${direction}bound`);
  return url.href;
}

function askedFields({ originalUrl }: Request): Record<string, string> {
  return ownRecord(fieldsIn(splitTarget(originalUrl).query));
}

/** The callback is a form or JSON, as the request for the callback chose. */
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

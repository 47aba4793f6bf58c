import type { Request } from 'express';
import { z } from 'zod';
import { isObject } from '../../lib/json.ts';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { basicProof, jsonBody, requiredCallId, type BasicProof } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { ownRecord } from '../parameters.ts';
import { streamToken } from '../stream-token.ts';
import {
  answerPauseS,
  consentOf,
  element,
  socketUrlOf,
  tokenOf,
  xmlDocument,
  xmlText,
} from '../voice-answer.ts';
import type { BandwidthConfig } from './settings.ts';

const headers = [
  {
    name: 'authorization',
    description:
      'HTTP Basic, checked with TRUNKLINE_BANDWIDTH_USERNAME and TRUNKLINE_BANDWIDTH_PASSWORD.',
    schema: z.string(),
  },
];

export const bandwidthWebhooks: readonly CarrierWebhook<BandwidthConfig>[] = [
  {
    action: 'voice',
    body: 'bytes',
    summary: 'What a Bandwidth application asks when a call comes in',
    headers,
    answers: 'xml',
    handle: async (request, context) => ({
      xml: await voiceAnswer(provenEvent(request, context), context),
    }),
  },
  {
    action: 'status',
    body: 'bytes',
    summary: 'Bandwidth’s status callbacks, of calls and of streams',
    headers,
    answers: 'kept',
    handle: (request, context) => {
      const { fields } = provenEvent(request, context);
      return Promise.resolve({ callId: fields['callId'], fields });
    },
  },
];

type ProvenEvent = { fields: Record<string, string>; by?: BasicProof };

function provenEvent(request: Request, context: WebhookContext<BandwidthConfig>): ProvenEvent {
  const { bandwidthUsername: username, bandwidthPassword: password } = context.config;
  const by = basicProof(request, { username, password }, context);
  return { fields: fieldsOf(request), ...(by ? { by } : {}) };
}

/** What is plain in the event; of a stream, its id and what it is called as well. */
function fieldsOf(request: Request): Record<string, string> {
  const event = jsonBody(request);
  const { mediaStream } = event;
  const ofStream = isObject(mediaStream) ? Object.entries(textParameters(mediaStream)) : [];
  return ownRecord([
    ...Object.entries(textParameters(event)),
    ...ofStream.map(([name, value]) => [`mediaStream.${name}`, value] as const),
  ]);
}

/**
 * The token binds the stream to the call that this request was about. It is made of the call's id: the event
 * of one call, however often it is sent, brings the one token that is good once.
 */
async function voiceAnswer(
  { fields, by }: ProvenEvent,
  context: WebhookContext<BandwidthConfig>,
): Promise<string> {
  const { config, publicUrl, announcement } = context;
  const { from, to, direction } = fields;
  const callId = requiredCallId(fields['callId'], 'callId');
  const token = await streamToken(context, {
    carrier: 'bandwidth',
    carrierCallId: callId,
    ...consentOf(announcement),
    ...(by ? { token: tokenOf(by.password, `bandwidth ${callId}`) } : {}),
  });
  const { bandwidthDial: dial, bandwidthContinueUrl: continueUrl } = config;
  const then = next(dial, continueUrl);
  if (token === undefined) return xmlDocument(element('Response', {}, [then]));
  const said =
    announcement === undefined ? [] : [element('SpeakSentence', {}, [xmlText(announcement)])];
  const started = startStream(publicUrl(), { from, to, direction, token }, by);
  return xmlDocument(element('Response', {}, [...said, started, then]));
}

/** A stream of both tracks, which does not hold the call up: it goes on whatever became of the stream. */
function startStream(
  publicUrl: string,
  parameters: Record<string, string | undefined>,
  by: ProvenEvent['by'],
): string {
  return element(
    'StartStream',
    {
      name: 'trunkline',
      mode: 'unidirectional',
      tracks: 'both',
      destination: socketUrlOf(publicUrl, 'bandwidth'),
      destinationUsername: by?.username,
      destinationPassword: by?.password,
      streamEventUrl: `${publicUrl}/carriers/bandwidth/status`,
      streamEventMethod: 'POST',
      username: by?.username,
      password: by?.password,
    },
    Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [element('StreamParam', { name, value: value.slice(0, 2_048) })],
    ),
  );
}

function next(dial: string | undefined, continueUrl: string | undefined): string {
  if (continueUrl !== undefined)
    return element('Redirect', { redirectUrl: continueUrl, redirectMethod: 'POST' });
  if (dial === undefined) return element('Pause', { duration: String(answerPauseS) });
  return element('Transfer', {}, [
    element(dial.startsWith('sip:') ? 'SipUri' : 'PhoneNumber', {}, [xmlText(dial)]),
  ]);
}

import type { Request } from 'express';
import { z } from 'zod';
import { isObject } from '../../lib/json.ts';
import type { WebhookContext } from '../carrier.ts';
import { basicProof, jsonBody, type BasicProof } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { ownRecord } from '../parameters.ts';
import { answerPauseS, element, socketUrlOf, xmlDocument, xmlText } from '../voice-answer.ts';
import { voiceAndStatus, type WebhookCall } from '../voice-webhooks.ts';
import type { BandwidthConfig } from './settings.ts';

type BandwidthEvent = WebhookCall & { by?: BasicProof };

/**
 * The stream token is derived from the call's id. An event that is sent again for the same call gets the same token.
 */
export const bandwidthWebhooks = voiceAndStatus<BandwidthConfig, BandwidthEvent>({
  carrier: 'bandwidth',
  body: 'bytes',
  headers: [
    {
      name: 'authorization',
      description:
        'HTTP Basic, checked with TRUNKLINE_BANDWIDTH_USERNAME and TRUNKLINE_BANDWIDTH_PASSWORD.',
      schema: z.string(),
    },
  ],
  voice: { summary: 'What a Bandwidth application asks when a call comes in', answers: 'xml' },
  status: { summary: 'Bandwidth’s status callbacks, of calls and of streams' },
  callIdField: 'callId',
  proven(request, context) {
    const { bandwidthUsername: username, bandwidthPassword: password } = context.config;
    const by = basicProof(request, { username, password }, context);
    const fields = fieldsOf(request);
    const callId = fields['callId'];
    return { callId, fields, ...(by ? { by, proof: String(callId) } : {}) };
  },
  answer: voiceAnswer,
});

/** Collects the plain values of the event. The id and the name of its stream are prefixed with `mediaStream.`. */
function fieldsOf(request: Request): Record<string, string> {
  const event = jsonBody(request);
  const { mediaStream } = event;
  const ofStream = isObject(mediaStream) ? Object.entries(textParameters(mediaStream)) : [];
  return ownRecord([
    ...Object.entries(textParameters(event)),
    ...ofStream.map(([name, value]) => [`mediaStream.${name}`, value] as const),
  ]);
}

function voiceAnswer(
  { fields, by }: BandwidthEvent,
  token: string | undefined,
  { config, publicUrl, announcement }: WebhookContext<BandwidthConfig>,
): string {
  const { from, to, direction } = fields;
  const { bandwidthDial: dial, bandwidthContinueUrl: continueUrl } = config;
  const then = next(dial, continueUrl);
  if (token === undefined) return xmlDocument(element('Response', {}, [then]));
  const said =
    announcement === undefined ? [] : [element('SpeakSentence', {}, [xmlText(announcement)])];
  const started = startStream(publicUrl(), { from, to, direction, token }, by);
  return xmlDocument(element('Response', {}, [...said, started, then]));
}

/** Starts a stream of both tracks. The call continues at once, even if the stream fails. */
function startStream(
  publicUrl: string,
  parameters: Record<string, string | undefined>,
  by: BandwidthEvent['by'],
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

import type { Request } from 'express';
import { z } from 'zod';
import type { CarrierWebhook, WebhookContext } from '../carrier.ts';
import { basicProof, jsonBody, requiredCallId, type BasicProof } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { ownRecord } from '../parameters.ts';
import { streamToken } from '../stream-token.ts';
import { answerPauseS, consentOf, socketUrlOf, tokenOf, type NextStep } from '../voice-answer.ts';
import type { JambonzConfig } from './settings.ts';

const headers = [
  {
    name: 'authorization',
    description:
      'HTTP Basic, checked with TRUNKLINE_JAMBONZ_USERNAME and TRUNKLINE_JAMBONZ_PASSWORD.',
    schema: z.string(),
  },
];

export const jambonzWebhooks: readonly CarrierWebhook<JambonzConfig>[] = [
  {
    action: 'voice',
    body: 'bytes',
    summary: 'What a jambonz application asks when a call comes in (calling webhook)',
    headers,
    answers: 'json',
    handle: async (request, context) => ({
      json: await voiceAnswer(provenCall(request, context), context),
    }),
  },
  {
    action: 'status',
    body: 'bytes',
    summary: 'jambonz’ call status webhook',
    headers,
    answers: 'kept',
    handle: (request, context) => {
      const { callId, fields } = provenCall(request, context);
      return Promise.resolve({ callId, fields });
    },
  },
];

type ProvenCall = { callId: string | undefined; fields: Record<string, string>; by?: BasicProof };

function provenCall(request: Request, context: WebhookContext<JambonzConfig>): ProvenCall {
  const { jambonzUsername: username, jambonzPassword: password } = context.config;
  const by = basicProof(request, { username, password }, context);
  const fields = ownRecord(Object.entries(textParameters(jsonBody(request))));
  return { callId: fields['call_sid'], fields, ...(by ? { by } : {}) };
}

/**
 * `config` starts the stream beside the verbs that follow, so that a stream that cannot be had holds nothing up.
 * The token is made of the call's id: one call has one, however often its webhook comes.
 */
async function voiceAnswer(
  { callId: named, by }: ProvenCall,
  context: WebhookContext<JambonzConfig>,
): Promise<object[]> {
  const { config, publicUrl, announcement } = context;
  const callId = requiredCallId(named, 'call_sid');
  const token = await streamToken(context, {
    carrier: 'jambonz',
    carrierCallId: callId,
    ...consentOf(announcement),
    ...(by ? { token: tokenOf(by.password, JSON.stringify(['jambonz', callId])) } : {}),
  });
  const { jambonzDial: dial, jambonzContinueUrl: continueUrl } = config;
  const next = nextVerb({ dial, continueUrl });
  if (token === undefined) return [next];
  const listen = {
    enable: true,
    url: socketUrlOf(publicUrl(), 'jambonz'),
    mixType: 'stereo',
    sampleRate: 16_000,
    passDtmf: true,
    metadata: { token },
  };
  const said = announcement === undefined ? [] : [{ verb: 'say', text: announcement }];
  return [...said, { verb: 'config', listen }, next];
}

function nextVerb({ dial, continueUrl }: NextStep): object {
  if (continueUrl !== undefined) return { verb: 'redirect', actionHook: continueUrl };
  if (dial === undefined) return { verb: 'pause', length: answerPauseS };
  return {
    verb: 'dial',
    target: [
      dial.startsWith('sip:') ? { type: 'sip', sipUri: dial } : { type: 'phone', number: dial },
    ],
  };
}

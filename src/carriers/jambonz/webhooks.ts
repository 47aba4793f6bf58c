import { z } from 'zod';
import type { WebhookContext } from '../carrier.ts';
import { basicProof, jsonBody } from '../forms.ts';
import { textParameters } from '../json/frames.ts';
import { ownRecord } from '../parameters.ts';
import { answerPauseS, socketUrlOf, type NextStep } from '../voice-answer.ts';
import { voiceAndStatus, type WebhookCall } from '../voice-webhooks.ts';
import type { JambonzConfig } from './settings.ts';

/**
 * The stream token is derived from the call's id. A webhook that is sent again for the same call gets the same token.
 */
export const jambonzWebhooks = voiceAndStatus<JambonzConfig, WebhookCall>({
  carrier: 'jambonz',
  body: 'bytes',
  headers: [
    {
      name: 'authorization',
      description:
        'HTTP Basic, checked with TRUNKLINE_JAMBONZ_USERNAME and TRUNKLINE_JAMBONZ_PASSWORD.',
      schema: z.string(),
    },
  ],
  voice: {
    summary: 'What a jambonz application asks when a call comes in (calling webhook)',
    answers: 'json',
  },
  status: { summary: 'jambonz’ call status webhook' },
  callIdField: 'call_sid',
  proven(request, context) {
    const { jambonzUsername: username, jambonzPassword: password } = context.config;
    const by = basicProof(request, { username, password }, context);
    const fields = ownRecord(Object.entries(textParameters(jsonBody(request))));
    const callId = fields['call_sid'];
    return { callId, fields, ...(by ? { proof: String(callId) } : {}) };
  },
  answer: (_told, token, context) => voiceAnswer(token, context),
});

/**
 * `config` starts the stream in the background. A stream that cannot be opened therefore delays none of the verbs that
 * follow.
 */
function voiceAnswer(
  token: string | undefined,
  { config, publicUrl, announcement }: WebhookContext<JambonzConfig>,
): object[] {
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

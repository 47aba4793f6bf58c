import { createHmac } from 'node:crypto';
import { socketUrlOf, type NextStep } from '../voice-answer.ts';
import type { WebhookCall } from '../voice-webhooks.ts';
import type { WebhookContext } from '../carrier.ts';
import { requiredCallId } from '../forms.ts';
import type { VonageConfig } from './settings.ts';

/** A number or a SIP address; `headers` of an endpoint hold 512 bytes in all. */
const party = /^[\w+@.:-]{1,100}$/;

/**
 * Signs the call's id, so that the events of a party can be tied to the call that the party was brought into. base64url
 * needs no escapes in an address.
 */
export function eventSignature(secret: string, callId: string): string {
  return createHmac('sha256', secret)
    .update('events of the parties of ')
    .update(callId)
    .digest()
    .subarray(0, 24)
    .toString('base64url');
}

/**
 * Writes an NCCO: the socket joins the conversation of the call first, then the party that the call continues with.
 * Several `connect` join one conversation, and Vonage skips one that fails.
 */
export function voiceAnswer(
  { fields }: WebhookCall,
  token: string | undefined,
  { config, publicUrl, announcement }: WebhookContext<VonageConfig>,
): object[] {
  const callId = requiredCallId(fields['uuid'], 'uuid');
  const { from, to } = fields;
  // Every party of the conversation has an id of its own, so the address names the call that its events belong to.
  const [secret] = config.vonageSignatureSecret;
  const signed = secret === undefined ? '' : `&signature=${eventSignature(secret, callId)}`;
  const events = {
    eventUrl: [`${publicUrl()}/carriers/vonage/status?call=${encodeURIComponent(callId)}${signed}`],
  };
  const socket = {
    type: 'websocket',
    uri: `${socketUrlOf(publicUrl(), 'vonage')}/${token}`,
    'content-type': 'audio/l16;rate=16000',
    headers: {
      callUuid: callId,
      ...Object.fromEntries(
        Object.entries({ from, to }).flatMap(([name, value]) =>
          value !== undefined && party.test(value) ? [[name, value]] : [],
        ),
      ),
      direction: 'inbound',
    },
  };
  const { vonageDial: dial, vonageContinueUrl: continueUrl } = config;
  const next = nextAction({ dial, continueUrl }, events);
  if (token === undefined) return next;
  const said = announcement === undefined ? [] : [{ action: 'talk', text: announcement }];
  return [...said, { action: 'connect', ...events, endpoint: [socket] }, ...next];
}

/**
 * Returns the action after the stream. If neither is set, the caller stays alone with the socket, which is then the
 * other end of the call.
 */
function nextAction(
  { dial, continueUrl }: NextStep,
  events: { eventUrl: readonly string[] },
): object[] {
  if (continueUrl !== undefined)
    return [{ action: 'notify', payload: {}, eventUrl: [continueUrl], eventMethod: 'POST' }];
  if (dial === undefined) return [];
  const endpoint = dial.startsWith('sip:')
    ? { type: 'sip', uri: dial }
    : { type: 'phone', number: dial.replace(/^\+/, '') };
  return [{ action: 'connect', ...events, endpoint: [endpoint] }];
}

import { consentOf, socketUrlOf, tokenOf, type NextStep } from '../voice-answer.ts';
import type { WebhookContext } from '../carrier.ts';
import { requiredCallId } from '../forms.ts';
import { streamToken } from '../stream-token.ts';
import type { VonageConfig } from './settings.ts';

/** A number or a SIP address; `headers` of an endpoint hold 512 bytes in all. */
const party = /^[\w+@.:-]{1,100}$/;

/** What Vonage tells of the call that it asks about. */
export type AskedCall = { fields: Record<string, string>; by?: { secret: string; jwt: string } };

/**
 * An NCCO: the socket joins the conversation of the call first, then whom the call goes on to. Several `connect`
 * join one conversation, and one that cannot be had is passed over. The token is made of the JWT: the same request,
 * sent again, brings the same answer.
 */
export async function voiceAnswer(
  { fields, by }: AskedCall,
  context: WebhookContext<VonageConfig>,
): Promise<object[]> {
  const { config, publicUrl, announcement } = context;
  const callId = requiredCallId(fields['uuid'], 'uuid');
  const token = await streamToken(context, {
    carrier: 'vonage',
    carrierCallId: callId,
    ...consentOf(announcement),
    ...(by ? { token: tokenOf(by.secret, by.jwt) } : {}),
  });
  const { from, to } = fields;
  // Every party of the conversation has an id of its own: the address says which call its events belong to.
  const events = {
    eventUrl: [`${publicUrl()}/carriers/vonage/status?call=${encodeURIComponent(callId)}`],
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

/** With neither the caller stays with the socket, which is then the other end of the call. */
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

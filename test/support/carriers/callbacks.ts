import { createHash, createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import twilioPackage from 'twilio';
import type { CarrierName } from '../../../src/carriers/all.ts';
import { provenConfig } from './proven-config.ts';

/** What a carrier tells of a call by HTTP, in its own words and with its own proof. */
export type Callback = {
  method?: 'GET';
  /** The address that it is told, behind the base address of the bridge. */
  path: string;
  headers: Record<string, string>;
  body?: string;
};

type ToldCall = { callId: string; from?: string; to?: string; isOver?: boolean };

const keys = generateKeyPairSync('ed25519');
const signalwireKey = 'PSK_signalwire_of_the_tests';
const config = provenConfig();

/** What the settings lack of `provenConfig` for the callbacks to be taken. */
export const callbackSecrets = {
  signalwireSigningKey: [signalwireKey],
  telnyxPublicKey: keys.publicKey
    .export({ format: 'der', type: 'spki' })
    .subarray(-32)
    .toString('base64'),
};
export const callbackEnv = {
  TRUNKLINE_SIGNALWIRE_SIGNING_KEY: signalwireKey,
  TRUNKLINE_TELNYX_PUBLIC_KEY: callbackSecrets.telnyxPublicKey,
};

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const jsonType = { 'content-type': 'application/json' };

/** Of each carrier that calls back. `base`: how it reaches the bridge. */
export const callbacks: Partial<Record<CarrierName, (base: string, told: ToldCall) => Callback>> = {
  twilio: (base, told) => twilioLike(base, told, 'twilio', config.twilioAuthToken[0] ?? ''),
  signalwire: (base, told) => twilioLike(base, told, 'signalwire', signalwireKey),
  plivo(base, told) {
    const path = '/carriers/plivo/status';
    const fields = { CallUUID: told.callId, ...formFields(told) };
    const nonce = randomUUID();
    const sorted = Object.entries(fields)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, value]) => name + value)
      .join('');
    const signature = createHmac('sha256', config.plivoAuthToken[0] ?? '')
      .update(`${base}${path}?${sorted}.${nonce}`)
      .digest('base64');
    const proof = { 'x-plivo-signature-v3': signature, 'x-plivo-signature-v3-nonce': nonce };
    return { path, headers: { ...formType, ...proof }, body: form(fields) };
  },
  telnyx(_base, { callId, from, to, isOver }) {
    const payload = { call_control_id: callId, from, to, direction: 'incoming' };
    const data = {
      id: randomUUID(),
      event_type: isOver ? 'call.hangup' : 'streaming.started',
      payload,
    };
    const body = JSON.stringify({ data });
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = sign(null, Buffer.from(`${timestamp}|${body}`), keys.privateKey);
    const proof = {
      'telnyx-timestamp': timestamp,
      'telnyx-signature-ed25519': signature.toString('base64'),
    };
    return { path: '/carriers/telnyx/status', headers: { ...jsonType, ...proof }, body };
  },
  bandwidth: (_base, { callId, from, to, isOver }) => ({
    path: '/carriers/bandwidth/status',
    headers: { ...jsonType, ...basic(config.bandwidthUsername, config.bandwidthPassword) },
    body: JSON.stringify({
      eventType: isOver ? 'disconnect' : 'mediaStreamStarted',
      callId,
      from,
      to,
      direction: 'inbound',
    }),
  }),
  jambonz: (_base, { callId, from, to, isOver }) => ({
    path: '/carriers/jambonz/status',
    headers: { ...jsonType, ...basic(config.jambonzUsername, config.jambonzPassword) },
    body: JSON.stringify({
      call_sid: callId,
      call_status: isOver ? 'completed' : 'in-progress',
      from,
      to,
      direction: 'inbound',
    }),
  }),
  vonage(_base, { callId, from, to, isOver }) {
    const status = isOver ? 'completed' : 'answered';
    const body = JSON.stringify({ uuid: callId, status, from, to, direction: 'inbound' });
    const claims = {
      iss: 'Vonage',
      api_key: config.vonageApiKey,
      iat: Math.floor(Date.now() / 1_000),
      jti: randomUUID(),
      payload_hash: createHash('sha256').update(body).digest('hex'),
    };
    const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const signature = createHmac('sha256', config.vonageSignatureSecret[0] ?? '')
      .update(signed)
      .digest('base64url');
    const authorization = `Bearer ${signed}.${signature}`;
    return { path: '/carriers/vonage/status', headers: { ...jsonType, authorization }, body };
  },
  exotel: (_base, { callId, from = '', to = '', isOver }) => ({
    method: 'GET',
    path: `/carriers/exotel/status?${form({
      CallSid: callId,
      CallFrom: from,
      CallTo: to,
      Direction: 'incoming',
      CallStatus: isOver ? 'completed' : 'in-progress',
    })}`,
    headers: basic(config.exotelUsername, config.exotelPassword),
  }),
};

function twilioLike(
  base: string,
  told: ToldCall,
  carrier: 'twilio' | 'signalwire',
  secret: string,
): Callback {
  const path = `/carriers/${carrier}/status`;
  const fields = { CallSid: told.callId, ...formFields(told) };
  const signature = twilioPackage.getExpectedTwilioSignature(secret, base + path, fields);
  return {
    path,
    headers: { ...formType, [`x-${carrier}-signature`]: signature },
    body: form(fields),
  };
}

function formFields({ from = '', to = '', isOver }: ToldCall): Record<string, string> {
  const CallStatus = isOver ? 'completed' : 'in-progress';
  return { From: from, To: to, Direction: 'inbound', CallStatus };
}

function form(fields: Record<string, string>): string {
  return new URLSearchParams(fields).toString();
}

function basic(username = '', password = ''): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

import { createHash, createHmac, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import twilioPackage from 'twilio';
import type { CarrierName } from '../../../src/carriers/all.ts';
import { provenConfig } from './proven-config.ts';

/** A carrier's callback about a call, with its own format and proof. */
export type Callback = {
  method?: 'GET';
  /** The path of the callback, relative to the base address of the bridge. */
  path: string;
  headers: Record<string, string>;
  body?: string;
};

type CallOfCallback = { callId: string; from?: string; to?: string; isOver?: boolean };

const keys = generateKeyPairSync('ed25519');
const signalwireKey = 'PSK_signalwire_of_the_tests';
const config = provenConfig();

/** The settings for callbacks beside `provenEnv`. */
export const callbackEnv = {
  TRUNKLINE_SIGNALWIRE_SIGNING_KEY: signalwireKey,
  TRUNKLINE_TELNYX_PUBLIC_KEY: keys.publicKey
    .export({ format: 'der', type: 'spki' })
    .subarray(-32)
    .toString('base64'),
};

const formType = { 'content-type': 'application/x-www-form-urlencoded' };
const jsonType = { 'content-type': 'application/json' };

/**
 * For each carrier that calls back, a function that proves any body at any address. `base` is the address at which it
 * reaches the bridge.
 */
const proofs = {
  twilio: (url, body) => twilioLike('twilio', config.twilioAuthToken[0] ?? '', url, body),
  signalwire: (url, body) => twilioLike('signalwire', signalwireKey, url, body),
  plivo(url, body) {
    const nonce = randomUUID();
    const sorted = [...new URLSearchParams(body)]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, value]) => name + value)
      .join('');
    const signature = createHmac('sha256', config.plivoAuthToken[0] ?? '')
      .update(`${url}${sorted && `?${sorted}`}.${nonce}`)
      .digest('base64');
    return { 'x-plivo-signature-v3': signature, 'x-plivo-signature-v3-nonce': nonce };
  },
  telnyx(_url, body) {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = sign(null, Buffer.from(`${timestamp}|${body}`), keys.privateKey);
    return {
      'telnyx-timestamp': timestamp,
      'telnyx-signature-ed25519': signature.toString('base64'),
    };
  },
  vonage(_url, body) {
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
    return { authorization: `Bearer ${signed}.${signature}` };
  },
  bandwidth: () => basic(config.bandwidthUsername, config.bandwidthPassword),
  jambonz: () => basic(config.jambonzUsername, config.jambonzPassword),
  exotel: () => basic(config.exotelUsername, config.exotelPassword),
} satisfies Partial<Record<CarrierName, (url: string, body: string) => Record<string, string>>>;

export type CallingBack = keyof typeof proofs;
export const callingBack = Object.keys(proofs) as CallingBack[];

/** A request with any body, with the carrier's proof. */
export function provenRequest(
  carrier: CallingBack,
  base: string,
  { path, body, headers = {} }: { path: string; body: string; headers?: Record<string, string> },
): Callback {
  return { path, headers: { ...headers, ...proofs[carrier](base + path, body) }, body };
}

/** The requests that the carrier sends about this call to the status address. */
export function callbackOf(carrier: CallingBack, base: string, told: CallOfCallback): Callback {
  const path = `/carriers/${carrier}/status`;
  const { callId, from = '', to = '', isOver = false } = told;
  const asForm = (fields: Record<string, string>): Callback =>
    provenRequest(carrier, base, { path, body: form(fields), headers: formType });
  const asJson = (body: object): Callback =>
    provenRequest(carrier, base, { path, body: JSON.stringify(body), headers: jsonType });
  const parties = { from, to, direction: 'inbound' };
  switch (carrier) {
    case 'twilio':
    case 'signalwire':
    case 'plivo':
      return asForm({
        [carrier === 'plivo' ? 'CallUUID' : 'CallSid']: callId,
        From: from,
        To: to,
        Direction: 'inbound',
        CallStatus: isOver ? 'completed' : 'in-progress',
      });
    case 'telnyx':
      return asJson({
        data: {
          id: randomUUID(),
          event_type: isOver ? 'call.hangup' : 'streaming.started',
          payload: { call_control_id: callId, from, to, direction: 'incoming' },
        },
      });
    case 'bandwidth':
      return asJson({
        eventType: isOver ? 'disconnect' : 'mediaStreamStarted',
        callId,
        ...parties,
      });
    case 'jambonz':
      return asJson({
        call_sid: callId,
        call_status: isOver ? 'completed' : 'in-progress',
        ...parties,
      });
    case 'vonage':
      return asJson({ uuid: callId, status: isOver ? 'completed' : 'answered', ...parties });
    case 'exotel': {
      const asked = { CallSid: callId, CallFrom: from, CallTo: to, Direction: 'incoming' };
      const query = form({ ...asked, CallStatus: isOver ? 'completed' : 'in-progress' });
      return { method: 'GET', path: `${path}?${query}`, headers: proofs.exotel() };
    }
  }
}

function twilioLike(
  carrier: string,
  secret: string,
  url: string,
  body: string,
): Record<string, string> {
  const fields = Object.fromEntries(new URLSearchParams(body));
  const signature = twilioPackage.getExpectedTwilioSignature(secret, url, fields);
  return { [`x-${carrier}-signature`]: signature };
}

function form(fields: Record<string, string>): string {
  return new URLSearchParams(fields).toString();
}

function basic(username = '', password = ''): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

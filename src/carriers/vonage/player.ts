import { createHmac, randomUUID } from 'node:crypto';
import type { CarrierPlayer } from '../../player/dialogue.ts';
import { BinaryDialogue } from '../binary/binary-dialogue.ts';

export const vonagePlayer: CarrierPlayer = {
  name: 'vonage',
  frameMs: 20,
  encodings: ['slin'],
  mixesLegs: true,
  newIds() {
    const id = randomUUID();
    return { callId: id, streamId: id };
  },
  canProve: ({ authToken, apiKey }) => authToken !== undefined && apiKey !== undefined,
  headers: (_url, _call, { authToken, apiKey, username: applicationId }) =>
    authToken === undefined || apiKey === undefined
      ? {}
      : { authorization: `Bearer ${vonageJwt({ secret: authToken, apiKey, applicationId })}` },
  newDialogue({ callId, legs, rateHz, from, to, direction, parameters }) {
    const headers = { callUuid: callId, from, to, direction, ...parameters };
    return new BinaryDialogue(
      { legs },
      {
        opening: JSON.stringify({
          event: 'websocket:connected',
          'content-type': `audio/l16;rate=${rateHz}`,
          ...headers,
        }),
        dtmf: (digit) => JSON.stringify({ event: 'websocket:dtmf', digit, duration: 260 }),
      },
    );
  },
  recordedIds(_text, { event, callUuid }) {
    return event === 'websocket:connected' && typeof callUuid === 'string'
      ? { callId: callUuid, streamId: callUuid }
      : undefined;
  },
};

/** Makes the JWT of an upgrade, signed with the signature secret of the account. */
export function vonageJwt({
  secret,
  apiKey,
  applicationId = randomUUID(),
}: {
  secret: string;
  apiKey: string;
  applicationId?: string | undefined;
}): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    iss: 'Vonage',
    iat: Math.floor(Date.now() / 1000),
    jti: randomUUID(),
    api_key: apiKey,
    application_id: applicationId,
  };
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

import { createHmac, randomBytes } from 'node:crypto';
import type { CarrierPlayer } from '../../player/dialogue.ts';
import { CallDialogue, recordedCallIds } from '../json/call-dialogue.ts';

export const twilioPlayer: CarrierPlayer = {
  name: 'twilio',
  frameMs: 20,
  encodings: ['mulaw'],
  newIds: () => ({ callId: `CA${hex32()}`, streamId: `MZ${hex32()}` }),
  canProve: ({ authToken }) => authToken !== undefined,
  headers: (url, _call, { authToken }) =>
    authToken === undefined ? {} : { 'x-twilio-signature': twilioSignature(url, authToken) },
  newDialogue: (call) =>
    new CallDialogue(call, {
      version: '1.0.0',
      accountSid: `AC${hex32()}`,
      topLevelSid: true,
      chunkPerTrack: false,
    }),
  recordedIds: (_text, message) => recordedCallIds(message, (sid) => sid.startsWith('MZ')),
};

function hex32(): string {
  return randomBytes(16).toString('hex');
}

/** Makes the X-Twilio-Signature of an upgrade, over the address that the carrier was told. */
export function twilioSignature(url: string, authToken: string): string {
  return createHmac('sha1', authToken).update(url).digest('base64');
}

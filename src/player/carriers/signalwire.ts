import { randomUUID } from 'node:crypto';
import type { CarrierVoice } from '../dialogue.ts';
import { TwilioDialogue } from './twilio.ts';

export const signalwire: CarrierVoice = {
  name: 'signalwire',
  frameMs: 20,
  encodings: ['mulaw', 'slin'],
  newIds: () => ({ callId: randomUUID(), streamId: randomUUID() }),
  headers: (_url, _call, { bearer }) =>
    bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  newDialogue: (call) =>
    new TwilioDialogue(call, {
      version: '0.2.0',
      accountSid: randomUUID(),
      topLevelSid: false,
      chunkPerTrack: true,
    }),
};

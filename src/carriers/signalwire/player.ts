import { randomUUID } from 'node:crypto';
import type { CarrierPlayer } from '../../player/dialogue.ts';
import { CallDialogue, recordedCallIds } from '../json/call-dialogue.ts';

export const signalwirePlayer: CarrierPlayer = {
  name: 'signalwire',
  frameMs: 20,
  encodings: ['mulaw', 'slin'],
  newIds: () => ({ callId: randomUUID(), streamId: randomUUID() }),
  canProve: ({ bearer }) => bearer !== undefined,
  headers: (_url, _call, { bearer }) =>
    bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  newDialogue: (call) =>
    new CallDialogue(call, {
      version: '0.2.0',
      accountSid: randomUUID(),
      topLevelSid: false,
      chunkPerTrack: true,
    }),
  recordedIds: (_text, message) => recordedCallIds(message, (sid) => !sid.startsWith('MZ')),
};

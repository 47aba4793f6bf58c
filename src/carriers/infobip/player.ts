import { randomUUID } from 'node:crypto';
import type { CarrierPlayer } from '../../player/dialogue.ts';
import { BinaryDialogue } from '../binary/binary-dialogue.ts';

export const infobipPlayer: CarrierPlayer = {
  name: 'infobip',
  frameMs: 20,
  encodings: ['slin'],
  mixesLegs: true,
  newIds() {
    const id = randomUUID();
    return { callId: id, streamId: id };
  },
  canProve: ({ username, password }) => username !== undefined && password !== undefined,
  headers: (_url, _call, { username, password }) =>
    username === undefined || password === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
  newDialogue({ callId, legs, rateHz, from, to, direction, parameters }) {
    const opening = {
      callId,
      sampleRate: rateHz,
      packetizationTime: 20,
      customData: { from, to, direction, ...parameters },
    };
    return new BinaryDialogue(
      { legs },
      {
        opening: JSON.stringify(opening),
        // Infobip has no message for a key press. The player sends one that the bridge does not know.
        dtmf: (digit) => JSON.stringify({ dtmf: digit }),
      },
    );
  },
  recordedIds(_text, { callId, packetizationTime }) {
    return typeof callId === 'string' && packetizationTime !== undefined
      ? { callId, streamId: callId }
      : undefined;
  },
};

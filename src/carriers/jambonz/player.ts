import { randomUUID } from 'node:crypto';
import type { CarrierPlayer } from '../../player/dialogue.ts';
import { BinaryDialogue } from '../binary/binary-dialogue.ts';

export const jambonzPlayer: CarrierPlayer = {
  name: 'jambonz',
  frameMs: 20,
  encodings: ['slin'],
  protocols: ['audio.jambonz.org'],
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
      sampleRate: rateHz,
      mixType: legs.length === 2 ? 'stereo' : 'mono',
      callSid: callId,
      direction,
      from,
      to,
      callId: 'a84b4c76e66710@sbc',
      sipStatus: 200,
      callStatus: 'in-progress',
      accountSid: '0a1b2c3d-2222-4e5f-8a9b-c0d1e2f3a4b5',
      ...parameters,
    };
    return new BinaryDialogue(
      { legs },
      {
        opening: JSON.stringify(opening),
        // The length is in samples of 8 kHz.
        dtmf: (digit) => JSON.stringify({ event: 'dtmf', dtmf: digit, duration: '1600' }),
      },
    );
  },
  recordedIds(_text, { mixType, callSid }) {
    return typeof mixType === 'string' && typeof callSid === 'string'
      ? { callId: callSid, streamId: callSid }
      : undefined;
  },
};

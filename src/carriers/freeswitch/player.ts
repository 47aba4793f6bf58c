import { randomUUID } from 'node:crypto';
import type { CarrierPlayer } from '../../player/dialogue.ts';
import { BinaryDialogue } from '../binary/binary-dialogue.ts';

export const freeswitchPlayer: CarrierPlayer = {
  name: 'freeswitch',
  frameMs: 20,
  encodings: ['slin'],
  newIds() {
    const id = randomUUID();
    return { callId: id, streamId: id };
  },
  canProve: ({ bearer, username, password }) =>
    bearer !== undefined || (username !== undefined && password !== undefined),
  headers(_url, _call, { bearer, username, password }) {
    if (bearer !== undefined) return { authorization: `Bearer ${bearer}` };
    return username === undefined || password === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  },
  newDialogue({ callId, legs, rateHz, from, to, direction, parameters }) {
    const opening = {
      callId,
      format: 'L16',
      sampleRate: rateHz,
      channels: legs.length,
      from,
      to,
      direction,
      ...parameters,
    };
    return new BinaryDialogue(
      { legs },
      {
        opening: JSON.stringify(opening),
        dtmf: (digit) => JSON.stringify({ event: 'dtmf', dtmf: digit }),
      },
    );
  },
  recordedIds(_text, { callId, channels, format }) {
    return typeof callId === 'string' && channels !== undefined && format === 'L16'
      ? { callId, streamId: callId }
      : undefined;
  },
};

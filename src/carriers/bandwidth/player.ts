import { randomUUID } from 'node:crypto';
import { isObject } from '../../lib/json.ts';
import {
  trackOf,
  type CarrierPlayer,
  type Dialogue,
  type Frame,
  type PlayedCall,
} from '../../player/dialogue.ts';

export const bandwidthPlayer: CarrierPlayer = {
  name: 'bandwidth',
  frameMs: 20,
  encodings: ['mulaw'],
  newIds: () => ({ callId: `c-${randomUUID()}`, streamId: `s-${randomUUID()}` }),
  canProve: ({ username, password }) => username !== undefined && password !== undefined,
  headers: (_url, _call, { username, password }) =>
    username === undefined || password === undefined
      ? {}
      : {
          authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
        },
  newDialogue: (call) => new BandwidthDialogue(call),
  recordedIds(_text, { eventType, metadata }) {
    if (eventType !== 'start' || !isObject(metadata)) return undefined;
    const { callId, streamId } = metadata;
    return typeof callId === 'string' && typeof streamId === 'string'
      ? { callId, streamId }
      : undefined;
  },
};

class BandwidthDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  readonly #metadata: Record<string, unknown>;

  constructor(call: PlayedCall) {
    this.#call = call;
    this.#metadata = {
      accountId: '9900001',
      callId: call.callId,
      streamId: call.streamId,
      streamName: 'trunkline',
      tracks: call.legs.map((leg) => ({
        name: trackOf(leg),
        mediaFormat: { encoding: 'PCMU', sampleRate: call.rateHz },
      })),
    };
  }

  opening(): Frame[] {
    const { from, to, direction, parameters } = this.#call;
    return [
      JSON.stringify({
        eventType: 'start',
        metadata: this.#metadata,
        streamParams: { from, to, direction, ...parameters },
      }),
    ];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[]): Frame[] {
    return frames.map(({ leg, bytes }) =>
      JSON.stringify({
        eventType: 'media',
        track: trackOf(leg),
        payload: bytes.toString('base64'),
      }),
    );
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  closing(): Frame[] {
    return [JSON.stringify({ eventType: 'stop', metadata: this.#metadata })];
  }
}

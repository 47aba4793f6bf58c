import { randomUUID } from 'node:crypto';
import {
  trackOf,
  type CarrierPlayer,
  type Dialogue,
  type Frame,
  type PlayedCall,
} from '../../player/dialogue.ts';
import { isObject } from '../../lib/json.ts';

export const telnyxPlayer: CarrierPlayer = {
  name: 'telnyx',
  frameMs: 20,
  encodings: ['mulaw', 'alaw', 'slin'],
  newIds: () => ({ callId: `v3:${randomUUID().replaceAll('-', '')}`, streamId: randomUUID() }),
  canProve: ({ bearer }) => bearer !== undefined,
  headers: (_url, _call, { bearer }) =>
    bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  newDialogue: (call) => new TelnyxDialogue(call),
  recordedIds(_text, { event, start, stream_id: streamId }) {
    if (event !== 'start' || !isObject(start)) return undefined;
    const callId = start['call_control_id'];
    return typeof callId === 'string' && typeof streamId === 'string'
      ? { callId, streamId }
      : undefined;
  },
};

const names = { mulaw: 'PCMU', alaw: 'PCMA', slin: 'L16' } as const;

class TelnyxDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  readonly #ids = { user_id: randomUUID(), call_session_id: randomUUID() };
  #sequence = 0;
  readonly #chunks = new Map<string, number>();

  constructor(call: PlayedCall) {
    this.#call = call;
  }

  opening(): Frame[] {
    const { callId, from, to, encoding, rateHz, parameters, direction } = this.#call;
    const custom = Object.entries({ direction, ...parameters }).map(([name, value]) => ({
      name,
      value,
    }));
    return [
      JSON.stringify({ event: 'connected', version: '1.0.0' }),
      this.#message('start', {
        start: {
          ...this.#ids,
          call_control_id: callId,
          from,
          to,
          custom_parameters: custom,
          media_format: { encoding: names[encoding], sample_rate: rateHz, channels: 1 },
        },
      }),
    ];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[] {
    return frames.map(({ leg, bytes }) => {
      const track = trackOf(leg);
      const chunk = (this.#chunks.get(track) ?? 0) + 1;
      this.#chunks.set(track, chunk);
      // L16 travels in network order, as in RTP.
      const wire = this.#call.encoding === 'slin' ? Buffer.from(bytes).swap16() : bytes;
      const media = {
        track,
        chunk: String(chunk),
        timestamp: String(atMs),
        payload: wire.toString('base64'),
      };
      return this.#message('media', { media });
    });
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  dtmf(digit: string): Frame[] {
    return [this.#message('dtmf', { occurred_at: new Date().toISOString(), dtmf: { digit } })];
  }

  closing(): Frame[] {
    return [
      this.#message('stop', {
        stop: { user_id: this.#ids.user_id, call_control_id: this.#call.callId },
      }),
    ];
  }

  #message(event: string, body: Record<string, unknown>): string {
    return JSON.stringify({
      event,
      sequence_number: String(++this.#sequence),
      stream_id: this.#call.streamId,
      ...body,
    });
  }
}

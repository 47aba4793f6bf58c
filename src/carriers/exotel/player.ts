import { randomBytes } from 'node:crypto';
import { isObject } from '../../lib/json.ts';
import type { CarrierPlayer, Dialogue, Frame, PlayedCall } from '../../player/dialogue.ts';

const newId = (): string => randomBytes(16).toString('hex');

export const exotelPlayer: CarrierPlayer = {
  name: 'exotel',
  frameMs: 100,
  encodings: ['slin'],
  oneLegPerStream: true,
  newIds: () => ({ callId: newId(), streamId: newId() }),
  canProve: ({ username, password }) => username !== undefined && password !== undefined,
  headers: (_url, _call, { username, password }) =>
    username === undefined || password === undefined
      ? {}
      : {
          authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
        },
  newDialogue: (call) => new ExotelDialogue(call),
  recordedIds(_text, { event, start }) {
    if (event !== 'start' || !isObject(start)) return undefined;
    const { call_sid: callId, stream_sid: streamId } = start;
    return typeof callId === 'string' && typeof streamId === 'string'
      ? { callId, streamId }
      : undefined;
  },
};

/** Plays a stream of one party. All numbers in Exotel's messages are text. */
class ExotelDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  #sequence = 0;
  #chunk = 0;

  constructor(call: PlayedCall) {
    this.#call = call;
  }

  opening(): Frame[] {
    const { callId, streamId, legs, from, to, direction, parameters, rateHz } = this.#call;
    return [
      JSON.stringify({ event: 'connected' }),
      this.#message('start', {
        start: {
          stream_sid: streamId,
          call_sid: callId,
          account_sid: 'trunkline1',
          from,
          to,
          custom_parameters: { role: legs[0] ?? 'customer', direction, ...parameters },
          media_format: { encoding: 'audio/x-raw', sample_rate: String(rateHz), bit_rate: '16' },
        },
      }),
    ];
  }

  media(frames: { bytes: Buffer }[], atMs: number): Frame[] {
    return frames.map(({ bytes }) =>
      this.#message('media', {
        media: {
          chunk: String(++this.#chunk),
          timestamp: String(Math.round(atMs)),
          payload: bytes.toString('base64'),
        },
      }),
    );
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  dtmf(digit: string): Frame[] {
    return [this.#message('dtmf', { dtmf: { digit, duration: '100' } })];
  }

  closing(): Frame[] {
    const { callId: call_sid } = this.#call;
    return [
      this.#message('stop', {
        stop: { call_sid, account_sid: 'trunkline1', reason: 'callended' },
      }),
    ];
  }

  #message(event: string, body: Record<string, unknown>): string {
    return JSON.stringify({
      event,
      sequence_number: String(++this.#sequence),
      stream_sid: this.#call.streamId,
      ...body,
    });
  }
}

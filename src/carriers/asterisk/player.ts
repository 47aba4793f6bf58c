import { randomInt } from 'node:crypto';
import {
  type CarrierPlayer,
  type Dialogue,
  type Frame,
  type PlayedCall,
} from '../../player/dialogue.ts';

export const asteriskPlayer: CarrierPlayer = {
  name: 'asterisk',
  frameMs: 20,
  encodings: ['mulaw', 'alaw', 'slin'],
  protocols: ['media'],
  newIds: () => {
    const id = `pbx1-${Math.floor(Date.now() / 1000)}.${randomInt(1, 1_000_000)}`;
    return { callId: id, streamId: id };
  },
  canProve: ({ username, password }) => username !== undefined && password !== undefined,
  headers: (_url, _call, { username, password }) =>
    username === undefined || password === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
  newDialogue: (call) => new AsteriskDialogue(call),
  oneLegPerStream: true,
  // The parameters that `v(...)` in the dial string adds to the address.
  addressParameters: ({ callId, legs, from, to, direction, parameters }) => ({
    call_id: callId,
    leg: legs[0] ?? 'customer',
    from,
    to,
    direction,
    ...parameters,
  }),
  recordedIds(text, { event, channel_id: channelId, channel }) {
    const id =
      /^MEDIA_START .*?\bchannel_id:(\S+)/.exec(text)?.[1] ??
      /^MEDIA_START .*?\bchannel:(\S+)/.exec(text)?.[1] ??
      (event === 'MEDIA_START' ? (channelId ?? channel) : undefined);
    return typeof id === 'string' ? { callId: id, streamId: id } : undefined;
  },
};

/** Each channel carries one leg. A call with two legs is two dialogues with the same call_id parameter. */
class AsteriskDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;

  constructor(call: PlayedCall) {
    this.#call = call;
  }

  opening(): Frame[] {
    const { streamId, encoding, rateHz } = this.#call;
    const format =
      encoding === 'slin'
        ? rateHz === 8000
          ? 'slin'
          : `slin${rateHz / 1000}`
        : encoding === 'mulaw'
          ? 'ulaw'
          : 'alaw';
    const size = Math.round((rateHz / 50) * (encoding === 'slin' ? 2 : 1));
    const fields = {
      connection_id: 'bridge',
      channel: 'WebSocket/bridge/0x7f2a',
      channel_id: streamId,
      format,
      optimal_frame_size: size,
      ptime: 20,
    };
    return [this.#control('MEDIA_START', fields)];
  }

  media(frames: { bytes: Buffer }[]): Frame[] {
    return frames.map(({ bytes }) => bytes);
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  dtmf(digit: string): Frame[] {
    return [this.#control('DTMF_END', { digit, channel_id: this.#call.streamId })];
  }

  closing(): Frame[] {
    return [];
  }

  #control(event: string, fields: Record<string, string | number>): string {
    if (this.#call.controlFormat === 'json') return JSON.stringify({ event, ...fields });
    return [event, ...Object.entries(fields).map(([name, value]) => `${name}:${value}`)].join(' ');
  }
}

import { randomBytes } from 'node:crypto';
import type { CarrierVoice, Dialogue, Frame, PlayedCall } from '../dialogue.ts';
import { trackOf } from '../tracks.ts';
import { twilioSignature } from '../signing.ts';

export const twilio: CarrierVoice = {
  name: 'twilio',
  frameMs: 20,
  encodings: ['mulaw'],
  newIds: () => ({ callId: `CA${hex32()}`, streamId: `MZ${hex32()}` }),
  headers: (url, _call, { twilioAuthToken }) =>
    twilioAuthToken === undefined
      ? {}
      : { 'x-twilio-signature': twilioSignature(url, twilioAuthToken) },
  newDialogue: (call) =>
    new TwilioDialogue(call, {
      version: '1.0.0',
      accountSid: `AC${hex32()}`,
      topLevelSid: true,
      chunkPerTrack: false,
    }),
};

function hex32(): string {
  return randomBytes(16).toString('hex');
}

export type TwilioManner = {
  version: string;
  accountSid: string;
  topLevelSid: boolean;
  chunkPerTrack: boolean;
};

/** A forked stream as Twilio, and with other manners SignalWire, sends it. */
export class TwilioDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  readonly #manner: TwilioManner;
  #sequence = 0;
  readonly #chunks = new Map<string, number>();

  constructor(call: PlayedCall, manner: TwilioManner) {
    this.#call = call;
    this.#manner = manner;
  }

  opening(): Frame[] {
    const { callId, streamId, legs, from, to, direction, parameters, rateHz, encoding } =
      this.#call;
    return [
      JSON.stringify({ event: 'connected', protocol: 'Call', version: this.#manner.version }),
      this.#message('start', {
        start: {
          streamSid: streamId,
          accountSid: this.#manner.accountSid,
          callSid: callId,
          tracks: legs.map(trackOf),
          mediaFormat: {
            encoding: encoding === 'slin' ? 'audio/x-L16' : 'audio/x-mulaw',
            sampleRate: rateHz,
            channels: 1,
          },
          customParameters: { from, to, direction, ...parameters },
        },
      }),
    ];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[] {
    return frames.map(({ leg, bytes }) => {
      const track = trackOf(leg);
      return this.#message('media', {
        media: {
          track,
          chunk: String(this.#chunk(track)),
          timestamp: String(atMs),
          payload: bytes.toString('base64'),
        },
      });
    });
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  dtmf(digit: string): Frame[] {
    return [this.#message('dtmf', { dtmf: { track: 'inbound_track', digit } })];
  }

  closing(): Frame[] {
    return [
      this.#message('stop', {
        stop: { accountSid: this.#manner.accountSid, callSid: this.#call.callId },
      }),
    ];
  }

  #message(event: string, body: Record<string, unknown>): string {
    const sid = this.#manner.topLevelSid ? { streamSid: this.#call.streamId } : {};
    return JSON.stringify({ event, sequenceNumber: String(++this.#sequence), ...sid, ...body });
  }

  #chunk(track: string): number {
    const key = this.#manner.chunkPerTrack ? track : '';
    const next = (this.#chunks.get(key) ?? 0) + 1;
    this.#chunks.set(key, next);
    return next;
  }
}

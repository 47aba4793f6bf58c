import { trackOf, type Dialogue, type Frame, type PlayedCall } from '../../player/dialogue.ts';
import { isObject } from '../../lib/json.ts';

/** The parts of the messages in which the carriers of this protocol differ. */
type CallManner = {
  version: string;
  accountSid: string;
  topLevelSid: boolean;
  chunkPerTrack: boolean;
};

/** Plays a stream of the protocol that announces itself as `Call`, with the tracks of both parties. */
export class CallDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  readonly #manner: CallManner;
  #sequence = 0;
  readonly #chunks = new Map<string, number>();

  constructor(call: PlayedCall, manner: CallManner) {
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

/** Reads the ids of a recorded `start` whose stream id has the form of the carrier that asks. */
export function recordedCallIds(
  message: Record<string, unknown>,
  isOurs: (streamSid: string) => boolean,
): { callId: string; streamId: string } | undefined {
  const start = message['event'] === 'start' ? message['start'] : undefined;
  if (!isObject(start)) return undefined;
  const { streamSid, callSid } = start;
  return typeof streamSid === 'string' && typeof callSid === 'string' && isOurs(streamSid)
    ? { callId: callSid, streamId: streamSid }
    : undefined;
}

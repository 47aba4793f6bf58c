import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import {
  newNonce,
  trackOf,
  type CarrierPlayer,
  type Dialogue,
  type Frame,
  type PlayedCall,
} from '../../player/dialogue.ts';
import { isObject } from '../../lib/json.ts';

export const plivoPlayer: CarrierPlayer = {
  name: 'plivo',
  frameMs: 20,
  encodings: ['mulaw', 'slin'],
  newIds: () => ({ callId: randomUUID(), streamId: randomUUID() }),
  canProve: ({ authToken }) => authToken !== undefined,
  headers: (url, _call, { authToken }) => {
    if (authToken === undefined) return {};
    const nonce = newNonce();
    return {
      'x-plivo-signature-v3': plivoSignature(url, nonce, authToken),
      'x-plivo-signature-v3-nonce': nonce,
    };
  },
  newDialogue: (call) => new PlivoDialogue(call),
  recordedIds(_text, { event, start }) {
    if (event !== 'start' || !isObject(start)) return undefined;
    const { callId, streamId } = start;
    return typeof callId === 'string' && typeof streamId === 'string'
      ? { callId, streamId }
      : undefined;
  },
};

class PlivoDialogue implements Dialogue {
  readonly readyAtOnce = true;
  /** Plivo sends no stop message: the close of the socket is the end. */
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  readonly #extraHeaders: string;
  readonly #startedMs = Date.now();
  #sequence = 0;
  readonly #chunks = new Map<string, number>();

  constructor(call: PlayedCall) {
    this.#call = call;
    const { from, to, direction, parameters } = call;
    this.#extraHeaders = Object.entries({ from, to, direction, ...parameters })
      .map(([name, value]) => `${name}=${value}`)
      .join(';');
  }

  opening(): Frame[] {
    const { callId, streamId, legs, encoding, rateHz } = this.#call;
    return [
      JSON.stringify({
        event: 'start',
        sequenceNumber: ++this.#sequence,
        start: {
          callId,
          streamId,
          accountId: `MA${randomBytes(9).toString('hex').toUpperCase()}`,
          tracks: legs.map(trackOf),
          mediaFormat: {
            encoding: encoding === 'slin' ? 'audio/x-l16' : 'audio/x-mulaw',
            sampleRate: rateHz,
          },
        },
        extra_headers: this.#extraHeaders,
      }),
    ];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[] {
    return frames.map(({ leg, bytes }) => {
      const track = trackOf(leg);
      const chunk = (this.#chunks.get(track) ?? 0) + 1;
      this.#chunks.set(track, chunk);
      const timestamp = String(this.#startedMs + Math.round(atMs));
      return this.#message('media', {
        media: { track, timestamp, chunk, payload: bytes.toString('base64') },
      });
    });
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  dtmf(digit: string, atMs: number): Frame[] {
    const timestamp = String(this.#startedMs + Math.round(atMs));
    return [this.#message('dtmf', { dtmf: { track: 'inbound', digit, timestamp } })];
  }

  closing(): Frame[] {
    return [];
  }

  #message(event: string, body: Record<string, unknown>): string {
    const head = { event, sequenceNumber: ++this.#sequence, streamId: this.#call.streamId };
    return JSON.stringify({ ...head, ...body, extra_headers: this.#extraHeaders });
  }
}

/** Makes the X-Plivo-Signature-V3 of an upgrade. */
export function plivoSignature(url: string, nonce: string, authToken: string): string {
  const { query, bare } = splitQuery(url);
  const sorted = [...new URLSearchParams(query)]
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&');
  return createHmac('sha256', authToken)
    .update(`${bare}${sorted && `?${sorted}`}.${nonce}`)
    .digest('base64');
}

function splitQuery(url: string): { bare: string; query: string } {
  const at = url.indexOf('?');
  return at < 0 ? { bare: url, query: '' } : { bare: url.slice(0, at), query: url.slice(at + 1) };
}

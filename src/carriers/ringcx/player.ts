import { randomInt } from 'node:crypto';
import { isObject } from '../../lib/json.ts';
import type { CarrierPlayer, Dialogue, Frame, PlayedCall } from '../../player/dialogue.ts';

export const ringcxPlayer: CarrierPlayer = {
  name: 'ringcx',
  frameMs: 20,
  encodings: ['mulaw'],
  newIds: () => ({
    callId: `2026${randomInt(1e12, 9e12)}${randomInt(10, 99)}`,
    streamId: String(randomInt(1e12, 9e12)),
  }),
  canProve: ({ bearer }) => bearer !== undefined,
  headers: (_url, _call, { bearer }) =>
    bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  // RingCX's messages have no room for parameters of ours.
  addressParameters: ({ parameters }) => parameters,
  newDialogue: (call) => new RingcxDialogue(call),
  recordedIds(_text, { event, metadata }) {
    if (event !== 'Start' || !isObject(metadata)) return undefined;
    const { callId, sessionId } = metadata;
    return typeof callId === 'string' && typeof sessionId === 'number'
      ? { callId, streamId: String(sessionId) }
      : undefined;
  },
};

const perspectiveOf = { customer: 'Conference', agent: 'Participant' } as const;

class RingcxDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #call: PlayedCall;
  readonly #sequence = { customer: 0, agent: 0 };

  constructor(call: PlayedCall) {
    this.#call = call;
  }

  opening(): Frame[] {
    const { callId, streamId, from, to, direction, rateHz } = this.#call;
    return [
      JSON.stringify({ event: 'Connected', protocol: 'AgentSession', version: '1.0.0' }),
      JSON.stringify({
        event: 'Start',
        metadata: {
          callId,
          sessionId: /^\d{1,15}$/.test(streamId) ? Number(streamId) : streamId,
          ani: from,
          dnis: to,
          accountId: '88800000',
          agentId: 731,
          productType: direction === 'inbound' ? 'Queue' : 'Campaign',
          productId: 4021,
          contentType: 'audio/x-mulaw',
          sampleRateHertz: rateHz,
        },
      }),
    ];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[]): Frame[] {
    return frames.map(({ leg, bytes }) =>
      JSON.stringify({
        event: 'Media',
        perspective: perspectiveOf[leg],
        sequenceId: String(++this.#sequence[leg]),
        media: bytes.toString('base64'),
      }),
    );
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  /** Ends both perspectives, even if one party never spoke. */
  closing(atMs: number): Frame[] {
    const stop = JSON.stringify({ event: 'Stop', metadata: { duration: Math.round(atMs / 1000) } });
    return [stop, stop];
  }
}

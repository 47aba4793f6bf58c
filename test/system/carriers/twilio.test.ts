import { describe, expect, test } from 'vitest';
import { play } from '../../../src/player/play.ts';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import type { PlayedCall } from '../../../src/player/dialogue.ts';
import { carrierServer } from '../../support/carriers/carrier-server.ts';
import { randomBytes } from 'node:crypto';

const authToken = 'twilio-secret-of-the-tests';

function newCall(parameters: Record<string, string> = {}): PlayedCall {
  return {
    ...twilioPlayer.newIds(),
    legs: ['customer', 'agent'],
    encoding: 'mulaw',
    rateHz: 8000,
    from: '+15550100123',
    to: '+15550100200',
    direction: 'inbound',
    parameters,
    controlFormat: 'plain-text',
  };
}

describe('a Twilio call over a real socket', () => {
  test('both tracks arrive to the byte and the call ends once', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [authToken] } });
    const customer = randomBytes(16_000);
    const agent = randomBytes(12_345);
    const call = newCall({ crmCase: 'C-20417' });
    const result = await play({
      to: `${server.url}/carriers/twilio`,
      player: twilioPlayer,
      call,
      secrets: { authToken: authToken },
      audio: [
        { leg: 'customer', bytes: customer },
        { leg: 'agent', bytes: agent },
      ],
      speed: 50,
    });
    expect(result.outcome).toBe('played');
    const stream = await server.bridge.ended();
    expect(stream.bytes('inbound').equals(customer)).toBe(true);
    expect(stream.bytes('outbound').equals(agent)).toBe(true);
    expect(stream.ends).toEqual([{ reason: 'stop', detail: undefined }]);
    expect(stream.start).toMatchObject({
      carrier: 'twilio',
      carrierCallId: call.callId,
      streamId: call.streamId,
      encoding: 'mulaw',
      sampleRate: 8000,
      from: '+15550100123',
      parameters: { crmCase: 'C-20417' },
      closingEndsCall: false,
    });
  });

  test('an unsigned stream without a token reaches nothing behind the socket', async () => {
    await using server = await carrierServer({ config: { twilioAuthToken: [authToken] } });
    const result = await play({
      to: `${server.url}/carriers/twilio`,
      player: twilioPlayer,
      call: newCall(),
      audio: [{ leg: 'customer', bytes: randomBytes(80_000) }],
    });
    expect(result).toMatchObject({ outcome: 'closed-by-bridge', detail: '1008 no stream token' });
    expect(server.bridge.streams).toEqual([]);
    expect(server.bridge.claims).toBe(0);
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { carrierNames, carriers, type CarrierName } from '../../../src/carriers/all.ts';
import type { Encoding, PlayedCall } from '../../../src/player/dialogue.ts';
import { play, type PlayResult } from '../../../src/player/play.ts';
import type { Faults } from '../../../src/player/faults.ts';
import { trackOf, usualForm } from '../../support/carriers/carrier-shape.ts';
import { CarrierClient } from '../../support/carriers/carrier-client.ts';
import { fixtureNames, readFixture } from '../../support/carriers/carrier-fixture.ts';
import { carrierServer } from '../../support/carriers/carrier-server.ts';
import { provenConfig } from '../../support/carriers/proven-config.ts';

const config = provenConfig();

type Form = {
  encoding: Encoding;
  rateHz: number;
  legs: ('customer' | 'agent')[];
  controlFormat?: 'json';
};

const both: Form['legs'] = ['customer', 'agent'];
const forms: [CarrierName, Form][] = [
  ['twilio', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['twilio', { encoding: 'mulaw', rateHz: 8000, legs: ['customer'] }],
  ['telnyx', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['telnyx', { encoding: 'alaw', rateHz: 8000, legs: both }],
  ['telnyx', { encoding: 'slin', rateHz: 16_000, legs: both }],
  ['audiohook', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['audiohook', { encoding: 'mulaw', rateHz: 8000, legs: ['customer'] }],
  ['audiohook', { encoding: 'slin', rateHz: 8000, legs: both }],
  ['audiohook', { encoding: 'slin', rateHz: 8000, legs: ['agent'] }],
  ['asterisk', { encoding: 'mulaw', rateHz: 8000, legs: ['customer'] }],
  ['asterisk', { encoding: 'alaw', rateHz: 8000, legs: ['customer'], controlFormat: 'json' }],
  ['asterisk', { encoding: 'slin', rateHz: 8000, legs: ['customer'] }],
  ['asterisk', { encoding: 'slin', rateHz: 16_000, legs: ['customer'], controlFormat: 'json' }],
  ['signalwire', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['signalwire', { encoding: 'slin', rateHz: 16_000, legs: both }],
  ['vonage', { encoding: 'slin', rateHz: 8000, legs: ['customer'] }],
  ['vonage', { encoding: 'slin', rateHz: 16_000, legs: ['customer'] }],
  ['jambonz', { encoding: 'slin', rateHz: 8000, legs: both }],
  ['jambonz', { encoding: 'slin', rateHz: 16_000, legs: ['customer'] }],
  ['freeswitch', { encoding: 'slin', rateHz: 8000, legs: ['customer'] }],
  ['freeswitch', { encoding: 'slin', rateHz: 16_000, legs: both }],
  ['infobip', { encoding: 'slin', rateHz: 16_000, legs: ['customer'] }],
  ['infobip', { encoding: 'slin', rateHz: 48_000, legs: ['customer'] }],
  ['plivo', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['plivo', { encoding: 'slin', rateHz: 16_000, legs: both }],
  ['bandwidth', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['bandwidth', { encoding: 'mulaw', rateHz: 8000, legs: ['customer'] }],
  ['ringcx', { encoding: 'mulaw', rateHz: 8000, legs: both }],
  ['ringcx', { encoding: 'mulaw', rateHz: 8000, legs: ['agent'] }],
  ['exotel', { encoding: 'slin', rateHz: 8000, legs: ['customer'] }],
  ['exotel', { encoding: 'slin', rateHz: 16_000, legs: ['agent'] }],
];

const expectedEncoding = { mulaw: 'mulaw', alaw: 'alaw', slin: 'pcm16' } as const;

async function playOne(
  to: string,
  carrier: CarrierName,
  form: Form,
  faults: Faults = {},
  ms = 1_000,
): Promise<{ result: PlayResult; call: PlayedCall; audio: Map<string, Buffer> }> {
  const { player } = carriers[carrier];
  const secrets = carriers[carrier].playerSecrets(config);
  const call: PlayedCall = {
    ...player.newIds(),
    ...form,
    controlFormat: form.controlFormat ?? 'plain-text',
    from: '+15550100123',
    to: '+15550100200',
    direction: 'inbound',
    parameters: { crmCase: 'C-20417' },
  };
  const bytes = (ms / 1000) * form.rateHz * (form.encoding === 'slin' ? 2 : 1);
  const audio = form.legs.map((leg) => ({ leg, bytes: randomBytes(bytes) }));
  const result = await play({ to, player, call, audio, secrets, speed: 20, faults });
  return {
    result,
    call,
    audio: new Map(audio.map(({ leg, bytes: sent }) => [trackOf(carrier, leg), sent])),
  };
}

describe.each(forms)(
  'a call by %s with $encoding at $rateHz Hz and legs $legs',
  (carrier, form) => {
    // Nothing that FreeSWITCH sends shows whose it is.
    const ways =
      carrier === 'freeswitch' ? ['its own path'] : ['its own path', 'the detecting path'];
    test.each(ways)('arrives to the byte and ends once on %s', async (way) => {
      await using server = await carrierServer({ config });
      const path = way === 'its own path' ? `/carriers/${carrier}` : '/carriers';
      const { result, call, audio } = await playOne(`${server.url}${path}`, carrier, form);
      expect(result).toMatchObject({ outcome: 'played', detail: '' });
      const stream = await server.bridge.ended();
      for (const [track, bytes] of audio)
        expect(stream.bytes(track).equals(bytes), track).toBe(true);
      expect(stream.ends.length).toBe(1);
      expect(stream.start).toMatchObject({
        carrier,
        carrierCallId: call.callId,
        encoding: expectedEncoding[form.encoding],
        sampleRate: form.rateHz,
      });
      expect(stream.counts()).toEqual({});
      expect(server.bridge.streams.length).toBe(1);
    });
  },
);

test.each([
  ['vonage', { encoding: 'slin', rateHz: 24_000, legs: ['customer'] }, ['mixed']],
  ['jambonz', { encoding: 'slin', rateHz: 24_000, legs: both }, ['inbound', 'outbound']],
  ['exotel', { encoding: 'slin', rateHz: 24_000, legs: ['customer'] }, ['inbound']],
  ['signalwire', { encoding: 'slin', rateHz: 24_000, legs: both }, ['inbound', 'outbound']],
] as [CarrierName, Form, string[]][])(
  '%s at 24,000 Hz goes on at a rate of the interface, as long, and says what it was',
  async (carrier, form, tracks) => {
    await using server = await carrierServer({ config });
    const { result } = await playOne(`${server.url}/carriers/${carrier}`, carrier, form);
    expect(result).toMatchObject({ outcome: 'played', detail: '' });
    const stream = await server.bridge.ended();
    expect(stream.start).toMatchObject({ sampleRate: 16_000, resampledFromHz: 24_000 });
    for (const track of tracks) expect(stream.bytes(track).length, track).toBe(32_000);
    expect(stream.counts()).toEqual({});
  },
);

test('every recorded conversation on the detecting path is taken for its own carrier’s, and for no other’s', async () => {
  await using server = await carrierServer({ insecure: true });
  const carrierOf = (fixture: string): string => fixture.split('-')[0] ?? '';
  // Audio that cannot be transcribed, words instead of audio, a check of the installation: known, and no stream of ours.
  const streamless = ['asterisk-opus', 'telnyx-g722', 'bandwidth-transcription', 'audiohook-probe'];
  const unknown: string[] = [];
  for (const fixture of fixtureNames()) {
    const before = server.bridge.streams.length;
    const client = await CarrierClient.open(`${server.url}/carriers`);
    for (const { from, data, isBinary } of readFixture(fixture))
      if (from === 'carrier') client.socket.send(data, { binary: isBinary });
    await client.close();
    if (client.closed?.reason === 'not recognised: use the path of the carrier')
      unknown.push(fixture);
    else if (carrierOf(fixture) !== 'freeswitch' && !streamless.includes(fixture)) {
      const { start } = await server.bridge.ended(before);
      expect([fixture, start.carrier]).toEqual([fixture, carrierOf(fixture)]);
    }
    expect(server.bridge.streams.slice(before).map(({ start }) => start.carrier)).toEqual(
      carrierOf(fixture) === 'freeswitch' || streamless.includes(fixture)
        ? []
        : [carrierOf(fixture)],
    );
  }
  // Nothing that FreeSWITCH sends shows whose it is.
  expect(unknown.every((fixture) => carrierOf(fixture) === 'freeswitch')).toBe(true);
});

describe('faults of the line', () => {
  test('frames out of order and lost ones are put right or declared, to the millisecond', async () => {
    await using server = await carrierServer({ config });
    for (const [at, carrier] of (['telnyx', 'plivo', 'twilio', 'signalwire'] as const).entries()) {
      const { result, audio } = await playOne(
        `${server.url}/carriers/${carrier}`,
        carrier,
        { encoding: 'mulaw', rateHz: 8000, legs: both },
        { drop: 0.05, reorder: 0.05, seed: 3 },
        4_000,
      );
      expect(result.outcome).toBe('played');
      expect(result.framesDropped).toBeGreaterThan(0);
      const stream = await server.bridge.ended(at);
      for (const [track, bytes] of audio) {
        const lostMs = stream.happened.reduce(
          (sum, event) =>
            event.type === 'lost' && event.track === track ? sum + event.durationMs : sum,
          0,
        );
        const missing = bytes.length - stream.bytes(track).length - lostMs * 8;
        // A loss at the very end has no later frame to show it.
        expect(missing, `${carrier} ${track}`).toBeGreaterThanOrEqual(0);
        expect(missing, `${carrier} ${track}`).toBeLessThanOrEqual(160 * 3);
      }
    }
  });

  test('a cut and a close without stop end the stream once each', async () => {
    await using server = await carrierServer({ config });
    for (const [at, carrier] of carrierNames.entries()) {
      const { result } = await playOne(
        `${server.url}/carriers/${carrier}`,
        carrier,
        usualForm(carrier),
        at % 2 === 0 ? { cutAtMs: 400 } : { noStop: true },
      );
      expect(result.outcome).toBe(at % 2 === 0 ? 'cut' : 'played');
      const stream = await server.bridge.ended(at);
      expect(stream.ends).toEqual([{ reason: 'close', detail: expect.stringContaining('code') }]);
    }
  });
});

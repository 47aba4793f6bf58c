import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { carriers } from '../../../../src/carriers/all.ts';
import type { CarrierName } from '../../../../src/carriers/all.ts';
import type { CarrierEvent } from '../../../../src/carriers/carrier.ts';
import { carrierNames } from '../../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../../src/carriers/config.ts';
import { decodeBase64, rawMedia, textParameters } from '../../../../src/carriers/json/frames.ts';
import { readFixture, upgradeRequest } from '../../../support/carriers/carrier-fixture.ts';

const config = CarriersConfig.parse({});

describe('base64 payloads', () => {
  test('every real payload comes back to the byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 400 }), (bytes) => {
        expect(
          decodeBase64(Buffer.from(bytes).toString('base64'))?.equals(Buffer.from(bytes)),
        ).toBe(true);
      }),
    );
  });

  test.each([
    '',
    'A',
    'AA',
    'AAA',
    '====',
    '=AAA',
    'A===',
    'AA=A',
    'AA A',
    'AAA\n',
    'AA!A',
    'AAAé',
    'AAAA=',
    'AAAAA',
    '////\0',
  ])('%j is refused, though the decoder of the platform would take it', (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });
});

describe('the fast path of media frames', () => {
  const fixtures = [
    'twilio-fork',
    'telnyx-pcmu',
    'telnyx-holes',
    'signalwire-fork',
    'plivo-both',
    'bandwidth-both',
    'bandwidth-numbered',
  ];

  /** The same message with a blank before it is never taken by the fast path. */
  test.each(fixtures)('%s says the same through the full parse', (name) => {
    const carrier = carriers[name.split('-')[0] as CarrierName];
    const fast = carrier.newCodec(config, upgradeRequest());
    const slow = carrier.newCodec(config, upgradeRequest());
    for (const { from, data, isBinary } of readFixture(name)) {
      if (from !== 'carrier') continue;
      expect(slow.decode(Buffer.concat([Buffer.from(' '), data]), isBinary)).toEqual(
        fast.decode(data, isBinary),
      );
    }
  });

  test('a payload marker inside another text is not mistaken for the payload', () => {
    const codec = carriers.twilio.newCodec(config, upgradeRequest());
    for (const { data } of readFixture('twilio-fork').slice(0, 2)) codec.decode(data, false);
    const tricky = {
      event: 'media',
      sequenceNumber: '2',
      streamSid: 'MZ"payload":"AAAA"}}',
      media: { track: 'inbound', chunk: '1', timestamp: '62', payload: 'AQID' },
    };
    expect(codec.decode(Buffer.from(JSON.stringify(tricky)), false)).toEqual([
      { type: 'audio', track: 'inbound', payload: Buffer.from([1, 2, 3]) },
    ]);
  });

  test('a message of any other form is left to the full parse', () => {
    for (const text of [
      '',
      '{}',
      '"payload":"',
      '"payload":"AAAA',
      '{"payload":"AA!A"}',
      '{"payload":"AAAA\\u0041AA"}',
    ])
      expect(rawMedia(Buffer.from(text)), text).toBeUndefined();
  });
});

test('custom parameters: hostile names and values change nothing but themselves', () => {
  const parsed = JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":"x","a":1,"b":true,"c":{"d":1},"e":null,"":"f"}',
  ) as unknown;
  const parameters = textParameters(parsed);
  expect(parameters).toEqual({ constructor: 'x', a: '1', b: 'true' });
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, 'v']));
  expect(Object.keys(textParameters(many)).length).toBe(64);
});

/** Frames that no carrier would send, at every point of a conversation. */
const rubbish = [
  '',
  ' ',
  '{',
  '}',
  '[]',
  '[1,2]',
  'null',
  'true',
  '1e999',
  '"media"',
  '\0',
  '\ud800',
  '{"event":1}',
  '{"event":null}',
  '{"event":"media"}',
  '{"event":"start"}',
  '{"event":"start","start":null}',
  '{"eventType":"start","metadata":{"callId":"c","streamId":"s","tracks":[null,5,{"mediaFormat":[]}]}}',
  '{"eventType":"media","track":{},"payload":5}',
  '{"event":"Start","metadata":{"callId":{},"sessionId":[]}}',
  '{"event":"Media","perspective":"__proto__","sequenceId":-1,"media":"AAAA"}',
  '{"eventType":["start"],"event":"start"}',
  '{"event":"start","start":{"streamSid":1,"callSid":[],"mediaFormat":{}}}',
  '{"event":"media","media":{"payload":5,"track":{}}}',
  '{"event":"media","media":{"payload":"AAAA","track":"sideways"}}',
  '{"event":"media","media":{"payload":"%%%%","track":"inbound"}}',
  '{"event":"media","media":[]}',
  '{"event":"stop","stop":5}',
  '{"event":"dtmf","dtmf":{"digit":"99"}}',
  '{"event":"__proto__"}',
  '{"event":"constructor"}',
  '{"event":"something_new"}',
  '{"version":"2","type":"open"}',
  '{"version":"2","type":"ping","id":"x","seq":1,"serverseq":0,"position":"PT0S","parameters":{}}',
  '{"version":"1","type":"open","id":"x","seq":1}',
  'MEDIA_START',
  'MEDIA_START format:ulaw',
  'MEDIA_START channel_id: format:',
  'HANGUP',
  '['.repeat(30_000),
  '{"a":'.repeat(10_000),
  `{"event":"start","start":{"customParameters":{"x":"${'y'.repeat(60_000)}"}}}`,
];

describe.each(carrierNames)('bad input to the codec of %s', (name) => {
  const fixture = {
    twilio: 'twilio-fork',
    telnyx: 'telnyx-pcmu',
    audiohook: 'audiohook-stereo',
    asterisk: 'asterisk-plain',
    signalwire: 'signalwire-fork',
    plivo: 'plivo-both',
    vonage: 'vonage-mixed',
    jambonz: 'jambonz-stereo',
    freeswitch: 'freeswitch-stereo',
    infobip: 'infobip-mixed',
    bandwidth: 'bandwidth-both',
    exotel: 'exotel-stream',
    ringcx: 'ringcx-queue',
  }[name];
  const lines = readFixture(fixture).filter(({ from }) => from === 'carrier');

  test('rubbish at every point is counted or refused, never thrown', () => {
    for (const text of rubbish)
      for (const isBinary of [false, true])
        for (const after of [0, 1, 2, lines.length]) {
          const codec = carriers[name].newCodec(config, upgradeRequest());
          for (const { data, isBinary: binary } of lines.slice(0, after))
            codec.decode(data, binary);
          const events = codec.decode(Buffer.from(text), isBinary);
          expect(events.every((event) => event.type !== 'audio' || event.payload.length > 0)).toBe(
            true,
          );
        }
  });

  test('every true frame cut short or with a byte changed is survived', () => {
    let state = 11;
    const random = (below: number): number =>
      (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const codec = carriers[name].newCodec(config, upgradeRequest());
    const seen = new Set<CarrierEvent['type']>();
    for (let round = 0; round < 3_000; round++) {
      const { data, isBinary } = lines[random(lines.length)]!;
      const changed = Buffer.from(
        random(2) === 0 ? data.subarray(0, random(data.length + 1)) : data,
      );
      if (changed.length > 0) changed[random(changed.length)] = random(256);
      for (const { type } of codec.decode(changed, isBinary)) seen.add(type);
    }
    expect(seen.has('count')).toBe(true);
  });

  test('media before the start is no audio', () => {
    const codec = carriers[name].newCodec(config, upgradeRequest());
    const media = lines.find(
      ({ data, isBinary }) => isBinary || /"media"|"Media"/.test(data.toString()),
    )!;
    expect(codec.decode(media.data, media.isBinary).some(({ type }) => type === 'audio')).toBe(
      false,
    );
  });
});

describe.each(['twilio', 'telnyx', 'signalwire', 'exotel'] as const)(
  'the life of a stream of %s',
  (name) => {
    const fixture = {
      twilio: 'twilio-fork',
      telnyx: 'telnyx-pcmu',
      signalwire: 'signalwire-fork',
      exotel: 'exotel-stream',
    }[name];
    const lines = readFixture(fixture);
    const play = (): ReturnType<(typeof carriers)['twilio']['newCodec']> => {
      const codec = carriers[name].newCodec(config, upgradeRequest());
      for (const { data, isBinary } of lines) codec.decode(data, isBinary);
      return codec;
    };

    test('media and a second stop after the stop are late', () => {
      const codec = play();
      const media = lines.find(({ data }) => data.includes('"media":{'))!;
      expect(codec.decode(media.data, false)).toEqual([{ type: 'count', what: 'late' }]);
      expect(codec.decode(lines.at(-1)!.data, false)).toEqual([{ type: 'count', what: 'late' }]);
    });

    test('a second start is a repeat, binary is malformed, an unknown event is tolerated', () => {
      const codec = carriers[name].newCodec(config, upgradeRequest());
      for (const { data } of lines.slice(0, 3)) codec.decode(data, false);
      expect(codec.decode(lines[1]!.data, false)).toEqual([{ type: 'count', what: 'duplicate' }]);
      expect(codec.decode(Buffer.alloc(160), true)).toEqual([{ type: 'count', what: 'malformed' }]);
      expect(codec.decode(Buffer.from('{"event":"something_new"}'), false)).toEqual([
        { type: 'count', what: 'unknown' },
      ]);
    });
  },
);

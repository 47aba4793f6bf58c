import { describe, expect, test } from 'vitest';
import { carriers } from '../../../src/carriers/all.ts';
import { maxBytesAheadOfStart } from '../../../src/carriers/binary/binary-codec.ts';
import type { CarrierName } from '../../../src/carriers/all.ts';
import type { CarrierEvent, Codec } from '../../../src/carriers/carrier.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { matchTexts } from '../../../src/carriers/recognising-socket.ts';
import {
  fixtureNames,
  frame,
  readFixture,
  upgradeRequest,
} from '../../support/carriers/carrier-fixture.ts';

const config = CarriersConfig.parse({});

type DecodedFixture = {
  events: CarrierEvent[];
  audio: Record<string, Buffer>;
  start: Extract<CarrierEvent, { type: 'start' }>['start'] | undefined;
};

function newCodec(name: CarrierName, headers: Record<string, string> = {}): Codec {
  return carriers[name].newCodec(config, upgradeRequest(`/carriers/${name}`, headers));
}

function hear(name: string, codec = newCodec(name.split('-')[0] as CarrierName)): DecodedFixture {
  const events: CarrierEvent[] = [];
  for (const { from, data, isBinary } of readFixture(name)) {
    if (from !== 'carrier') continue;
    const said = codec.decode(data, isBinary);
    events.push(...said);
    if (said.some(({ type }) => type === 'stop'))
      for (const text of codec.encode?.({ type: 'closed' }) ?? [])
        events.push({ type: 'reply', text });
  }
  events.push(...(codec.flush?.() ?? []));
  const audio: Record<string, Buffer> = {};
  for (const event of events)
    if (event.type === 'audio')
      audio[event.track] = Buffer.concat([audio[event.track] ?? Buffer.alloc(0), event.payload]);
  const start = events.find((event) => event.type === 'start')?.start;
  return { events, audio, start };
}

const frames = (...seeds: number[]): Buffer => Buffer.concat(seeds.map((seed) => frame(seed)));
const rest = ({ events }: DecodedFixture): CarrierEvent[] =>
  events.filter(({ type }) => type !== 'audio' && type !== 'start' && type !== 'reply');

describe('recorded conversations of Twilio', () => {
  test('a fork carries both tracks, its parameters, and the token apart from them', () => {
    const heard = hear('twilio-fork');
    expect(heard.start).toEqual({
      carrierCallId: 'CA77d0c1b2a3f44e5d8c9b0a1f2e3d4c5b',
      streamId: 'MZ0f5a61e0b1c24d7f8a9be2c3d4e5f601',
      encoding: 'mulaw',
      sampleRate: 8000,
      tracks: [{ name: 'inbound' }, { name: 'outbound' }],
      direction: 'inbound',
      from: '+15550100123',
      to: '+15550100200',
      carrierIds: {
        stream_sid: 'MZ0f5a61e0b1c24d7f8a9be2c3d4e5f601',
        account_sid: 'AC5d2c8f10a9b84e3f9c7a6b5d4e3f2a10',
      },
      parameters: { crmCase: 'C-20417' },
      token: 'one-time-token',
      closingEndsCall: false,
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5, 6, 7));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15, 16, 17));
    expect(rest(heard)).toEqual([{ type: 'stop' }]);
  });

  test('a connected stream may hold the phone call; its key press and mark make no hole', () => {
    const heard = hear('twilio-connect');
    expect(heard.start).toMatchObject({
      closingEndsCall: true,
      tracks: [{ name: 'inbound' }],
      parameters: {},
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5, 6, 7));
    expect(rest(heard)).toEqual([{ type: 'dtmf', digit: '7', track: 'inbound' }, { type: 'stop' }]);
  });

  test('a missing number is declared lost on the track whose time stands still', () => {
    const heard = hear('twilio-holes');
    const lost = heard.events.filter((event) => event.type === 'lost');
    expect(lost).toEqual([
      { type: 'lost', track: 'inbound', durationMs: 20, cause: 'numbering' },
      { type: 'lost', track: 'outbound', durationMs: 40, cause: 'numbering' },
    ]);
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 3, 4, 5, 6, 7));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 14, 15, 16, 17));
  });
});

describe('recorded conversations of Telnyx', () => {
  test('PCMU with the keys in another order than documented', () => {
    const heard = hear('telnyx-pcmu');
    expect(heard.start).toMatchObject({
      carrierCallId: 'v3:Qm9ndXNDb250cm9sSWQ',
      encoding: 'mulaw',
      from: '+15550100123',
      to: '+15550100999',
      carrierIds: {
        call_session_id: '9c7d1e7a-77aa-11f0-9c2e-02420aef0001',
        client_state: 'eyJjYXNlIjoiQy0yMDQxNyJ9',
      },
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5, 6, 7));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15, 16, 17));
    expect(rest(heard)).toEqual([{ type: 'dtmf', digit: '4' }, { type: 'stop' }]);
  });

  test('PCMA out of order and repeated comes out in order, once, and counted', () => {
    const heard = hear('telnyx-pcma-reordered');
    expect(heard.start).toMatchObject({
      encoding: 'alaw',
      tracks: [
        { name: 'inbound', role: 'agent' },
        { name: 'outbound', role: 'customer' },
      ],
      parameters: { crmCase: 'C-20417' },
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5, 6, 7));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15, 16, 17));
    const counts = rest(heard)
      .filter((event) => event.type === 'count' && event.track === 'inbound')
      .map((event) => (event.type === 'count' ? event.what : ''));
    expect(counts).toEqual(['reordered', 'reordered', 'reordered', 'duplicate']);
  });

  test('chunks that never come are declared lost after the window', () => {
    const heard = hear('telnyx-holes');
    expect(heard.events.filter((event) => event.type === 'lost')).toEqual([
      { type: 'lost', track: 'inbound', durationMs: 40, cause: 'numbering' },
      { type: 'lost', track: 'outbound', durationMs: 40, cause: 'numbering' },
    ]);
    expect(heard.audio['inbound']?.length).toBe(18 * 160);
  });

  test('L16 in network order reaches us little-endian', () => {
    const heard = hear('telnyx-l16');
    expect(heard.start).toMatchObject({ encoding: 'pcm16', sampleRate: 16_000 });
    expect(
      heard.audio['inbound']?.equals(
        Buffer.concat([0, 1, 2, 3, 4, 5].map((seed) => frame(seed, 640))),
      ),
    ).toBe(true);
  });

  test('G.722 is refused with the setting to change, and its audio goes nowhere', () => {
    const heard = hear('telnyx-g722');
    expect(heard.start).toBeUndefined();
    expect(heard.audio).toEqual({});
    expect(heard.events[0]).toMatchObject({
      type: 'refused',
      closingEndsCall: false,
      reason: expect.stringContaining('stream_codec=PCMU'),
    });
  });
});

describe('recorded conversations of SignalWire', () => {
  test('ids are UUIDs and stand only in the start', () => {
    const heard = hear('signalwire-fork');
    expect(heard.start).toMatchObject({
      carrierCallId: '6d5c4b3a-2918-4f7e-a6d5-c4b3a2918f7e',
      encoding: 'mulaw',
      parameters: { crmCase: 'C-20417' },
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15));
    expect(rest(heard)).toEqual([{ type: 'dtmf', digit: 'A' }, { type: 'stop' }]);
  });

  test('L16 stays as it is unless its byte order is set', () => {
    const whole = Buffer.concat([0, 1, 2, 3].map((seed) => frame(seed, 640)));
    expect(hear('signalwire-l16').audio['inbound']?.equals(whole)).toBe(true);
    const big = CarriersConfig.parse({ signalwireByteOrder: 'big' });
    const swapped = hear('signalwire-l16', carriers.signalwire.newCodec(big, upgradeRequest()));
    expect(swapped.audio['inbound']?.equals(Buffer.from(whole).swap16())).toBe(true);
  });
});

test('a recorded conversation of Plivo: no hello, no stop, parameters on every message', () => {
  const heard = hear('plivo-both');
  expect(heard.start).toMatchObject({
    carrierCallId: '2f6c1d70-0e77-4a55-b0bb-0c9d8e7f6a51',
    streamId: 'c3d2e1f0-1122-4334-8556-778899aabbcc',
    from: '+15550100123',
    parameters: { crmCase: 'C-20417', tier: 'gold' },
    closingEndsCall: true,
  });
  expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5));
  expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15));
  expect(rest(heard)).toEqual([{ type: 'dtmf', digit: '9', track: 'inbound' }]);
});

describe('recorded conversations of Bandwidth', () => {
  test('both tracks in one stream, the parties among its parameters', () => {
    const heard = hear('bandwidth-both');
    expect(heard.start).toEqual({
      carrierCallId: 'c-15ac29a2-0c0ffee0-1111-4222-8333-444455556666',
      streamId: 's-15ac29a2-abcdef01-7777-4888-8999-aaaabbbbcccc',
      encoding: 'mulaw',
      sampleRate: 8000,
      tracks: [{ name: 'inbound' }, { name: 'outbound' }],
      direction: 'inbound',
      from: '+15550100123',
      to: '+15550100999',
      carrierIds: {
        stream_id: 's-15ac29a2-abcdef01-7777-4888-8999-aaaabbbbcccc',
        account_id: '9900001',
        stream_name: 'assist-1',
      },
      parameters: { crmCase: 'C-20417' },
      closingEndsCall: false,
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15));
    expect(rest(heard)).toEqual([{ type: 'stop' }]);
  });

  test('numbers of newer streams and the other spelling of PCMU change nothing', () => {
    const heard = hear('bandwidth-numbered');
    expect(heard.start).toMatchObject({ encoding: 'mulaw', sampleRate: 8000 });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5));
    expect(heard.audio['outbound']).toEqual(frames(10, 11, 12, 13, 14, 15));
    expect(rest(heard)).toEqual([{ type: 'stop' }]);
  });

  test('StartTranscription is refused with the verb to use, and its words go nowhere', () => {
    const heard = hear('bandwidth-transcription');
    expect(heard.start).toBeUndefined();
    expect(heard.events[0]).toMatchObject({
      type: 'refused',
      closingEndsCall: false,
      reason: expect.stringMatching(/<StartStream tracks="both">.*<StartTranscription> sends text/),
    });
    expect(JSON.stringify(heard.events)).not.toContain('hello');
  });
});

describe('recorded conversations of Exotel', () => {
  const samples = (length: number, ...seeds: number[]): Buffer =>
    Buffer.concat(seeds.map((seed) => frame(seed, length)));

  test('frames of 100 ms, 16 bits little-endian, go on unchanged; a key press and a mark make no hole', () => {
    const heard = hear('exotel-stream');
    expect(heard.start).toEqual({
      carrierCallId: 'c1b2a3948576d5e4f3a2b1c0d9e8f7a6',
      streamId: '7e1f0a9c8b7d6e5f4a3b2c1d0e9f8a7b',
      encoding: 'pcm16',
      sampleRate: 8000,
      tracks: [{ name: 'inbound' }],
      from: '+15550100123',
      to: '+15550100999',
      carrierIds: { stream_sid: '7e1f0a9c8b7d6e5f4a3b2c1d0e9f8a7b', account_sid: 'acme1' },
      parameters: { crmCase: 'C-20417' },
      closingEndsCall: true,
    });
    expect(heard.audio['inbound']?.equals(samples(1_600, 0, 1, 2, 3))).toBe(true);
    expect(rest(heard)).toEqual([{ type: 'dtmf', digit: '5', track: 'inbound' }, { type: 'stop' }]);
  });

  test('the other spelling of every field says the same, and its chunks are put in order', () => {
    const heard = hear('exotel-camel');
    expect(heard.start).toEqual({ ...hear('exotel-stream').start, sampleRate: 16_000 });
    expect(heard.audio['inbound']?.equals(samples(3_200, 0, 1, 2, 3))).toBe(true);
    expect(rest(heard)).toEqual([
      { type: 'count', what: 'reordered', track: 'inbound' },
      { type: 'stop' },
    ]);
  });

  test('24,000 Hz is taken, and 20,000 Hz is refused with what to put behind the address', () => {
    expect(hear('exotel-24k').start).toMatchObject({ sampleRate: 24_000 });
    const start = {
      event: 'start',
      start: { stream_sid: 's', call_sid: 'c', media_format: { encoding: 'raw', sample_rate: '20000' } },
    }; // prettier-ignore
    expect(newCodec('exotel').decode(Buffer.from(JSON.stringify(start)), false)).toMatchObject([
      {
        type: 'refused',
        closingEndsCall: true,
        reason: expect.stringMatching(/\?sample-rate=16000.*20000 Hz/),
      },
    ]);
  });

  test.each([
    ['', {}, 'pcm16', 8000],
    ['sample-rate=16000', {}, 'pcm16', 16_000],
    ['sample-rate=16000', { media_format: { sample_rate: '8000' } }, 'pcm16', 8000],
    [
      '',
      { media_format: { encoding: 'base64', sample_rate: 8000, bit_rate: '128kbps' } },
      'pcm16',
      8000,
    ],
    ['', { mediaFormat: { encoding: 'audio/x-mulaw;rate=8000' } }, 'mulaw', 8000],
  ])(
    'behind the address %j and in the start %j: %s at %i Hz',
    (query, said, encoding, sampleRate) => {
      const codec = carriers.exotel.newCodec(
        config,
        upgradeRequest(`/carriers/exotel?token=t&role=agent&crm=C-1&${query}`),
      );
      const text = JSON.stringify({
        event: 'start',
        start: { stream_sid: 's', call_sid: 'c', ...said },
      });
      expect(codec.decode(Buffer.from(text), false)).toMatchObject([
        {
          start: {
            encoding,
            sampleRate,
            tracks: [{ name: 'outbound', role: 'agent' }],
            parameters: { crm: 'C-1' },
          },
        },
      ]);
    },
  );
});

describe('recorded conversations of RingCX', () => {
  test('roles come from the perspective, and the stream ends with the second of its two stops', () => {
    const heard = hear('ringcx-queue');
    expect(heard.start).toEqual({
      carrierCallId: '202603041011120001',
      streamId: '2',
      encoding: 'mulaw',
      sampleRate: 8000,
      tracks: [
        { name: 'Conference', role: 'customer' },
        { name: 'Participant', role: 'agent' },
      ],
      direction: 'inbound',
      from: '5550100123',
      to: '5550100999',
      carrierIds: {
        session_id: '2',
        account_id: '88800000',
        subaccount_id: '88800001',
        rc_account_id: '400111222',
        agent_id: '731',
        product_type: 'Queue',
        product_id: '4021',
      },
      parameters: {},
      closingEndsCall: false,
    });
    expect(heard.audio['Conference']).toEqual(frames(0, 1, 2, 3, 4, 5));
    // Its last frame came between the two stops.
    expect(heard.audio['Participant']).toEqual(frames(10, 11, 12, 13, 14, 15));
    expect(rest(heard)).toEqual([{ type: 'stop' }]);
  });

  test('which perspective is the agent can be set', () => {
    const turned = CarriersConfig.parse({ ringcxAgentPerspective: 'Conference' });
    const heard = hear('ringcx-queue', carriers.ringcx.newCodec(turned, upgradeRequest()));
    expect(heard.start?.tracks.map(({ role }) => role)).toEqual(['agent', 'customer']);
  });

  test('numbers may have holes; a frame behind a later one is counted and silence stands for it', () => {
    const codec = newCodec('ringcx');
    for (const { data } of readFixture('ringcx-queue').slice(0, 2)) codec.decode(data, false);
    const media = (sequenceId: unknown): CarrierEvent['type'][] =>
      codec
        .decode(
          Buffer.from(
            JSON.stringify({ event: 'Media', perspective: 'Conference', sequenceId, media: frame(1).toString('base64') }), // prettier-ignore
          ),
          false,
        )
        .map(({ type }) => type);
    expect(['4', 90, '4', 90, '91'].map(media)).toEqual([
      ['audio'],
      ['audio'],
      ['count', 'lost'],
      ['count'],
      ['audio'],
    ]);
    expect(media(undefined)).toEqual(['audio']);
  });
});

describe('recorded conversations of Asterisk', () => {
  test('audio ahead of MEDIA_START is kept; plain-text control', () => {
    const heard = hear('asterisk-plain');
    expect(heard.start).toMatchObject({
      carrierCallId: 'pbx1-1772617871.88',
      encoding: 'mulaw',
      sampleRate: 8000,
      closingEndsCall: true,
    });
    expect(heard.audio['inbound']).toEqual(frames(0, 1, 2, 3, 4, 5, 6, 7));
    expect(rest(heard)).toEqual([
      { type: 'dtmf', digit: '5', track: 'inbound' },
      { type: 'count', what: 'unknown' },
    ]);
  });

  test('JSON control with slin16, a role and variables', () => {
    const heard = hear('asterisk-json-slin');
    expect(heard.start).toMatchObject({
      encoding: 'pcm16',
      sampleRate: 16_000,
      tracks: [{ name: 'outbound', role: 'agent' }],
      parameters: { CRM: 'C-20417' },
      carrierIds: { channel_id: 'pbx1-1772617871.89', connection_id: 'bridge' },
    });
    expect(heard.audio['outbound']?.length).toBe(5 * 640);
  });

  test('the first versions say less: the channel stands for its id', () => {
    expect(hear('asterisk-old').start).toMatchObject({
      carrierCallId: 'WebSocket/bridge/0x1',
      encoding: 'alaw',
    });
  });

  test('opus is refused by name without hanging up the channel', () => {
    expect(hear('asterisk-opus').events[0]).toMatchObject({
      type: 'refused',
      closingEndsCall: true,
      reason: expect.stringContaining('c(ulaw)'),
    });
  });

  test('two channels of one call say so in the address', () => {
    const codec = carriers.asterisk.newCodec(
      config,
      upgradeRequest(
        '/carriers/asterisk/t?call_id=call-7&leg=customer&from=%2B15550100123&crm=C-1',
      ),
    );
    const [start] = codec.decode(
      Buffer.from('MEDIA_START connection_id:b channel_id:pbx1-1.1 format:ulaw'),
      false,
    );
    expect(start).toMatchObject({
      start: {
        carrierCallId: 'call-7',
        streamId: 'pbx1-1.1',
        from: '+15550100123',
        parameters: { crm: 'C-1' },
        tracks: [{ name: 'inbound', role: 'customer' }],
      },
    });
  });
});

describe('recorded conversations of jambonz', () => {
  test('caller and callee come apart, whatever the length of a message; an empty one ends the audio', () => {
    const heard = hear('jambonz-stereo');
    expect(heard.start).toMatchObject({
      carrierCallId: 'b2c3d4e5-1111-4f2e-9a0b-0c1d2e3f4a5b',
      encoding: 'pcm16',
      sampleRate: 8000,
      tracks: [{ name: 'inbound' }, { name: 'outbound' }],
      direction: 'inbound',
      from: '+15550100123',
      to: '+15550100999',
      carrierIds: { sip_call_id: 'a84b4c76e66710@sbc' },
      closingEndsCall: true,
    });
    expect(Object.entries(heard.start?.parameters ?? {})).toEqual([['crmCase', 'C-20417']]);
    expect(heard.audio).toEqual({
      inbound: Buffer.concat([frame(0, 320), frame(1, 640), frame(2, 320)]),
      outbound: Buffer.concat([frame(10, 320), frame(11, 640), frame(12, 320)]),
    });
    expect(rest(heard)).toEqual([
      { type: 'dtmf', digit: '5' },
      { type: 'stop', detail: 'end of audio' },
    ]);
  });

  test('both parties in one channel are the track mixed', () => {
    const heard = hear('jambonz-mixed');
    expect(heard.start).toMatchObject({ sampleRate: 16_000, tracks: [{ name: 'mixed' }] });
    expect(heard.audio['mixed']?.length).toBe(3 * 640);
  });

  test('24 kHz is taken, and 20 kHz is refused with the setting to change', () => {
    const said = '{"callSid":"c","mixType":"mono","sampleRate":24000}';
    expect(newCodec('jambonz').decode(Buffer.from(said), false)).toMatchObject([
      { type: 'start', start: { sampleRate: 24_000 } },
    ]);
    const text = '{"callSid":"c","mixType":"mono","sampleRate":20000}';
    expect(newCodec('jambonz').decode(Buffer.from(text), false)).toMatchObject([
      {
        type: 'refused',
        carrierCallId: 'c',
        reason: expect.stringContaining('sampleRate of listen'),
      },
    ]);
  });
});

describe('recorded conversations of FreeSWITCH', () => {
  test('metadata behind the first audio, stereo, and a text of the dialplan', () => {
    const heard = hear('freeswitch-stereo');
    expect(heard.start).toMatchObject({
      carrierCallId: '1c2d3e4f-5555-4a6b-8c7d-9e0f1a2b3c4d',
      encoding: 'pcm16',
      sampleRate: 16_000,
      tracks: [{ name: 'inbound' }, { name: 'outbound' }],
      from: '+15550100123',
      closingEndsCall: false,
    });
    const whole = (seeds: number[]): Buffer => Buffer.concat(seeds.map((seed) => frame(seed, 640)));
    expect(heard.audio['inbound']?.equals(whole([0, 1, 2, 3]))).toBe(true);
    expect(heard.audio['outbound']?.equals(whole([10, 11, 12, 13]))).toBe(true);
    expect(rest(heard)).toEqual([
      { type: 'dtmf', digit: '9' },
      { type: 'count', what: 'unknown' },
    ]);
  });

  test('without any text the address says what the samples are', () => {
    const target = '/carriers/freeswitch?call_id=call-7&rate=8k&mix=mono&leg=agent';
    const heard = hear(
      'freeswitch-no-text',
      carriers.freeswitch.newCodec(config, upgradeRequest(target)),
    );
    expect(heard.start).toMatchObject({
      carrierCallId: 'call-7',
      sampleRate: 8000,
      tracks: [{ name: 'outbound', role: 'agent' }],
    });
    expect(heard.audio['outbound']?.length).toBe(4 * 320);
  });

  test('a rate that nobody states is not assumed', () => {
    expect(hear('freeswitch-no-text').events).toEqual([]);
  });

  test.each(['20k', '11000', 'fast', '0'])('a rate of %s is refused with what to set', (rate) => {
    const target = `/carriers/freeswitch?rate=${rate}`;
    const codec = carriers.freeswitch.newCodec(config, upgradeRequest(target));
    expect(codec.decode(frame(0, 320), true)).toMatchObject([
      { type: 'refused', closingEndsCall: false, reason: expect.stringContaining('8k or 16k') },
    ]);
  });
});

test('a recorded conversation of Infobip: one mixed channel, custom data beside the ids', () => {
  const heard = hear('infobip-mixed');
  expect(heard.start).toMatchObject({
    carrierCallId: 'd1c2b3a4-7777-4a6b-8c7d-9e0f1a2b3c4d',
    sampleRate: 16_000,
    tracks: [{ name: 'mixed' }],
    from: '+15550100123',
    closingEndsCall: false,
  });
  expect(Object.entries(heard.start?.parameters ?? {})).toEqual([['crmCase', 'C-20417']]);
  expect(heard.audio['mixed']?.length).toBe(4 * 640);
});

describe('recorded conversations of Vonage', () => {
  test('audio ahead of the first text is kept; one mixed channel at 16 kHz', () => {
    const heard = hear('vonage-mixed');
    expect(heard.start).toMatchObject({
      carrierCallId: '63f61863-4a51-4f6b-86e1-46edebcf9356',
      encoding: 'pcm16',
      sampleRate: 16_000,
      tracks: [{ name: 'mixed' }],
      direction: 'inbound',
      from: '+15550100123',
      to: '+15550100999',
      carrierIds: { call_uuid: '63f61863-4a51-4f6b-86e1-46edebcf9356' },
      closingEndsCall: true,
    });
    expect(Object.entries(heard.start?.parameters ?? {})).toEqual([['crmCase', 'C-20417']]);
    const whole = Buffer.concat([0, 1, 2, 3, 4, 5, 6, 7].map((seed) => frame(seed, 640)));
    expect(heard.audio['mixed']?.equals(whole)).toBe(true);
    expect(rest(heard)).toEqual([{ type: 'dtmf', digit: '5', track: 'mixed' }]);
  });

  test('a socket that hears one party goes by its track; an empty message ends the audio', () => {
    const heard = hear('vonage-agent');
    expect(heard.start).toMatchObject({ tracks: [{ name: 'outbound', role: 'agent' }] });
    expect(heard.audio['outbound']?.length).toBe(4 * 320);
    expect(rest(heard)).toEqual([
      { type: 'dtmf', digit: '7', track: 'outbound' },
      { type: 'stop', detail: 'end of audio' },
    ]);
  });

  test('24 kHz is taken, and 20 kHz is refused with the setting to change', () => {
    expect(hear('vonage-24k').start).toMatchObject({ sampleRate: 24_000 });
    const text =
      '{"event":"websocket:connected","content-type":"audio/l16;rate=20000","callUuid":"c"}';
    expect(newCodec('vonage').decode(Buffer.from(text), false)).toEqual([
      {
        type: 'refused',
        carrierCallId: 'c',
        closingEndsCall: true,
        reason: expect.stringContaining('content-type of the endpoint'),
      },
    ]);
  });

  test('audio that waits too long for its first text stays within its bound and is declared lost', () => {
    const codec = newCodec('vonage');
    for (let at = 0; at < 110; at++) expect(codec.decode(frame(at, 640), true)).toEqual([]);
    const events = codec.decode(
      Buffer.from('{"event":"websocket:connected","content-type":"audio/l16;rate=16000"}'),
      false,
    );
    const kept = Math.floor(maxBytesAheadOfStart / 640);
    expect(events.filter(({ type }) => type === 'audio').length).toBe(kept);
    expect(events.at(-1)).toEqual({
      type: 'lost',
      track: 'mixed',
      durationMs: (110 - kept) * 20,
      cause: 'opening',
    });
  });
});

describe('recorded conversations of AudioHook', () => {
  /** Our answers, compared with those in the recording. */
  function expectReplies(name: string): DecodedFixture {
    const heard = hear(name);
    const replies = heard.events.flatMap((event) =>
      event.type === 'reply' ? [JSON.parse(event.text)] : [],
    );
    const recorded = readFixture(name).flatMap(({ from, data }) =>
      from === 'bridge' ? [JSON.parse(data.toString())] : [],
    );
    expect(replies).toEqual(recorded);
    return heard;
  }

  test('the whole dialogue: open, ping, pause, discard, update, error, close, with both sequence numbers', () => {
    const heard = expectReplies('audiohook-stereo');
    expect(heard.events[0]?.type).toBe('reply');
    expect(heard.start).toMatchObject({
      carrierCallId: '9a8b7c6d-5e4f-4032-91a2-b3c4d5e6f708',
      streamId: '0d5bb3c5-1a6e-4f0e-9d1c-7f1d2c3b4a59',
      encoding: 'mulaw',
      tracks: [{ name: 'external' }, { name: 'internal' }],
      from: '+15550100123',
      to: '+15550100999',
      parameters: { crmCase: 'C-20417', language: 'en-US', ani_name: 'J Ortiz' },
    });
    expect(
      heard.audio['external']?.equals(Buffer.concat([0, 1, 2, 4].map((seed) => frame(seed, 1600)))),
    ).toBe(true);
    expect(
      heard.audio['internal']?.equals(
        Buffer.concat([10, 11, 12, 14].map((seed) => frame(seed, 1600))),
      ),
    ).toBe(true);
    expect(rest(heard)).toEqual([
      { type: 'paused' },
      { type: 'resumed', discardedMs: 6000 },
      { type: 'lost', track: 'external', durationMs: 600, cause: 'discarded' },
      { type: 'lost', track: 'internal', durationMs: 600, cause: 'discarded' },
      { type: 'language', code: 'es-US' },
      { type: 'stop', detail: 'end' },
    ]);
  });

  test('mono L16, the offer that we cannot take passed over', () => {
    const heard = expectReplies('audiohook-mono-l16');
    expect(heard.start).toMatchObject({ encoding: 'pcm16', tracks: [{ name: 'internal' }] });
    expect(heard.audio['internal']?.length).toBe(9600);
  });

  test('the channels come apart in the order of the chosen list', () => {
    const heard = expectReplies('audiohook-inverted');
    expect(heard.audio['internal']).toEqual(frame(1, 3200));
    expect(heard.audio['external']).toEqual(frame(2, 3200));
  });

  test('a connection probe is answered and makes no call', () => {
    const heard = expectReplies('audiohook-probe');
    expect(heard.start).toBeUndefined();
    expect(rest(heard)).toEqual([{ type: 'probe' }, { type: 'stop', detail: 'end' }]);
  });
});

describe('what a start message says about its audio', () => {
  const spellings: [string, string | undefined][] = [
    ['audio/x-mulaw', 'mulaw'],
    ['PCMU', 'mulaw'],
    ['pcmu', 'mulaw'],
    ['audio/PCMU', 'mulaw'],
    ['audio/x-mulaw;rate=8000', 'mulaw'],
    ['PCMA', 'alaw'],
    ['audio/x-alaw', 'alaw'],
    ['audio/x-l16', 'pcm16'],
    ['audio/x-L16', 'pcm16'],
    ['L16', 'pcm16'],
    ['G722', undefined],
    ['OPUS', undefined],
    ['AMR-WB', undefined],
    ['audio/x-amr', undefined],
    ['G729', undefined],
    ['', undefined],
    ['__proto__', undefined],
    ['constructor', undefined],
  ];
  const ratesHz = [8000, 16_000, 24_000, 44_100, 48_000, 11_025, 20_000, 0];
  const forwardable = new Set([8000, 16_000, 44_100, 48_000]);
  // Bare samples alone can be resampled.
  const resampled = new Set([24_000, 11_025]);
  const remedies = {
    twilio: 'mu-law',
    telnyx: 'stream_codec=PCMU',
    signalwire: 'codec of <Stream>',
    plivo: 'contentType of <Stream>',
    exotel: '?sample-rate=8000',
    bandwidth: '<StartStream tracks="both">',
  };

  function startSaying(name: keyof typeof remedies, format: Record<string, unknown>): object {
    const ids = { streamSid: 'MZ1', callSid: 'CA1', streamId: 's', callId: 'c' };
    if (name === 'exotel')
      return { event: 'start', start: { stream_sid: 's', call_sid: 'c', mediaFormat: format } };
    if (name === 'bandwidth')
      return {
        eventType: 'start',
        metadata: {
          callId: 'c',
          streamId: 's',
          tracks: [{ name: 'inbound', mediaFormat: format }],
        },
      };
    return name === 'telnyx'
      ? {
          event: 'start',
          stream_id: 's',
          start: {
            call_control_id: 'c',
            media_format: { encoding: format['encoding'], sample_rate: format['sampleRate'], channels: format['channels'] },
          },
        }
      : { event: 'start', start: { ...ids, mediaFormat: format } }; // prettier-ignore
  }

  test.each(Object.keys(remedies) as (keyof typeof remedies)[])(
    '%s: every spelling by rate by channels is taken as said, or refused with the setting to change',
    (name) => {
      for (const [encoding, expected] of spellings)
        for (const sampleRate of ratesHz)
          for (const channels of [undefined, 1, 2]) {
            const said = JSON.stringify(startSaying(name, { encoding, sampleRate, channels }));
            const [event] = newCodec(name).decode(Buffer.from(said), false);
            const isRate =
              forwardable.has(sampleRate) || (expected === 'pcm16' && resampled.has(sampleRate));
            const taken = expected !== undefined && isRate && channels !== 2;
            expect(event, said).toMatchObject(
              taken
                ? { type: 'start', start: { encoding: expected, sampleRate } }
                : { type: 'refused', reason: expect.stringContaining(remedies[name]) },
            );
          }
    },
  );

  test('a rate that stands only in the name of the encoding is read from there', () => {
    const said = (encoding: string): CarrierEvent | undefined =>
      newCodec('plivo').decode(Buffer.from(JSON.stringify(startSaying('plivo', { encoding }))), false)[0]; // prettier-ignore
    expect(said('audio/x-l16;rate=16000')).toMatchObject({ start: { sampleRate: 16_000 } });
    expect(said('audio/x-l16; RATE=24000')).toMatchObject({ start: { sampleRate: 24_000 } });
    expect(said('audio/x-l16; RATE=20000')).toMatchObject({ type: 'refused' });
    expect(said('audio/x-mulaw')).toMatchObject({ start: { sampleRate: 8000 } });
  });

  test.each([
    ['ulaw', 'mulaw', 8000],
    ['alaw', 'alaw', 8000],
    ['slin', 'pcm16', 8000],
    ['slin12', 'pcm16', 12_000],
    ['slin16', 'pcm16', 16_000],
    ['slin24', 'pcm16', 24_000],
    ['slin48', 'pcm16', 48_000],
  ])('Asterisk %s is %s at %i Hz', (format, encoding, sampleRate) => {
    const text = `MEDIA_START connection_id:b channel_id:1.1 format:${format}`;
    expect(newCodec('asterisk').decode(Buffer.from(text), false)).toMatchObject([
      { type: 'start', start: { encoding, sampleRate } },
    ]);
  });

  test.each(['slin11', 'g722', 'opus', 'g729', 'gsm', 'speex', '__proto__'])(
    'Asterisk %s is refused with the setting to change',
    (format) => {
      const text = `MEDIA_START connection_id:b channel_id:1.1 format:${format}`;
      expect(newCodec('asterisk').decode(Buffer.from(text), false)).toMatchObject([
        { type: 'refused', reason: expect.stringContaining('c(ulaw)'), carrierCallId: '1.1' },
      ]);
    },
  );
});

test('Plivo: a stop ends the stream, though its reference names none', () => {
  const codec = newCodec('plivo');
  for (const { data } of readFixture('plivo-both').slice(0, 4)) codec.decode(data, false);
  expect(codec.decode(Buffer.from('{"event":"stop"}'), false)).toEqual([{ type: 'stop' }]);
});

test.each([
  ['telnyx', 'telnyx-pcmu'],
  ['plivo', 'plivo-both'],
  ['bandwidth', 'bandwidth-both'],
] satisfies [CarrierName, string][])(
  'what stands behind the address of a %s stream is joined; what its start says counts first',
  (name, fixture) => {
    const query = 'queue=billing&crmCase=other&role=agent&token=claimed&from=%2B1900&__proto__=x';
    const request = upgradeRequest(`/carriers/${name}?${query}`);
    const plain = hear(fixture).start!;
    const { start } = hear(fixture, carriers[name].newCodec(config, request));
    expect(start).toEqual({
      ...plain,
      tracks: [
        { name: 'inbound', role: 'agent' },
        { name: 'outbound', role: 'customer' },
      ],
      from: plain.from ?? '+1900',
      parameters: { crmCase: 'other', ...plain.parameters, queue: 'billing' },
    });
  },
);

test('the detecting path knows every recorded carrier by its first texts', () => {
  // Nothing that FreeSWITCH sends is its own: only its path tells.
  for (const name of fixtureNames().filter((one) => !one.startsWith('freeswitch'))) {
    const texts = readFixture(name).flatMap(({ from, isBinary, data }) =>
      from === 'carrier' && !isBinary ? [data.toString()] : [],
    );
    const first = matchTexts(texts.slice(0, 1));
    expect(first === 'more' ? matchTexts(texts.slice(0, 2)) : first, name).toBe(name.split('-')[0]);
  }
  expect(matchTexts(['hello'])).toBe('unknown');
  expect(matchTexts(['{"event":"connected"}', '{"event":"start","start":{}}'])).toBe('unknown');
  expect(matchTexts(['{"event":"connected","version":"1.0.0"}'])).toBe('more');
});

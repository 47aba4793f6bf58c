import { describe, expect, test } from 'vitest';
import {
  callMetadata,
  legMetadata,
  metadataLimit,
} from '../../../../src/bridge/records/call-record.ts';
import { roleOf } from '../../../../src/bridge/roles.ts';
import {
  callOverrides,
  sessionFormat,
  sessionRequest,
} from '../../../../src/bridge/session/session-request.ts';
import { StreamingRequest } from '../../../../src/protocol/live-request.ts';

const format = { encoding: 'mulaw', sampleRate: 8_000, channels: 1 } as const;
const facts = {
  callId: 'call_1',
  carrier: 'twilio',
  carrierCallId: 'CA1',
  direction: 'inbound' as const,
  from: '+1',
  to: '+2',
  startedAt: 0,
  carrierIds: { account_sid: 'AC1' },
  parameters: {},
};

describe('the body of POST /v2/live', () => {
  test('telephony defaults are a valid request with sentiment, entities and acks on', () => {
    const request = StreamingRequest.parse(
      sessionRequest({ template: {}, overrides: {}, format, metadata: { a: 1 } }),
    );
    expect(request).toMatchObject({
      encoding: 'wav/ulaw',
      bit_depth: 8,
      sample_rate: 8_000,
      channels: 1,
      custom_metadata: { a: 1 },
      realtime_processing: { sentiment_analysis: true, named_entity_recognition: true },
      messages_config: { receive_acknowledgments: true, receive_partial_transcripts: true },
    });
    expect(request.endpointing).toBeGreaterThan(0.05);
  });

  test('the configuration wins over the defaults, the call over the configuration, the stream over all', () => {
    const request = sessionRequest({
      template: {
        endpointing: 0.1,
        encoding: 'wav/pcm',
        sample_rate: 48_000,
        language_config: { languages: ['fr', 'de'] },
        realtime_processing: { sentiment_analysis: false },
        messages_config: { receive_acknowledgments: false },
      },
      overrides: callOverrides({ language: 'en-GB', vocabulary: 'Trunkline, refund' }, [
        'language',
        'vocabulary',
      ]).overrides,
      format,
      metadata: {},
    });
    expect(request).toMatchObject({
      endpointing: 0.1,
      encoding: 'wav/ulaw',
      sample_rate: 8_000,
      language_config: { languages: ['en'] },
      realtime_processing: {
        sentiment_analysis: false,
        named_entity_recognition: true,
        custom_vocabulary: true,
        custom_vocabulary_config: { vocabulary: ['Trunkline', 'refund'] },
      },
      messages_config: { receive_acknowledgments: true },
    });
  });

  test('parameters off the list change nothing, and what cannot be used is named', () => {
    expect(callOverrides({ language: 'en', endpointing: '9' }, [])).toEqual({
      overrides: {},
      ignored: [],
    });
    expect(
      callOverrides({ language: 'klingon', vocabulary: '' }, ['language', 'vocabulary']).ignored,
    ).toEqual(['language', 'vocabulary']);
  });

  test('a rate that no session takes has no format', () => {
    expect(sessionFormat({ ...format, sampleRate: 11_025 })).toBeUndefined();
    expect(sessionFormat({ encoding: 'pcm16', sampleRate: 16_000, channels: 2 })).toEqual({
      encoding: 'wav/pcm',
      bit_depth: 16,
      sample_rate: 16_000,
      channels: 2,
    });
  });
});

describe('custom_metadata', () => {
  test('our keys win, what the operator gave stands flat beside them, and the carrier’s ids apart', () => {
    const { metadata, dropped } = callMetadata({
      ...facts,
      parameters: { crmCase: 'C-1', call_id: 'theirs', role: 'boss', carrier_ids: 'theirs' },
    });
    expect(metadata).toEqual({
      call_id: 'call_1',
      carrier: 'twilio',
      carrier_call_id: 'CA1',
      direction: 'inbound',
      from: '+1',
      to: '+2',
      started_at: '1970-01-01T00:00:00.000Z',
      crmCase: 'C-1',
      carrier_ids: { account_sid: 'AC1' },
    });
    expect(dropped).toBe(0);
    expect(
      legMetadata(metadata, { legId: 'leg_1', role: 'agent', track: 'outbound' }),
    ).toMatchObject({ leg_id: 'leg_1', role: 'agent', crmCase: 'C-1' });
  });

  test('over the limit the longest of the carrier’s goes first, and is counted', () => {
    const { metadata, dropped } = callMetadata({
      ...facts,
      parameters: { small: 'x', big: 'x'.repeat(1_500), huge: 'x'.repeat(1_000_000) },
    });
    expect(Object.keys(metadata)).toContain('small');
    expect(dropped).toBe(1);
    const leg = legMetadata(metadata, {
      legId: 'leg_01J9ZZZZZZZZZZZZZZZZZZZZZZ',
      role: 'customer',
      track: 'inbound',
    });
    expect(JSON.stringify(leg).length).toBeLessThanOrEqual(metadataLimit);
  });

  test('numbers and ids of any length that a carrier chose leave room for the session to be created', () => {
    const long = (length: number) => '\u0001'.repeat(length);
    for (const [from, to, carrierCallId, kept] of [
      [long(3_000), '+2', 'CA1', ['to', 'carrier_call_id']],
      ['+1', long(300), long(400), ['from']],
      [long(250), 'x'.repeat(100), 'x'.repeat(20), ['from', 'to', 'carrier_call_id']],
      ['x'.repeat(500), 'x'.repeat(500), 'x'.repeat(500), ['from', 'to', 'carrier_call_id']],
    ] as const) {
      const { metadata, dropped } = callMetadata({ ...facts, from, to, carrierCallId });
      const leg = legMetadata(metadata, {
        legId: 'leg_01J9ZZZZZZZZZZZZZZZZZZZZZZ',
        role: 'customer',
        track: 'inbound',
      });
      expect(JSON.stringify(leg).length).toBeLessThanOrEqual(metadataLimit);
      expect(Object.keys(leg)).toEqual(expect.arrayContaining(['call_id', 'leg_id', ...kept]));
      expect(dropped).toBeGreaterThanOrEqual(3 - kept.length);
    }
  });

  test('names that mean something to objects are only names', () => {
    const { metadata } = callMetadata({
      ...facts,
      parameters: JSON.parse('{"__proto__":{"polluted":1},"constructor":"c"}'),
    });
    expect((metadata as { polluted?: number }).polluted).toBeUndefined();
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('roles', () => {
  test('inbound and external are the customer, outbound and internal the agent, whoever dialled', () => {
    for (const direction of ['inbound', 'outbound', undefined] as const)
      expect(
        ['inbound', 'external', 'outbound', 'internal'].map((track) =>
          roleOf([], { carrier: 'twilio', direction, track }),
        ),
      ).toEqual(['customer', 'customer', 'agent', 'agent']);
  });

  test('the rule that names most wins, whatever its place', () => {
    const rules = [
      {
        carrier: 'telnyx',
        direction: 'outbound' as const,
        track: 'inbound',
        role: 'agent' as const,
      },
      { carrier: 'telnyx', track: 'inbound', role: 'customer' as const },
      { track: 'inbound', role: 'agent' as const },
    ];
    expect(roleOf(rules, { carrier: 'telnyx', direction: 'outbound', track: 'inbound' })).toBe(
      'agent',
    );
    expect(roleOf(rules, { carrier: 'telnyx', direction: 'inbound', track: 'inbound' })).toBe(
      'customer',
    );
    expect(roleOf(rules, { carrier: 'plivo', track: 'inbound' })).toBe('agent');
    expect(roleOf(rules, { carrier: 'plivo', track: 'something-new' })).toBe('customer');
  });
});

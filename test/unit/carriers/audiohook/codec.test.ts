import { describe, expect, test } from 'vitest';
import { splitChannels } from '../../../../src/carriers/binary/interleaving.ts';
import type { CarrierEvent } from '../../../../src/carriers/carrier.ts';
import { AudiohookClient as Client } from '../../../support/carriers/audiohook-client.ts';

const replyOf = (events: CarrierEvent[]): Record<string, unknown> =>
  JSON.parse(events.flatMap((event) => (event.type === 'reply' ? [event.text] : []))[0] ?? '{}');

describe('the numbers of an AudioHook dialogue', () => {
  test.each([
    ['a number left out', { seq: 3 }],
    ['a number twice', { seq: 1 }],
    ['a number of zero', { seq: 0 }],
    ['a fraction', { seq: 2.5 }],
    ['text for a number', { seq: '2' }],
    ['an answer to what we never said', { serverseq: 9 }],
    ['a negative serverseq', { serverseq: -1 }],
    ['another session', { id: '00000000-1a6e-4f0e-9d1c-7f1d2c3b4a59' }],
    ['another version', { version: '3' }],
    ['no version', { version: undefined }],
    ['a position in other units', { position: 'PT1M' }],
    ['no position', { position: undefined }],
    ['no parameters', { parameters: undefined }],
    ['a round trip that is none', { parameters: { rtt: 'soon' } }],
  ] satisfies [string, Record<string, unknown>][])(
    '%s ends the session with disconnect and reason error',
    (_what, wrong: Record<string, unknown>) => {
      const client = new Client();
      client.open();
      const events = client.send('ping', {}, wrong);
      expect(replyOf(events)).toMatchObject({
        type: 'disconnect',
        parameters: { reason: 'error' },
      });
      expect(events.some(({ type }) => type === 'broken')).toBe(true);
      // The client counts on from the number that it said, and its close still gets its answer.
      client.seq = typeof wrong['seq'] === 'number' ? Math.ceil(wrong['seq']) : client.seq;
      expect(client.send('close', { reason: 'disconnect' })).toEqual([
        { type: 'stop', detail: 'disconnect' },
      ]);
      expect(client.say({ type: 'closed' })).toMatchObject([
        { type: 'closed', clientseq: client.seq },
      ]);
    },
  );

  test('a type that is not known yet is counted, keeps its number, and the session goes on', () => {
    const client = new Client();
    client.open();
    expect(client.send('dance', { step: 1 })).toEqual([{ type: 'count', what: 'unknown' }]);
    expect(replyOf(client.send('ping'))).toMatchObject({ type: 'pong', seq: 2, clientseq: 3 });
    // Its envelope is checked like any other.
    expect(client.send('dance', {}, { seq: 9 }).some(({ type }) => type === 'broken')).toBe(true);
    const early = new Client();
    expect(early.send('dance').some(({ type }) => type === 'broken')).toBe(true);
  });

  test('a duration may have as many digits as a fraction of a second has in the sender’s arithmetic', () => {
    const client = new Client();
    client.open();
    expect(
      client.send('discarded', { start: 'PT0.30000000000000004S', discarded: 'PT.5S' }),
    ).toMatchObject([{ durationMs: 500 }, { durationMs: 500 }]);
  });

  test('our numbers have no hole over a long call', () => {
    const client = new Client();
    client.open();
    for (let ping = 0; ping < 50; ping++) {
      const pong = replyOf(client.send('ping'));
      expect(pong).toMatchObject({ type: 'pong', seq: ping + 2, clientseq: ping + 2 });
    }
  });

  test('a message before open, open twice, and another organization are refused', () => {
    const early = new Client();
    expect(early.send('ping').some(({ type }) => type === 'broken')).toBe(true);
    const twice = new Client();
    twice.open();
    expect(twice.open().some(({ type }) => type === 'broken')).toBe(true);
    const stranger = new Client();
    expect(replyOf(stranger.open({ organizationId: 'someone-else' }))).toMatchObject({
      type: 'disconnect',
      parameters: { reason: 'unauthorized' },
    });
  });

  test('an offer without anything that we can take is refused by name', () => {
    for (const offer of [
      [],
      [{ type: 'audio', format: 'OPUS', channels: ['external'], rate: 8000 }],
      [{ type: 'audio', format: 'PCMU', channels: ['external'], rate: 16000 }],
      [{ type: 'video', format: 'PCMU', channels: ['external'], rate: 8000 }],
      [{ type: 'audio', format: 'PCMU', channels: ['a', 'b', 'c'], rate: 8000 }],
      [{ type: 'audio', format: 'PCMU', channels: ['external', 'external'], rate: 8000 }],
      ['nonsense', 7, null],
    ]) {
      const events = new Client().open({ media: offer });
      expect(replyOf(events)).toMatchObject({
        type: 'disconnect',
        parameters: { reason: 'error', info: expect.stringContaining('PCMU or L16') },
      });
    }
  });
});

describe('pause and resume in AudioHook', () => {
  test('ours are said once each, theirs are told on', () => {
    const client = new Client();
    expect(client.say({ type: 'pause' })).toEqual([]);
    client.open();
    expect(client.say({ type: 'pause' })).toMatchObject([{ type: 'pause' }]);
    expect(client.say({ type: 'pause' })).toEqual([]);
    expect(client.send('paused')).toEqual([{ type: 'paused' }]);
    expect(client.say({ type: 'resume' })).toMatchObject([{ type: 'resume' }]);
    expect(client.send('resumed', { start: 'PT1S', discarded: 'PT2.5S' })).toEqual([
      { type: 'resumed', discardedMs: 2500 },
    ]);
  });
});

describe('the end of an AudioHook session', () => {
  test('our disconnect is said once, audio on its way is dropped quietly, close is answered', () => {
    const client = new Client();
    client.open();
    expect(
      client.say({ type: 'disconnect', reason: 'completed', info: 'restarting' }),
    ).toMatchObject([{ type: 'disconnect', parameters: { reason: 'completed' } }]);
    expect(client.say({ type: 'disconnect', reason: 'error', info: '' })).toEqual([]);
    expect(client.codec.decode(Buffer.alloc(320), true)).toEqual([]);
    expect(client.send('close', { reason: 'disconnect' })).toEqual([
      { type: 'stop', detail: 'disconnect' },
    ]);
    expect(client.say({ type: 'closed' })).toMatchObject([{ type: 'closed' }]);
    expect(client.say({ type: 'closed' })).toEqual([]);
  });

  test('audio after close is late', () => {
    const client = new Client();
    client.open();
    client.send('close', { reason: 'end' });
    expect(client.codec.decode(Buffer.alloc(320), true)).toEqual([{ type: 'count', what: 'late' }]);
  });

  test('results go back while the session lives', () => {
    const client = new Client();
    client.open();
    const final = {
      track: 'internal',
      text: 'Hello.',
      startS: 1.5,
      endS: 2,
      confidence: 0.9,
      language: 'en',
    };
    const [event] = client.say({ type: 'result', final });
    expect(event).toMatchObject({
      type: 'event',
      parameters: {
        entities: [
          {
            type: 'transcript',
            data: { channelId: 1, isFinal: true, offset: 'PT1.500S', duration: 'PT0.500S' },
          },
        ],
      },
    });
  });
});

describe('interleaved channels', () => {
  test('a length that is no whole number of samples is malformed', () => {
    expect(splitChannels(Buffer.alloc(3), 1, ['external', 'internal'])).toEqual([
      { type: 'count', what: 'malformed' },
    ]);
    expect(splitChannels(Buffer.alloc(6), 2, ['external', 'internal'])).toEqual([
      { type: 'count', what: 'malformed' },
    ]);
    expect(splitChannels(Buffer.alloc(0), 1, ['external'])).toEqual([
      { type: 'count', what: 'malformed' },
    ]);
  });
});

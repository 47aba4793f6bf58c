import { describe, expect, test } from 'vitest';
import { readCommand } from '../../../../src/speech-service/live/incoming/client-message.ts';

const read = (value: unknown) =>
  readCommand(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));

describe('a text frame of a client', () => {
  test('is audio in base64, also empty, also without padding', () => {
    const bytes = Buffer.from([1, 2, 3, 250]);
    const chunk = bytes.toString('base64');
    for (const text of [chunk, chunk.replace(/=+$/, '')])
      expect(read({ type: 'audio_chunk', data: { chunk: text } })).toMatchObject({
        type: 'audio',
        bytes,
      });
    expect(read({ type: 'audio_chunk', data: { chunk: '' } })).toMatchObject({
      type: 'audio',
      bytes: Buffer.alloc(0),
    });
  });

  test('is a hint of the speech to come, or nothing that is known', () => {
    expect(read({ type: 'hint', data: { expects: 'digits', number_pause: 1.5 } })).toEqual({
      type: 'hint',
      hint: { channel: 0, expects: 'digits', number_pause: 1.5 },
    });
    for (const data of [
      undefined,
      'digits',
      { expects: 'poem' },
      { number_pause: 99 },
      { channel: -1 },
    ])
      expect(read({ type: 'hint', data })).toMatchObject({ type: 'unknown' });
  });

  test('is a stop, with the id of older clients handed on', () => {
    expect(read({ type: 'stop_recording', message_id: 'm1' })).toEqual({
      type: 'stop',
      messageId: 'm1',
    });
  });

  test.each(['a', 'ab=c', '====', 'AAA*', 'AAAAA', 'AA=', 'é', 'AA AA'])(
    'refuses %j as base64',
    (chunk) => {
      expect(read({ type: 'audio_chunk', data: { chunk } }).type).toBe('bad-audio');
    },
  );

  test.each([{}, { data: null }, { data: {} }, { data: { chunk: 5 } }, { data: [] }])(
    'refuses a chunk without audio: %j',
    (rest) => {
      expect(read({ type: 'audio_chunk', ...rest }).type).toBe('bad-audio');
    },
  );

  test.each([
    '',
    '{',
    'null',
    '[]',
    '"audio_chunk"',
    '5',
    '{"type":"pause"}',
    '{"type":5}',
    '\u0000',
  ])('ignores %j', (text) => {
    expect(read(text).type).toBe('unknown');
  });

  test('a long frame that is no audio is not even parsed', () => {
    const deep = '['.repeat(1_000_000);
    const before = process.threadCpuUsage();
    expect(read(deep)).toEqual({ type: 'unknown', reason: 'too long for a command' });
    expect(process.threadCpuUsage(before).user).toBeLessThan(100_000);
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readServerMessage } from '../../../src/protocol/live-messages.ts';
import { scanAck } from '../../../src/speech-client/message-identity.ts';

const session_id = '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11';
const created_at = '2026-02-03T09:15:01.104Z';

function ackOf(start: number, end: number): string {
  return JSON.stringify({
    session_id,
    created_at,
    type: 'audio_chunk',
    acknowledged: true,
    error: null,
    data: { byte_range: [start, end], time_range: [start / 8_000, end / 8_000] },
  });
}

test('the usual ack is read by its bytes, as a full parse reads it', () => {
  const range = { start: -1, end: -1 };
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.nat(2 ** 40), (start, end) => {
      expect(scanAck(Buffer.from(ackOf(start, end)), range)).toBe(true);
      expect(range).toEqual({ start, end });
    }),
  );
});

test.each([
  [
    'another order of keys',
    JSON.stringify({
      type: 'audio_chunk',
      session_id,
      created_at,
      acknowledged: true,
      error: null,
      data: { byte_range: [0, 160], time_range: [0, 0.02] },
    }),
  ],
  ['spaces', ackOf(0, 160).replace('"type":', '"type": ')],
  ['a refusal', ackOf(0, 160).replace('"acknowledged":true', '"acknowledged":false')],
  ['a negative number', ackOf(-1, 160)],
  ['a fraction', ackOf(0.5, 160)],
  ['an exponent', ackOf(0, 160).replace('[0,160]', '[0,1e3]')],
  ['something after it', ackOf(0, 160).slice(0, -1) + ',"more":1}'],
  [
    'a deeper place',
    `{"session_id":"${session_id}","created_at":"${created_at}","data":${ackOf(0, 160)}}`,
  ],
  ['nothing', ''],
])('%s is left to the full parse', (_name, text) => {
  expect(scanAck(Buffer.from(text), { start: 0, end: 0 })).toBe(false);
});

test('one changed byte never makes the scan say what a full parse would not', () => {
  const text = ackOf(24_000, 24_160);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.integer({ min: 32, max: 126 }), (at, code) => {
      const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
      const range = { start: 0, end: 0 };
      if (!scanAck(Buffer.from(changed), range)) return;
      const read = readServerMessage(changed);
      if (read.outcome !== 'message') return; // its other fields are of no use to an ack
      expect(read.message).toMatchObject({ type: 'audio_chunk', acknowledged: true });
      if (read.message.type === 'audio_chunk')
        expect(read.message.data?.byte_range).toEqual([range.start, range.end]);
    }),
    { numRuns: 3_000 },
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitted, maxDataBytes } from '../../../../src/bridge/call/long-call.ts';
import { maxEventBytes } from '../../../../src/outbox/event-rows.ts';
import { eventExamples } from '../../../../src/protocol/event-examples.ts';

const url = 'https://calls.example.com/shared/calls/call_1/transcript?expires=1&signature=x';
const { data } = eventExamples['call.completed'];
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function turns(count: number, text: string) {
  return Array.from({ length: count }, (_, at) => ({
    utterance_id: `utt_${String(at).padStart(16, '0')}`,
    role: 'customer' as const,
    text,
    start: at * 4,
    end: at * 4 + 3,
  }));
}

test('data that fits stays as it is', () => {
  expect(fitted(data, url)).toBe(data);
});

test('a call of five hours loses the texts of its turns, and says where they are', () => {
  const long = { ...data, transcript: turns(4_500, 'a'.repeat(300)) };
  expect(bytesOf(long)).toBeGreaterThan(maxEventBytes);
  const short = fitted(long, url);
  expect(short).toMatchObject({ truncated: true, transcript_url: url, entities: data.entities });
  expect(short.transcript).toEqual(turns(4_500, ''));
});

test('a call of 24 hours loses its turns, and keeps all else', () => {
  const long = { ...data, transcript: turns(21_600, 'a'.repeat(60)) };
  const short = fitted(long, url);
  expect(short).toEqual({ ...data, truncated: true, transcript_url: url, transcript: [] });
});

test('whatever a call has, its data fits', () => {
  const { data: summary } = eventExamples['call.summary'];
  const [point] = summary.sentiment_course.customer;
  const list = fc.nat(400);
  fc.assert(
    fc.property(list, list, list, list, fc.integer({ min: 900, max: 60_000 }), (...made) => {
      const [words, entities, chapters, points, maxBytes] = made;
      const long = {
        ...summary,
        summary: { ...summary.summary, text: '' },
        transcript: turns(words, 'so it was said'),
        entities: Array.from({ length: entities }, () => summary.entities[0]!),
        chapters: Array.from({ length: chapters }, () => summary.chapters[0]!),
        sentiment_course: { customer: Array.from({ length: points }, () => point!), agent: [] },
      };
      expect(bytesOf(fitted(long, url, maxBytes))).toBeLessThanOrEqual(maxBytes);
    }),
  );
});

test('the envelope has room beside the data', () => {
  const { custom_metadata: metadata, ...envelope } = eventExamples['call.completed'];
  const longest = { ...metadata, note: '\u{20ac}'.repeat(2_000) };
  expect(bytesOf({ ...envelope, custom_metadata: longest, data: {} })).toBeLessThan(
    maxEventBytes - maxDataBytes,
  );
});

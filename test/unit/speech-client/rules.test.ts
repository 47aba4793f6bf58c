import { describe, expect, test } from 'vitest';
import { sessionUrl } from '../../../src/speech-client/service-api.ts';
import { backOffMs, retryAfterMs } from '../../../src/speech-client/back-off.ts';
import { CatchUp } from '../../../src/speech-client/catch-up.ts';
import { closeAction } from '../../../src/speech-client/speech-session.ts';
import { ServiceGate } from '../../../src/speech-client/service-gate.ts';
import {
  messageIdentity,
  missingOf,
  SeenMessages,
} from '../../../src/speech-client/message-identity.ts';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

test('every close code leads to one action, as the vendor clients reconnect', () => {
  const resumed = [
    1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013, 1015, 3000, 3008, 4000, 4399, 4500,
    4504, 4999,
  ];
  for (const code of resumed) expect([code, closeAction(code)]).toEqual([code, 'resume']);
  for (const code of [1001, 4400, 4401, 4403, 4404, 4408, 4409, 4499])
    expect([code, closeAction(code)]).toEqual([code, 'renew']);
  expect(closeAction(1000)).toBe('finished');
  expect(closeAction(4429)).toBe('renew-later');
});

test('back-off doubles to its bound and is spread', () => {
  const bounds = { firstMs: 250, maxMs: 10_000 };
  expect([0, 1, 2, 5, 6, 99].map((attempt) => backOffMs(attempt, bounds, () => 0.5))).toEqual([
    250, 500, 1_000, 8_000, 10_000, 10_000,
  ]);
  expect([backOffMs(3, bounds, () => 0), backOffMs(3, bounds, () => 1)]).toEqual([1_600, 2_400]);
});

test('Retry-After in seconds or as a date is held between 1 s and 60 s, rubbish is ignored', () => {
  const now = Date.parse('2026-02-03T09:15:00Z');
  const cases: [string | undefined, number | undefined][] = [
    ['5', 5_000],
    ['0', 1_000],
    ['99999', 60_000],
    ['1.5', 1_500],
    ['Tue, 03 Feb 2026 09:15:20 GMT', 20_000],
    ['Tue, 03 Feb 2026 09:00:00 GMT', 1_000],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ];
  for (const [header, wait] of cases)
    expect([header, retryAfterMs(header, now)]).toEqual([header, wait]);
});

describe('where a session address may lead', () => {
  const target = {
    url: 'https://speech.example/base',
    keyHeader: 'x-service-key',
    hosts: ['*.edge.example', 'other.example:8443'],
  };
  test.each([
    ['wss://speech.example/v2/live?token=t', 'wss://speech.example/v2/live?token=t'],
    ['/v2/live?token=t', 'wss://speech.example/v2/live?token=t'],
    ['https://speech.example/v2/live?token=t', 'wss://speech.example/v2/live?token=t'],
    ['wss://a.edge.example/v2/live', 'wss://a.edge.example/v2/live'],
    ['wss://other.example:8443/v2/live', 'wss://other.example:8443/v2/live'],
    ['ws://speech.example/v2/live', undefined],
    ['wss://speech.example:444/v2/live', undefined],
    ['wss://speech.example.evil.example/v2/live', undefined],
    ['wss://evil-edge.example/v2/live', undefined],
    ['wss://speech.example@evil.example/v2/live', undefined],
    ['wss://user:pw@speech.example/v2/live', undefined],
    ['file:///etc/passwd', undefined],
    ['javascript:alert(1)', undefined],
  ])('%s', (given, expected) => {
    expect(sessionUrl(target, given)).toBe(expected);
  });

  test.each([
    'wss://calls.example.com/v2/live?token=t',
    'wss://calls.example.com/behind/a/proxy/v2/live?token=t',
    'ws://127.0.0.1:1234/v2/live?token=t',
  ])(
    'our own service is reached in this process, whatever the public address says: %s',
    (given) => {
      const own = { url: 'http://127.0.0.1:8080', keyHeader: 'x-service-key', own: true as const };
      expect(sessionUrl(own, given)).toBe('ws://127.0.0.1:8080/v2/live?token=t');
    },
  );
});

describe('the gate before POST /v2/live', () => {
  test('after a failure one asks for all, the oldest first, and a success lets everyone through', async () => {
    const clock = new TestClock(0);
    const gate = new ServiceGate(clock);
    const signal = new AbortController().signal;
    const through: number[] = [];
    const enter = (leg: number, sinceMs: number): void =>
      void gate.enter(sinceMs, signal).then((ok) => ok && through.push(leg));
    enter(0, 0);
    await clock.pass(0);
    gate.settle('busy', 5_000);
    for (const [leg, sinceMs] of [
      [3, 30],
      [1, 10],
      [2, 20],
    ] as const)
      enter(leg, sinceMs);
    await clock.pass(4_999);
    expect([through, gate.cause, gate.waiting]).toEqual([[0], 'busy', 3]);
    await clock.pass(1);
    expect(through).toEqual([0, 1]);
    gate.settle('created');
    await clock.pass(0);
    expect([through, gate.cause]).toEqual([[0, 1, 2, 3], undefined]);
  });

  test('a wrong key is asked about at most every fifteen seconds, whatever the number of legs', async () => {
    const clock = new TestClock(0);
    const gate = new ServiceGate(clock);
    const signal = new AbortController().signal;
    let asked = 0;
    for (let leg = 0; leg < 500; leg++)
      void (async () => {
        while (await gate.enter(leg, signal)) {
          asked++;
          gate.settle('unauthorized');
        }
      })();
    await clock.pass(120_000);
    expect(asked).toBeLessThanOrEqual(17 + 120 / 12);
  });

  test('a leg that ends leaves the queue', async () => {
    const clock = new TestClock(0);
    const gate = new ServiceGate(clock);
    const end = new AbortController();
    await gate.enter(0, new AbortController().signal);
    gate.settle('unreachable', 1_000);
    const entered = gate.enter(1, end.signal);
    end.abort();
    expect([await entered, gate.waiting]).toEqual([false, 0]);
  });
});

test('catching up is bounded for one leg and for all, and everybody has a turn', async () => {
  const clock = new TestClock(0);
  const catchUp = new CatchUp(clock);
  const legs = Array.from({ length: 200 }, () => {
    const leg = {
      left: 100_000,
      catchUpBytesPerSecond: 256_000,
      catchUp(maxBytes: number) {
        const sent = Math.min(maxBytes, leg.left);
        leg.left -= sent;
        return { sent, caughtUp: leg.left === 0 };
      },
    };
    catchUp.add(leg);
    return leg;
  });
  await clock.pass(100);
  const sent = legs.map(({ left }) => 100_000 - left);
  expect(Math.max(...sent)).toBeLessThanOrEqual(5 * 5_120);
  expect(sent.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(5 * 327_680);
  expect(Math.min(...sent)).toBeGreaterThan(0);
  await clock.pass(60_000);
  expect(legs.every(({ left }) => left === 0)).toBe(true);
  expect(catchUp.size).toBe(0);
});

describe('messages', () => {
  const final = (id: string, start: number): ServerMessage => ({
    type: 'transcript',
    session_id: 's',
    created_at: '2026-02-03T09:15:02.207Z',
    data: {
      id,
      is_final: true,
      utterance: {
        start,
        end: start + 1,
        confidence: 1,
        channel: 0,
        words: [],
        text: ' hi',
        language: 'en',
      },
    },
  });

  test('a final is known by its id, partials by nothing', () => {
    const partial = final('a', 0);
    if (partial.type === 'transcript') partial.data.is_final = false;
    expect(messageIdentity(final('a', 0))).toBe('transcript a');
    expect(messageIdentity(partial)).toBeUndefined();
  });

  test('the record adds what no socket brought, in its order, from messages or else from utterances', () => {
    const session_id = '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11';
    const seen = new SeenMessages();
    seen.isNew(final('b', 5));
    const messages = ['a', 'b', 'c'].map((id, index) =>
      JSON.stringify({ ...final(id, index * 5), session_id }),
    );
    const ids = (all: ServerMessage[]): string[] =>
      all.flatMap((one) => (one.type === 'transcript' ? [one.data.id] : []));
    const listed = missingOf({ status: 'done', result: { messages } }, session_id, seen, 60);
    expect(ids(listed)).toEqual(['a', 'c']);
    const utterances = [0, 5, 12].map((start) => ({
      start,
      end: start + 1,
      confidence: 1,
      channel: 0,
      words: [],
      text: 'hi',
      language: 'en',
    }));
    const bare = missingOf(
      { status: 'done', result: { transcription: { utterances } } },
      session_id,
      seen,
      60,
    );
    expect(ids(bare)).toEqual(['record_2']);
  });
});

import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../../src/lib/clock.ts';
import {
  CallbackQueue,
  type CallbackOutcome,
} from '../../../../src/speech-service/callbacks/callback-queue.ts';

/** Waits are over at once and remembered. */
function quickClock(): Clock & { waits: number[] } {
  const waits: number[] = [];
  return {
    waits,
    now: () => 0,
    monotonicMs: () => 0,
    after(delayMs, run) {
      waits.push(delayMs);
      setImmediate(run);
      return () => undefined;
    },
  };
}

function queueOf(answers: (body: string, attempt: number) => CallbackOutcome) {
  const clock = quickClock();
  const sent: string[] = [];
  const ids: string[] = [];
  const settled: number[] = [];
  const givenUp: string[] = [];
  const attempts = new Map<string, number>();
  const queue = new CallbackQueue({
    clock,
    idPrefix: 'msg_',
    async deliver(id, body) {
      const attempt = attempts.get(body) ?? 0;
      attempts.set(body, attempt + 1);
      sent.push(body);
      ids.push(id);
      await new Promise((resolve) => setImmediate(resolve));
      return answers(body, attempt);
    },
    onSettled: (count) => settled.push(count),
    onGivenUp: (reason) => givenUp.push(reason),
  });
  return { queue, clock, sent, ids, settled, givenUp };
}

describe('the callbacks of a session', () => {
  test('go one at a time, in order, the same id over attempts', async () => {
    const { queue, sent, ids, settled, clock } = queueOf((body, attempt) =>
      body === 'b' && attempt < 2 ? { outcome: 'failed', reason: '500' } : { outcome: 'delivered' },
    );
    for (const body of ['a', 'b', 'c']) queue.add(body, 'message');
    await queue.idle();
    expect(sent).toEqual(['a', 'b', 'b', 'b', 'c']);
    expect(ids).toEqual(['msg_1', 'msg_2', 'msg_2', 'msg_2', 'msg_3']);
    expect(settled).toEqual([1, 2, 3]);
    expect(clock.waits).toEqual([5_000, 30_000]);
  });

  test('are given up after 0, 5 s, 30 s, 2 min, 10 min, and the next one follows', async () => {
    const { queue, sent, givenUp, clock } = queueOf((body) =>
      body === 'a' ? { outcome: 'failed', reason: 'answered 500' } : { outcome: 'delivered' },
    );
    queue.add('a', 'message');
    queue.add('b', 'message');
    await queue.idle();
    expect(sent).toEqual(['a', 'a', 'a', 'a', 'a', 'b']);
    expect(clock.waits).toEqual([5_000, 30_000, 120_000, 600_000]);
    expect(givenUp).toEqual(['answered 500']);
  });

  test('wait for as long as the receiver asks for, and never shorter than their schedule', async () => {
    const asked = [60_000, 1_000];
    const { queue, clock } = queueOf((_body, attempt) =>
      attempt < 2
        ? { outcome: 'failed', reason: 'answered 429', retryAfterMs: asked[attempt] }
        : { outcome: 'delivered' },
    );
    queue.add('a', 'message');
    await queue.idle();
    expect(clock.waits).toEqual([60_000, 30_000]);
  });

  test('an address that is not allowed is not tried again', async () => {
    const { queue, sent, givenUp } = queueOf(() => ({ outcome: 'refused', reason: 'private' }));
    queue.add('a', 'message');
    await queue.idle();
    expect(sent).toEqual(['a']);
    expect(givenUp).toEqual(['private']);
  });

  test('overflow drops acks and partials first and never the order', async () => {
    const { queue, sent } = queueOf(() => ({ outcome: 'delivered' }));
    for (let index = 0; index < 1_500; index++) queue.add(`ack${index}`, 'ack');
    for (let index = 0; index < 1_900; index++) queue.add(`m${index}`, 'message');
    await queue.idle();
    expect(queue.dropped).toBe(1_399);
    const messages = sent.filter((body) => body.startsWith('m'));
    expect(messages).toEqual(Array.from({ length: 1_900 }, (_, index) => `m${index}`));
  });
});

import { expect, test } from 'vitest';
import { metrics } from '../../../src/lib/metrics.ts';
import { directionFrom, type SentenceDirection } from '../../../src/meaning/directions.ts';
import {
  liveWithinMs,
  maxSentencesWaiting,
  SentenceQueue,
} from '../../../src/meaning/sentence-queue.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const direction = directionFrom(Array.from({ length: 384 }, (_, at) => at));

/** A queue whose answers come when the test says so. */
function heldQueue() {
  const asked: string[] = [];
  const answers: ((direction: SentenceDirection | undefined) => void)[] = [];
  const clock = new TestClock(0);
  const queue = new SentenceQueue(clock, (text) => {
    asked.push(text);
    return new Promise((resolve) => answers.push(resolve));
  });
  const answer = async (): Promise<void> => {
    answers.shift()?.(direction);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  return { queue, asked, answer, clock };
}

async function dropped(why: string): Promise<number> {
  const all = await metrics.getSingleMetric('trunkline_meaning_dropped_total')?.get();
  return all?.values.find(({ labels }) => labels['why'] === why)?.value ?? 0;
}

test('one sentence is asked for at a time, and a live one never waits behind a list', async () => {
  const { queue, asked, answer } = heldQueue();
  void queue.later('first of a list');
  void queue.later('second of a list');
  const live = queue.live('said in a call');
  expect(asked).toEqual(['first of a list']);
  await answer();
  expect(asked).toEqual(['first of a list', 'said in a call']);
  await answer();
  expect(await live).toBe(direction);
  expect(asked).toEqual(['first of a list', 'said in a call', 'second of a list']);
});

test('a sentence that was asked for before is not asked for again', async () => {
  const { queue, asked, answer } = heldQueue();
  const first = queue.live('hello there');
  await answer();
  await first;
  expect(await queue.live('hello there')).toBe(direction);
  expect(await queue.later('hello there')).toBe(direction);
  expect(asked).toHaveLength(1);
});

test('a live sentence is given up after its time, and leaves its place', async () => {
  const { queue, asked, answer, clock } = heldQueue();
  const before = await dropped('late');
  void queue.later('a long one');
  const live = queue.live('said in a call');
  void clock.pass(liveWithinMs);
  expect(await live).toBeUndefined();
  expect(await dropped('late')).toBe(before + 1);
  await answer();
  expect(asked).toEqual(['a long one']);
});

test('a full queue refuses the newest sentence at once, and counts it', async () => {
  const { queue } = heldQueue();
  const before = await dropped('full');
  for (let at = 0; at <= maxSentencesWaiting; at++) void queue.live(`sentence ${at}`);
  expect(await queue.live('one too many')).toBeUndefined();
  expect(await dropped('full')).toBe(before + 1);
});

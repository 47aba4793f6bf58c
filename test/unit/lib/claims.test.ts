import { expect, test } from 'vitest';
import { Claims, deliver, type Fate, type DeliveryLane } from '../../../src/lib/claims.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

/** A table of names, of which `room` may be worked on at once. */
function tableOf(due: string[], room: number) {
  const clock = new TestClock(0);
  const begun: string[] = [];
  const troubles: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<boolean>>();
  const state = { isAway: false };
  const claims = new Claims<string>({
    clock,
    lookMs: 1_000,
    table: {
      claim: async (begin) => {
        await Promise.resolve();
        if (state.isAway) throw new Error('away');
        while (claims.size < room) {
          const name = due.shift();
          if (name === undefined) return false;
          begin(name);
        }
        return false;
      },
      work: (name) => {
        begun.push(name);
        const end = Promise.withResolvers<boolean>();
        ends.set(name, end);
        return end.promise;
      },
    },
    unreadable: (error) => troubles.push((error as Error).message),
    brokeOff: (error, name) => troubles.push(`${name}: ${(error as Error).message}`),
  });
  return { clock, claims, begun, troubles, ends, state };
}

test('due work is claimed as far as there is room, and the end of one asks for the next', async () => {
  const { clock, claims, begun, ends } = tableOf(['a', 'b', 'c'], 2);
  claims.start();
  await clock.pass(0);
  expect(begun).toEqual(['a', 'b']);
  ends.get('a')?.resolve(true);
  await clock.pass(0);
  expect(begun).toEqual(['a', 'b', 'c']);
  expect(claims.size).toBe(2);
});

test('a table that cannot be read is looked at again by the clock, and counted until it answers', async () => {
  const { clock, claims, begun, troubles, state } = tableOf(['a'], 2);
  state.isAway = true;
  claims.start();
  await clock.pass(0);
  await clock.pass(1_000);
  expect(troubles).toEqual(['away', 'away']);
  expect(claims.failures).toBe(2);
  state.isAway = false;
  await clock.pass(1_000);
  expect(begun).toEqual(['a']);
  expect(claims.failures).toBe(0);
});

test('a claim that breaks off is told of and costs no other claim its place', async () => {
  const { clock, claims, begun, troubles, ends } = tableOf(['a', 'b'], 1);
  claims.start();
  await clock.pass(0);
  ends.get('a')?.reject(new Error('lost'));
  await clock.pass(0);
  expect(troubles).toEqual(['a: lost']);
  expect(begun).toEqual(['a', 'b']);
});

test('stopping claims nothing more and waits for what is under way', async () => {
  const { clock, claims, begun, ends } = tableOf(['a', 'b'], 1);
  claims.start();
  await clock.pass(0);
  let isOver = false;
  const over = claims.stop().then(() => (isOver = true));
  claims.wake();
  await clock.pass(10_000);
  expect(isOver).toBe(false);
  ends.get('a')?.resolve(true);
  await over;
  await clock.pass(10_000);
  expect(begun).toEqual(['a']);
});

test('a lane is delivered in order until an item must wait, is parked, or the lane is lost', async () => {
  const run = async (fates: (Fate | undefined)[]): Promise<string[]> => {
    const told: string[] = [];
    const waiting = fates.map((fate, index) => ({ fate, index }));
    const lane: DeliveryLane<{ fate: Fate | undefined; index: number }, { fate: Fate }> = {
      next: () => Promise.resolve(waiting.shift()),
      attempt: ({ fate }) => Promise.resolve(fate && { fate }),
      delivered: ({ index }) => Promise.resolve(told.push(`${index} delivered`) > 0),
      retry: ({ index }, _attempt, at) =>
        Promise.resolve(told.push(`${index} again at ${at}`) === 0),
      park: ({ index }, _attempt, reason) => Promise.resolve(told.push(`${index} ${reason}`) === 0),
    };
    await deliver(lane);
    return told;
  };
  expect(await run(['delivered', 'delivered'])).toEqual(['0 delivered', '1 delivered']);
  expect(await run(['delivered', { retryAt: 7 }, 'delivered'])).toEqual([
    '0 delivered',
    '1 again at 7',
  ]);
  expect(await run([{ park: 'refused' }, 'delivered'])).toEqual(['0 refused']);
  expect(await run(['delivered', undefined, 'delivered'])).toEqual(['0 delivered']);
});

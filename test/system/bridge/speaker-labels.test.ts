import { expect, test } from 'vitest';
import { CallSpeakers, maxLabelsKept } from '../../../src/bridge/events/voice-labels.ts';
import { temporaryStore } from '../../support/store/store.ts';

const labels = (all: Record<string, number>, time: number, is_final = false) => ({
  time,
  is_final,
  utterances: Object.entries(all).map(([id, speaker]) => ({ id, speaker })),
});

test('each session of a leg has voices of its own, and goes on with their numbers after a restart', async () => {
  await using store = await temporaryStore();
  const row = (session_id: string, key: string) => ({
    ...{ call_id: 'call_a', leg_id: 'leg_a', session_id, kind: 'call.transcript', key },
    ...{ role: 'mixed', text: 'x', start_s: 0, end_s: 1 },
  });
  const of = (sessionId: string) => ({ callId: 'call_a', legId: 'leg_a', sessionId });
  const stored = async () =>
    (await store.db.selectFrom('leg_results').select(['key', 'speaker']).orderBy('key').execute()).map(({ key, speaker }) => [key, speaker]); // prettier-ignore
  await store.db.insertInto('leg_results').values([row('one', 'a'), row('one', 'b'), row('two', 'c'), row('two', 'd')]).execute(); // prettier-ignore
  const tell = async (speakers: CallSpeakers, session: string, told: ReturnType<typeof labels>) => {
    if (speakers.take(session, told))
      await store.transaction((tx) => speakers.write(tx, of(session), told.utterances));
  };
  const first = new CallSpeakers();
  await tell(first, 'one', labels({ a: 0, b: 1 }, 10));
  await tell(first, 'two', labels({ c: 0 }, 10));
  expect(await stored()).toEqual([['a', 0], ['b', 1], ['c', 2], ['d', null]]); // prettier-ignore
  expect([first.of('two', 'c'), first.of('two', 'd'), first.of('three', 'c')]).toEqual([2, undefined, undefined]); // prettier-ignore
  const afterRestart = new CallSpeakers();
  await tell(afterRestart, 'two', labels({ c: 0, d: 1 }, 20));
  await tell(afterRestart, 'two', labels({ d: 0 }, 10)); // older than what was told
  expect(await stored()).toEqual([['a', 0], ['b', 1], ['c', 2], ['d', 3]]); // prettier-ignore
  // A service that labels without end takes no memory without end.
  const many = Object.fromEntries(Array.from({ length: maxLabelsKept }, (_, at) => [`u${at}`, 1]));
  await tell(first, 'one', labels({ oldest: 0 }, 20));
  expect(first.of('one', 'oldest')).toBe(0);
  first.take('one', labels(many, 30));
  expect([first.of('one', 'oldest'), first.of('one', 'u0')]).toEqual([undefined, 1]);
});

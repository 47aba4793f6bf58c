import { expect, test } from 'vitest';
import type { SpeakersData } from '../../../../src/protocol/live-messages.ts';
import { parseLiveRequest } from '../../../../src/protocol/parse-live-request.ts';
import { noResults } from '../../../../src/speech-service/live/words/session-result.ts';
import {
  SpeakerLabels,
  wantsSpeakers,
} from '../../../../src/speech-service/live/words/speaker-labels.ts';
import type { HeardLeg } from '../../../../src/hearing/speakers/live-listener.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { silentLog } from '../../../support/recognition/recogniser.ts';

const rateHz = 100;

type HeardPiece = { leg: number; second: number; group: boolean; isLast: boolean };

/** A session of which `seconds` were received, with an utterance in each, said by two voices in turn. */
function session(
  hear: (heard: HeardPiece) => ReturnType<HeardLeg['hear']> | undefined = () => undefined,
) {
  const record = noResults();
  const told: SpeakersData[] = [];
  const heard: HeardPiece[] = [];
  const clock = new TestClock(0);
  let [seconds, legs, closed] = [0, 0, 0];
  const voices = (upTo: number, count = 2) =>
    Array.from({ length: upTo }, (_, at) => ({ start: at, end: at + 1, voice: (at + 1) % count }));
  const labels = new SpeakerLabels({
    rateHz,
    clock,
    log: silentLog,
    record,
    open: () => {
      const leg = legs++;
      let at = 0;
      return Promise.resolve({
        hear: (samples, order) => {
          at += samples.length / rateHz;
          const one = { leg, second: at, ...order };
          heard.push(one);
          const turns = { turns: voices(at), knownS: at };
          return hear(one) ?? Promise.resolve(order.group ? turns : undefined);
        },
        close: () => {
          closed++;
        },
      });
    },
    read: (from, count) =>
      Promise.resolve(new Int16Array(Math.min(count, seconds * rateHz - from))),
    received: () => seconds * rateHz,
    emit: (data) => told.push(data),
  });
  return {
    labels,
    record,
    told,
    heard,
    clock,
    voices,
    closed: () => closed,
    legs: () => legs,
    async receive(upTo: number) {
      for (; seconds < upTo; seconds++) {
        const words = [{ word: ' a', start: seconds, end: seconds + 0.9, confidence: 1 }];
        const span = { start: seconds, end: seconds + 0.9, confidence: 1, channel: 0 };
        const utterance = { ...span, words, text: ' a', language: 'en' };
        record.utterances.push({ id: String(seconds), utterance, decidedS: seconds + 1 });
      }
      labels.received();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('only a session of one channel whose client says that all parties are in it is listened to', () => {
  const wants = (body: object): boolean => {
    const parsed = parseLiveRequest(body, { lenient: false });
    return parsed.ok && wantsSpeakers(parsed.request);
  };
  expect(wants({ custom_metadata: { role: 'mixed' } })).toBe(true);
  expect(wants({ channels: 2, custom_metadata: { role: 'mixed' } })).toBe(false);
  for (const custom_metadata of [undefined, {}, { role: 'customer' }, { role: ['mixed'] }])
    expect(wants(custom_metadata === undefined ? {} : { custom_metadata })).toBe(false);
});

test('labels come every ten seconds, each once and again when it changes; the record counts voices as they come up', async () => {
  const one = session();
  await one.receive(4);
  expect(one.heard).toEqual([]);
  await one.receive(23);
  expect(one.heard.map(({ second, group }) => [second, group])).toEqual(
    [[5, false], [10, true], [15, false], [20, true]], // prettier-ignore
  );
  expect(one.told.map(({ time, utterances }) => [time, utterances.length])).toEqual(
    [[10, 10], [20, 10]], // prettier-ignore
  );
  expect(one.labels.neededFrame).toBe(20 * rateHz);
  one.labels.hearOut();
  await one.labels.finish();
  expect(one.heard.at(-1)).toMatchObject({ second: 23, group: true, isLast: true });
  expect(one.record.turns?.slice(0, 3).map(({ voice }) => voice)).toEqual([0, 1, 0]);
  expect(one.told.at(-1)).toMatchObject({ is_final: true, time: 23 });
  expect(one.told.at(-1)?.utterances).toHaveLength(23); // each voice has the other number now
  expect(one.closed()).toBe(1);
});

test('one voice is no news, and the record says so', async () => {
  const one = session(
    ({ second, group }) =>
    Promise.resolve(group ? { turns: [{ start: 0, end: second, voice: 0 }], knownS: second } : undefined), // prettier-ignore
  );
  await one.receive(20);
  one.labels.hearOut();
  await one.labels.finish();
  expect(one.told).toEqual([]);
  expect(one.record.turns).toEqual([{ start: 0, end: 20, voice: 0 }]);
});

test('a listener that is lost is replaced and hears everything again; what was told stands until it knows more', async () => {
  const one = session(({ leg, second }) =>
    leg === 0 && second === 25 ? Promise.reject(new Error('lost')) : undefined,
  );
  await one.receive(25);
  await one.receive(31);
  expect(one.legs()).toBe(2);
  const again = one.heard
    .filter(({ leg }) => leg === 1)
    .map(({ second, group }) => [second, group]);
  expect(again).toEqual(
    [[5, false], [10, false], [15, false], [20, true], [25, false], [30, true]], // prettier-ignore
  );
  expect(one.told.map(({ time }) => time)).toEqual([10, 20, 30]);
});

test('after three losses, and where nobody can listen, the session goes on without labels and keeps no audio for them', async () => {
  const one = session(() => Promise.reject(new Error('lost')));
  await one.receive(40);
  expect(one.legs()).toBe(3);
  expect(one.labels.neededFrame).toBe(Infinity);
  one.labels.hearOut();
  await one.labels.finish();
  expect([one.told, one.record.turns]).toEqual([[], undefined]);
});

test('a listener that is late holds up neither the end nor, beyond a minute, the audio', async () => {
  const one = session(({ second }) => (second > 10 ? new Promise(() => undefined) : undefined));
  await one.receive(12);
  await one.receive(300);
  expect(one.labels.neededFrame).toBe(240 * rateHz);
  one.labels.hearOut();
  const finished = one.labels.finish();
  await one.clock.pass(3_000);
  await finished;
  expect(one.record.turns).toHaveLength(10);
  expect(one.labels.neededFrame).toBe(Infinity);
});

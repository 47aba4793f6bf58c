import { expect, test } from 'vitest';
import { Dispositions } from '../../../src/bridge/wrap-up/dispositions.ts';
import { directionFrom } from '../../../src/meaning/directions.ts';
import type { WrapUp } from '../../../src/protocol/wrap-up.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { dispositionScore } from '../../support/language/disposition-scores.ts';

const empty: WrapUp = {
  reason: null,
  done: [],
  outcome: { value: 'unknown', utterance_ids: [] },
  promises: [],
  facts: [],
  disposition: null,
  mood: null,
};
const about = (text: string): WrapUp => ({ ...empty, reason: { text, utterance_ids: ['utt_1'] } });
const list = [
  { name: 'Delivery', means: 'A parcel is late or lost.', examples: [] },
  { name: 'Cancellation', means: 'The customer wants to end a contract.', examples: ['Stop my membership.'] }, // prettier-ignore
];
const noMeaning = {
  isThere: () => Promise.resolve(false),
  direction: () => Promise.resolve(undefined),
};

function dispositions(options: Partial<ConstructorParameters<typeof Dispositions>[0]> = {}) {
  const clock = new TestClock(0);
  const chosenBefore = () => Promise.resolve([]);
  return {
    clock,
    of: new Dispositions({ list, chosenBefore, meaning: noMeaning, clock, ...options }),
  };
}

test('words of the list suggest a disposition, and a call about something else has none', async () => {
  const { of } = dispositions();
  const parcel = about('Customer reported that their parcel is late.');
  expect(await of.suggested(parcel, [])).toMatchObject({ disposition: 'Delivery', disposition_by: 'words' }); // prettier-ignore
  const poem = about('Customer asked to hear a poem about the sea.');
  expect(await of.suggested(poem, [])).toEqual(poem);
  expect(await of.suggested(empty, [])).toEqual(empty);
});

test('a disposition that a person chose stays, and without a list there is none', async () => {
  const chosen: WrapUp = { ...about('Customer reported that their parcel is late.'), disposition: 'Cancellation', disposition_by: 'person' }; // prettier-ignore
  expect(await dispositions().of.suggested(chosen, [])).toEqual(chosen);
  const parcel = about('Customer reported that their parcel is late.');
  expect(await dispositions({ list: [] }).of.suggested(parcel, [])).toEqual(parcel);
});

test('a call is judged by the calls that people gave a disposition, at most thirty each', async () => {
  const limits: number[] = [];
  const { of } = dispositions({
    chosenBefore: (name, limit) => {
      limits.push(limit);
      return Promise.resolve(
        name === 'Cancellation' ? [about('Customer wanted to be rid of the gazette.')] : [],
      );
    },
  });
  const gazette = about('Customer reported that they no longer read the gazette.');
  expect(await dispositions().of.suggested(gazette, [])).toEqual(gazette);
  expect(await of.suggested(gazette, [])).toMatchObject({ disposition: 'Cancellation' });
  expect(limits).toEqual([30, 30]);
  // Learnt calls are kept for a minute, or until somebody chooses.
  await of.suggested(gazette, []);
  expect(limits).toHaveLength(2);
  of.forget();
  await of.suggested(gazette, []);
  expect(limits).toHaveLength(4);
});

test('meanings decide where the model is there, and words where it is late or fails', async () => {
  const axis = (at: number) =>
    directionFrom(Array.from({ length: 384 }, (_, i) => (i === at ? 1 : 0)));
  const near = {
    isThere: () => Promise.resolve(true),
    direction: (text: string) =>
      Promise.resolve(axis(/contract|membership|leaving/.test(text) ? 1 : 0)),
  };
  const leaving = about('Customer reported that they are leaving.');
  expect(await dispositions({ meaning: near }).of.suggested(leaving, [])).toMatchObject({ disposition: 'Cancellation', disposition_by: 'meaning' }); // prettier-ignore
  const parcel = about('Customer reported that their parcel is late.');
  const failing = { ...near, direction: () => Promise.reject(new Error('no such process')) };
  expect(await dispositions({ meaning: failing }).of.suggested(parcel, [])).toMatchObject({ disposition_by: 'words' }); // prettier-ignore
  const hung = dispositions({
    meaning: { ...near, direction: () => new Promise(() => undefined) },
  });
  const answer = hung.of.suggested(parcel, []);
  await hung.clock.pass(2_000);
  expect(await answer).toMatchObject({ disposition: 'Delivery', disposition_by: 'words' });
});

test(
  'of the labelled calls words suggest few, and those rightly',
  { timeout: 60_000 },
  async () => {
    const { right, wrong, calls } = await dispositionScore(noMeaning);
    expect(calls).toBeGreaterThan(70);
    expect(right / calls).toBeGreaterThanOrEqual(0.3);
    expect(right / (right + wrong)).toBeGreaterThanOrEqual(0.75);
  },
);

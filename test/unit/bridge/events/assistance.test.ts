import { expect, test } from 'vitest';
import { KeptWeights } from '../../../../src/assist/means-rules.ts';
import { playbookFrom, ruleSetOf } from '../../../../src/assist/rule-set.ts';
import { Assistance } from '../../../../src/bridge/events/assistance.ts';
import type { SentenceDirection } from '../../../../src/meaning/directions.ts';
import { wordDirection, WordMeaning } from '../../../support/meaning/word-meaning.ts';

/** Live sentences are understood when the test says so. */
class HeldMeaning extends WordMeaning {
  readonly held: (() => void)[] = [];

  override live(text: string): Promise<SentenceDirection | undefined> {
    return new Promise((resolve) => this.held.push(() => resolve(wordDirection(text))));
  }

  override direction(text: string): Promise<SentenceDirection | undefined> {
    return Promise.resolve(wordDirection(text));
  }
}

const playbook = playbookFrom(`
id: shop
status: live
rules:
  - id: leaves
    title: Leaves
    when: { means: [i want to cancel my contract, please cancel the subscription now, can you terminate this plan, let us quit the account today, i wish to end our contract] }
    then: [{ hint: { title: Ask why, priority: 95 } }]
  - { id: hello, title: Hello, when: { phrase: { any: [good morning] } }, then: [{ hint: { title: Greet, priority: 95 } }] }
`);

async function listening() {
  const meaning = new HeldMeaning();
  const set = ruleSetOf([playbook]);
  await set.means.teach(meaning, new KeptWeights());
  const told: string[] = [];
  let at = 0;
  const failures: unknown[] = [];
  const assistance = new Assistance({
    set,
    record: { id: 'call_1', carrier: 'x', metadata: {} } as never,
    tell: (hit) => told.push(hit.rule),
    pause: () => undefined,
    speakIn: () => undefined,
    ...{ knowledge: undefined, keep: () => undefined, now: () => 0, nowS: () => at },
    failed: (error) => failures.push(error),
  });
  const hear = (text: string) => {
    at += 5;
    const leg = { record: { id: 'leg_1' }, roleOf: () => 'customer' };
    assistance.take(leg as never, { type: 'call.transcript', sessionId: 's', channel: 0, start: at - 2, end: at, text, data: { utterance_id: `${at}` } } as never, { ms: at * 1_000 }); // prettier-ignore
  };
  return { assistance, told, hear, meaning, failures };
}

test('a final that is being understood holds back what comes after it, and the end of the call waits for both', async () => {
  const { assistance, told, hear, meaning, failures } = await listening();
  hear('please terminate our subscription');
  hear('good morning to everybody');
  expect(told).toEqual([]);
  let isSettled = false;
  const settled = assistance.settled().then(() => (isSettled = true));
  meaning.held.shift()?.();
  await expect.poll(() => meaning.held.length).toBe(1);
  expect(told).toEqual(['leaves']);
  expect(isSettled).toBe(false);
  meaning.held.shift()?.();
  await settled;
  expect(told).toEqual(['leaves', 'hello']);
  expect(failures).toEqual([]);
});

test('two words are heard at once: nobody has to understand them', async () => {
  const { told, hear, meaning } = await listening();
  hear('good morning');
  expect(told).toEqual(['hello']);
  expect(meaning.held).toEqual([]);
});

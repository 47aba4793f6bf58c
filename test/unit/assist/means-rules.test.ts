import { describe, expect, test } from 'vitest';
import { CallRules } from '../../../src/assist/call-rules.ts';
import { checkMeans } from '../../../src/assist/means-check.ts';
import { KeptWeights } from '../../../src/assist/means-rules.ts';
import { playbookFrom, ruleSetOf } from '../../../src/assist/rule-set.ts';
import type { RuleInput } from '../../../src/assist/rule-inputs.ts';
import { tryCall, understood } from '../../../src/assist/trial.ts';
import { wordDirection, WordMeaning } from '../../support/meaning/word-meaning.ts';

const call = { direction: null, carrier: 'x', to: null, metadata: {} };
const examples = [
  'i want to cancel my contract',
  'please cancel the subscription now',
  'can you terminate this plan',
  'let us quit the account today',
  'i wish to end our contract',
];
const text = (
  then = '[{ hint: { title: Ask why } }, { alert: {} }, { tag: leaving }]',
  more = '',
) => `
id: shop
status: live
rules:
  - id: leaves
    title: Customer leaves
    when: { any: [{ phrase: { role: customer, any: ['get rid of you'] } }, { means: ${JSON.stringify(examples)} }] }
    then: ${then}
${more}`;

async function taught(yaml: string, meaning = new WordMeaning()) {
  const set = ruleSetOf([playbookFrom(yaml)]);
  const isTaught = await set.means.teach(meaning, new KeptWeights());
  return { set, isTaught, meaning };
}
let last = 0;
const final = (role: string, said: string, end: number, isUnderstood = true) => ({
  kind: 'final' as const,
  utteranceId: `u${last++}`,
  legId: role,
  role,
  start: end - 1,
  end,
  text: said,
  direction: isUnderstood ? wordDirection(said) : undefined,
});
const doneBy = (hits: ReturnType<CallRules['heard']>): string[][] =>
  hits.map(({ did }) => did.map(({ kind }) => kind));

describe('rules that understand what is meant', () => {
  test('find it in words that no phrase and no example has, and of the right party alone', async () => {
    const { set } = await taught(text());
    const rules = new CallRules(set, call);
    expect(rules.heard(final('agent', 'please terminate our subscription', 1))).toEqual([]);
    const [hit] = rules.heard(final('customer', 'please terminate our subscription', 3));
    expect(hit).toMatchObject({ rule: 'leaves', cause: { by: 'meaning', matched: 'please terminate our subscription' } }); // prettier-ignore
    expect(hit?.cause.score).toBeGreaterThan(0.4);
    expect(new CallRules(set, call).heard(final('customer', 'good morning how are you', 3))).toEqual([]);
  });

  test('do not find a sentence that denies it, unless examples deny something as well', async () => {
    const heard = (set: Awaited<ReturnType<typeof taught>>['set']) =>
      new CallRules(set, call).heard(final('customer', 'do not terminate our subscription', 3));
    expect(heard((await taught(text())).set)).toEqual([]);
    const denied = text().replace(examples[1]!, 'do not renew the subscription now');
    expect(heard((await taught(denied)).set)).toHaveLength(1);
  });

  test('do not find what is unlike the examples', async () => {
    const said = final('customer', 'we terminate the parking subscription', 3);
    const found = async (unlike: string[]) => {
      const means = JSON.stringify({ like: examples, unlike });
      const { set } = await taught(text().replace(JSON.stringify(examples), means));
      return new CallRules(set, call).heard(said);
    };
    expect(await found([])).toHaveLength(1);
    expect(await found(['they terminate the parking', 'we end the parking plan'])).toEqual([]);
  });

  test('in doubt show the agent a hint, and neither alert nor tag: these come with a phrase', async () => {
    const { set } = await taught(text());
    // The likelihood is set here, so the test does not depend on the stand-in.
    const likely = (score: number): typeof set => {
      const means = Object.assign(Object.create(set.means) as typeof set.means, {
        in: () => new Map([[0, score]]),
      });
      return { ...set, means };
    };
    const inDoubt = new CallRules(likely(0.5), call);
    expect(doneBy(inDoubt.heard(final('customer', 'something like that', 2)))).toEqual([['hint']]);
    // The rule rests, but the phrase brings the rest of it. The hint is not shown twice.
    const phrase = final('customer', 'let me get rid of you', 20, false);
    expect(doneBy(inDoubt.heard(phrase))).toEqual([['alert', 'tag']]);
    expect(inDoubt.heard(final('customer', 'let me get rid of you', 30, false))).toEqual([]);
    const sure = new CallRules(likely(0.6), call);
    expect(doneBy(sure.heard(final('customer', 'something like that', 2)))).toEqual([['hint', 'alert', 'tag']]); // prettier-ignore
  });

  test('wait for the model: until then and without it phrases work alone', async () => {
    const meaning = new WordMeaning();
    meaning.has = false;
    const { set, isTaught } = await taught(text(), meaning);
    expect(isTaught).toBe(false);
    expect(set.means.wants('customer', examples[0]!)).toBe(false);
    const rules = new CallRules(set, call);
    expect(rules.heard(final('customer', examples[0]!, 2))).toEqual([]);
    expect(rules.heard(final('customer', 'get rid of you', 4))).toHaveLength(1);
  });

  test('a sentence of two words is not understood, and nobody is asked for it', async () => {
    const { set } = await taught(text());
    expect(set.means.wants('customer', 'cancel it')).toBe(false);
    expect(set.means.wants('customer', 'cancel it now')).toBe(true);
    expect(set.means.wants('mixed', 'cancel it now')).toBe(false);
  });

  test('live and in a trial a call has the same hits', async () => {
    const { set } = await taught(text('[{ hint: { title: Ask why } }]', '    cooldown: 5\n'));
    const lines = ['hello good morning', 'we quit this plan', 'the parcel is blue', 'i end my contract', 'get rid of you'];
    const inputs: RuleInput[] = lines.map((said, at) => ({ ...final('customer', said, 20 * at + 5), direction: undefined })); // prettier-ignore
    const tried = tryCall(set, call, await understood(set, inputs));
    const rules = new CallRules(set, call);
    const live = [];
    for (const input of inputs) {
      if (input.kind !== 'final') continue;
      live.push(...rules.advance(input.end - 3));
      live.push(...rules.heard({ ...input, direction: await set.means.live(input.text) }));
    }
    expect(tried.length).toBeGreaterThanOrEqual(3);
    expect(tried).toEqual(live);
  });

  test('the same examples are learnt once, whoever tries them', async () => {
    const meaning = new WordMeaning();
    const kept = new KeptWeights();
    await ruleSetOf([playbookFrom(text())]).means.teach(meaning, kept);
    const { asked } = meaning;
    expect(asked).toBeGreaterThan(300);
    await ruleSetOf([playbookFrom(text('[{ tag: other }]'))]).means.teach(meaning, kept);
    expect(meaning.asked).toBe(asked);
  });

  test.each([
    ['four examples', `means: ${JSON.stringify(examples.slice(1))}`],
    ['an example that is hardly a sentence', `means: ${JSON.stringify([...examples.slice(1), 'no'])}`],
    ['a threshold that finds everything', `means: { like: ${JSON.stringify(examples)}, threshold: 0.01 }`],
  ])('%s are refused', (_, trigger) => {
    const yaml = `id: a\nrules:\n  - { id: b, title: B, when: { ${trigger} }, then: [{ tag: c }] }\n`;
    expect(() => playbookFrom(yaml)).toThrow('rules.0.when');
  });
}); // prettier-ignore

test('the check says what is found of examples that were left out, and which look like those of another rule', async () => {
  const boss = ['let me speak to a manager', 'get me your boss', 'a supervisor please and now', 'i want the chief here', 'i want to cancel my contract'];
  const more = `  - { id: boss, title: Boss, when: { means: ${JSON.stringify(boss)} }, then: [{ tag: boss }] }\n`;
  const { set, meaning } = await taught(text(undefined, more));
  const lines = await checkMeans(set.means.groups, meaning);
  expect(lines[0]).toMatch(/^leaves \(customer\): from 0.4 on \d+ % found, .+; from 0.55 on /);
  expect(lines[1]).toMatch(/^boss \(customer\)/);
  expect(lines.slice(2)).toContain('  "i want to cancel my contract" of boss looks like leaves');
}); // prettier-ignore

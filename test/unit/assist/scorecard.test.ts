import { expect, test } from 'vitest';
import type { Hit } from '../../../src/assist/hits.ts';
import { ruleSetOf } from '../../../src/assist/rule-set.ts';
import { itemsOf, rulesOf, scorecardFrom } from '../../../src/assist/scorecard.ts';
import { scorecardsIn, starterScorecards } from '../../../src/assist/scorecards.ts';
import { isSampled, scoredItems, totalOf, withEdits } from '../../../src/assist/scoring.ts';
import type { RuleInput } from '../../../src/assist/rule-inputs.ts';
import { tryCall } from '../../../src/assist/trial.ts';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/store/store.ts';

const card = scorecardFrom(`
id: quality
title: Quality
status: live
words: { sorry: [i am sorry, i apologise] }
sections:
  - title: All
    items:
      - { id: empathy, question: Sorry said?, points: 10, auto: { when: { phrase: { role: agent, any: ['{sorry}'] } } } }
      - { id: polite, question: Polite?, points: 10, critical: true, auto: { never: { phrase: { role: agent, any: [shut up] } } } }
      - { id: told, question: Recording told?, points: 5, auto: { step: open.told } }
      - { id: warned, question: No threat?, points: 5, auto: { no_hit: shop/threat } }
      - { id: silence, question: No long silence?, points: 10, auto: { figure: { of: dead_air.longest, bands: [[8, 1], [20, 0.5]] } } }
      - { id: solved, question: Solved?, points: 20, answers: [{ answer: 'yes', share: 1 }, { answer: partly, share: 0.5 }, { answer: 'no', share: 0 }] }
`);
const call = { direction: null, carrier: 'test', to: null, metadata: {} };
const said = (text: string, start: number): RuleInput => ({
  ...{ kind: 'final', utteranceId: `u${start}`, legId: 'agent', role: 'agent', start },
  ...{ end: start + 3, text },
});
const judged = (turns: RuleInput[], more: { hits?: Hit[]; silence?: number } = {}) =>
  scoredItems(card, {
    found: tryCall(ruleSetOf(rulesOf(card)), call, turns),
    hits: more.hits ?? [],
    figures: new Map(more.silence === undefined ? [] : [['dead_air.longest', more.silence]]),
  });
const step = { playbook: 'shop', rule: 'tells', at: 4, cause: { start: 3, end: 4, role: 'agent', matched: 'is recorded' }, did: [{ kind: 'step', checklist: 'open', step: 'told', title: 'x' }] } as unknown as Hit; // prettier-ignore

test('rules answer with their evidence, figures by their bands, and the rest waits for a reviewer', () => {
  const items = judged([said('I am sorry about that.', 12)], { hits: [step], silence: 12 });
  const of = Object.fromEntries(items.map((item) => [item.id, item]));
  expect(of['empathy']).toMatchObject({ answer: 'yes', share: 1, by: 'rule', evidence: [{ at: 12, role: 'agent', matched: 'I am sorry' }] }); // prettier-ignore
  expect(of['told']).toMatchObject({
    answer: 'yes',
    evidence: [{ at: 3, matched: 'is recorded' }],
  });
  expect(of['silence']).toMatchObject({ answer: '12', share: 0.5 });
  expect(of['solved']).toMatchObject({ answer: null, share: null, by: null });
  // 10 + 10 + 5 + 5 + 5 of 40 that were answered.
  expect(totalOf(items)).toEqual({
    points: 35,
    of: 40,
    percent: 87.5,
    criticalFailed: false,
    open: 1,
  });
  // A call without figures leaves the item to a reviewer.
  expect(judged([]).find(({ id }) => id === 'silence')).toMatchObject({ answer: null, by: null });
});

test('a critical item without any point makes the whole score 0, until a reviewer says otherwise', () => {
  const items = judged([said('Just shut up and listen.', 5)], { silence: 2 });
  expect(items.find(({ id }) => id === 'polite')).toMatchObject({ answer: 'no', evidence: [{ at: 5 }] }); // prettier-ignore
  expect(totalOf(items)).toMatchObject({ percent: 0, criticalFailed: true });
  const edit = withEdits(items, [{ id: 'polite', answer: 'yes', note: 'He said it to his dog.' }]);
  if ('wrong' in edit) throw new Error(edit.wrong);
  expect(edit.items.find(({ id }) => id === 'polite')).toMatchObject({ by: 'reviewer', share: 1 });
  expect(totalOf(edit.items).percent).toBeGreaterThan(0);
});

test('an answer or an item that does not exist is refused, and an answer can be taken back', () => {
  const items = judged([]);
  expect(withEdits(items, [{ id: 'solved', answer: 'perhaps' }])).toEqual({ wrong: 'the item solved has no answer perhaps: choose yes, partly, no' }); // prettier-ignore
  expect(withEdits(items, [{ id: 'nothing', answer: 'yes' }])).toEqual({ wrong: 'there is no item nothing' }); // prettier-ignore
  const edit = withEdits(items, [{ id: 'empathy', answer: null }]);
  expect('items' in edit && edit.items[0]).toMatchObject({ answer: null, share: null, by: null });
});

test('items are answered by entities and by key presses', () => {
  const asked = scorecardFrom(
    'id: keys\ntitle: Keys\nsections: [{ title: All, items: [{ id: amount, question: Was the amount said?, points: 5, auto: { when: { entity: { role: agent, type: MONEY } } } }, { id: keyed, question: Was the card keyed?, points: 5, auto: { when: { dtmf: { presses: 3, over: 10 } } } }] }]',
  );
  const answers = (inputs: RuleInput[]) =>
    scoredItems(asked, {
      ...{ found: tryCall(ruleSetOf(rulesOf(asked)), call, inputs), hits: [], figures: new Map() },
    }).map(({ answer, evidence }) => [answer, evidence.map(({ at }) => at)]);
  const money = (role: string): RuleInput => ({ kind: 'entity', role, start: 4, end: 5, type: 'MONEY', utteranceId: 'u1' }); // prettier-ignore
  const presses = [20, 22, 24].map((end): RuleInput => ({ kind: 'dtmf', end }));
  expect(answers([money('agent'), ...presses])).toEqual([['yes', [4]], ['yes', [24]]]); // prettier-ignore
  expect(answers([money('customer'), ...presses.slice(1)])).toEqual([['no', []], ['no', []]]); // prettier-ignore
});

test('a sample takes the same calls every time, and about as many as it says', () => {
  const ids = Array.from({ length: 5_000 }, (_, at) => `call_${at}`);
  const taken = ids.filter((id) => isSampled({ id: 'quality', sample: 10 }, id));
  expect(taken.length).toBeGreaterThan(400);
  expect(taken.length).toBeLessThan(600);
  expect(ids.filter((id) => isSampled({ id: 'quality', sample: 10 }, id))).toEqual(taken);
  expect(ids.every((id) => isSampled({ id: 'quality', sample: 100 }, id))).toBe(true);
});

test.each([
  ['sections: []', 'sections: Too small'],
  ['sections: [{ title: A, items: [{ id: a, question: Q, points: 1, auto: { when: { phrase: { any: [hello] } }, hit: a/b } }] }]', 'needs exactly one of when'], // prettier-ignore
  ['sections: [{ title: A, items: [{ id: a, question: Q, points: 1 }, { id: a, question: Q, points: 1 }] }]', 'two are the item a'], // prettier-ignore
  ['sections: [{ title: A, items: [{ id: a, question: Q, points: 1, auto: { when: { tag: sold } } }] }]', 'items.a: tag cannot be asked of an ended call'], // prettier-ignore
  ['sections: [{ title: A, items: [{ id: a, question: Q, points: 1, auto: { when: { phrase: { any: ["{nothing}"] } } } }] }]', 'nothing'], // prettier-ignore
  [`sections: [{ title: A, items: [${Array.from({ length: 10_000 }, (_, at) => `{ id: i${at}, question: Q, points: 1 }`).join(',')}] }]`, 'too big'], // prettier-ignore
  [`note: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c]\nsections: []`, 'alias'], // prettier-ignore
  [`# ${'x'.repeat(600_000)}`, 'at most 512 KiB'],
])('a scorecard with a mistake says where, such as %#', (text, why) => {
  expect(() => scorecardFrom(`id: x\ntitle: X\n${text}`)).toThrow(new RegExp(why, 'i'));
});

test('a file of fifty megabytes, a folder named like a file and a broken file are problems, and the good file counts', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'good.yaml'), 'id: good\ntitle: <b>Good</b>\nsections: [{ title: A, items: [{ id: a, question: Q, points: 1 }] }]'); // prettier-ignore
  await writeFile(join(folder.path, 'huge.yaml'), Buffer.alloc(50_000_000, 'a'));
  await writeFile(join(folder.path, 'broken.yaml'), 'id: [');
  await mkdir(join(folder.path, 'folder.yaml'));
  const { good: cards, problems } = await scorecardsIn(folder.path);
  expect(cards.map(({ id }) => id)).toEqual(['good']);
  expect(problems.map(({ file }) => file.split('/').at(-1))).toEqual(['broken.yaml', 'folder.yaml', 'huge.yaml']); // prettier-ignore
});

test('the starter scorecard can be used, and names rules and steps that the starter playbook has', async () => {
  const { starterPlaybooks } = await import('../../../src/assist/playbooks.ts');
  const steps = starterPlaybooks().flatMap(({ checklists }) => checklists.flatMap(({ id, steps: all }) => all.map((one) => `${id}.${one.id}`))); // prettier-ignore
  for (const starter of starterScorecards())
    for (const { auto } of itemsOf(starter))
      if (auto?.step !== undefined) expect(steps).toContain(auto.step);
  expect(starterScorecards().map(({ id, status }) => [id, status])).toEqual([['service-quality', 'live']]); // prettier-ignore
});

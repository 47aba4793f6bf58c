import { expect, test } from 'vitest';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { maxRareWords, rareWordsFor } from '../../../src/assist/rare-words.ts';
import { playbookFrom } from '../../../src/assist/rule-set.ts';

const call = {
  direction: 'inbound',
  carrier: 'twilio',
  to: null,
  metadata: { campaign: 'spring' },
};
const playbook = (phrase: string, head = 'status: live') =>
  playbookFrom(
    `id: shop\n${head}\nwords: { rival: [Fernleaf, Northgate Mobile] }\nrules: [{ id: it, title: It, when: { any: [{ phrase: ${phrase} }, { silence: { longer_than: 9 } }] }, then: [{ tag: t }] }]\n`,
  );

test('names and words that everyday English lacks are listened for, each once', () => {
  const names = playbook("{ any: ['{rival}', 'the Fernleaf (tariff|plan)'], sounds: true }");
  expect(rareWordsFor([names], call)).toEqual(['Northgate Mobile', 'Fernleaf', 'Northgate']);
  expect(rareWordsFor([playbook('{ any: [speak to your manager] }')], call)).toEqual([]);
  const near = playbook("{ near: [[ombudsman], ['{rival}']] }");
  expect(rareWordsFor([near, near], call)).toEqual(['ombudsman', 'Fernleaf', 'Northgate']);
});

test('drafts, playbooks for other calls and those of the program give none', () => {
  const phrase = '{ any: [ombudsman] }';
  expect(rareWordsFor([playbook(phrase, 'status: draft')], call)).toEqual([]);
  expect(rareWordsFor([playbook(phrase, 'status: shadow')], call)).toEqual(['ombudsman']);
  expect(rareWordsFor([playbook(phrase, 'status: live\nscope: { direction: [outbound] }')], call)).toEqual([]); // prettier-ignore
  expect(rareWordsFor(starterPlaybooks(), call)).toEqual([]);
});

test('a playbook of a thousand strange words fills no more than its room', () => {
  const letters = (number: number): string => String(number).replaceAll(/\d/g, (digit) => `${'bcdfghjklm'[Number(digit)]}u`); // prettier-ignore
  const strange = Array.from({ length: 100 }, (_, at) => `zq${letters(1_000 + at)}x`);
  expect(rareWordsFor([playbook(`{ any: [${strange.join(', ')}] }`)], call)).toHaveLength(maxRareWords); // prettier-ignore
});

import { describe, expect, test } from 'vitest';
import { heardWords } from '../../../src/assist/heard-text.ts';
import { CallRules } from '../../../src/assist/call-rules.ts';
import { playbookFrom, ruleSetOf } from '../../../src/assist/rule-set.ts';
import { ignoredChoices, wordingsOf } from '../../../src/assist/template.ts';

const call = { direction: null, carrier: 'twilio', to: null, metadata: {} };

/** A playbook of one rule with this trigger, which tags the call. */
function ruleOn(when: string, words = '') {
  const text = `id: test\nstatus: live\n${words}\nrules:\n  - id: it\n    title: It\n    when: ${when}\n    then: [{ tag: heard }]\n    cooldown: 0\n`;
  return new CallRules(ruleSetOf([playbookFrom(text)]), call);
}

function fires(when: string, text: string, role = 'customer'): boolean {
  const rules = ruleOn(when);
  return rules.heard({ utteranceId: 'u', legId: role, role, start: 1, end: 4, text }).length > 0;
}

describe('the wordings of a phrase', () => {
  const lists = new Map([['boss', ['manager', 'team leader']]]);
  test.each([
    ['(a|b c) d', ['a d', 'b c d']],
    ['[very] angry', ['very angry', 'angry']],
    ['my {boss}', ['my manager', 'my team leader']],
    ['(my [own]|the) boss', ['my own boss', 'my boss', 'the boss']],
  ])('%s', (phrase, wordings) => {
    expect(wordingsOf(phrase, lists).map((words) => words.join(' '))).toEqual(wordings);
  });

  test('name the choices that count for nothing', () => {
    expect(ignoredChoices('(just|have) moved [please] (so|very|like {boss})', lists)).toEqual([
      'just',
      'so',
    ]);
  });

  test.each([
    ['(a|b', 'lacks a )'],
    ['a)', 'nothing opened'],
    ['{chef}', 'there are boss'],
    ['[um]', 'has no word'],
    ['(a|b|c|d|e|f)'.repeat(6), 'more than 1000 wordings'],
    ['('.repeat(9) + 'a' + ')'.repeat(9), 'more than four deep'],
  ])('%s is refused', (phrase, why) => {
    expect(() => wordingsOf(phrase, lists)).toThrow(why);
  });
});

test.each([
  ["I'd like to cancel", 'i would to cancel'],
  ["we can't, um, we can't pay", 'we can not we can not pay'],
  ['I I want 42 of them', 'i want forty two of them'],
])('%s is compared as %s', (text, words) => {
  expect(
    heardWords(text)
      .map(({ word }) => word)
      .join(' '),
  ).toBe(words);
});

describe('what counts as said', () => {
  const cancel = `{ phrase: { role: customer, any: ['cancel my (contract|account)'] } }`;
  test.each([
    ['I want to cancel my contract.', true],
    ['Please cancel, um, my contract now.', true],
    // Misheard: each telling word has one that sounds like it.
    ['I want to cancel my contracts', true],
    ['I want to council my contract', true],
    ["I don't want to cancel my contract.", false],
    ['I never said that I would cancel my contract', false],
    ["I'm not happy, so cancel my contract.", true],
    ["Can't I cancel my contract?", true],
    ['I want to see my contract.', false],
    ['cancel my appointment', false],
  ])('%s: %s', (text, isHeard) => {
    expect(fires(cancel, text)).toBe(isHeard);
  });

  test('the other party does not count', () => {
    expect(fires(cancel, 'You can cancel my contract', 'agent')).toBe(false);
  });

  test('a short phrase counts by its very words alone', () => {
    const trigger = `{ phrase: { any: [refund] } }`;
    expect(fires(trigger, 'I want a refund')).toBe(true);
    expect(fires(trigger, 'I want a reform')).toBe(false);
  });

  test('a word that only sounds alike does not make another phrase', () => {
    expect(fires(`{ phrase: { any: ['new phone number'] } }`, 'My phone number is five five')).toBe(false); // prettier-ignore
  });

  test('an everyday word does not pass for a telling one that it sounds like', () => {
    const trigger = `{ phrase: { any: [phone me after] } }`;
    expect(fires(trigger, 'could you phone me after five')).toBe(true);
    expect(fires(trigger, 'she pays less than me after ten years')).toBe(false);
  });

  test('names count by their sound', () => {
    const trigger = `{ phrase: { any: [Northgate], sounds: true } }`;
    expect(fires(trigger, 'I saw it at north gate')).toBe(true);
    expect(fires(trigger, 'I saw it at Northkate')).toBe(true);
    expect(fires(trigger, 'I saw it at the gate')).toBe(false);
  });

  test('groups may come in any order, within so many words', () => {
    const trigger = `{ phrase: { near: [[manager, supervisor], [complaint]], within_words: 6 } }`;
    expect(fires(trigger, 'my complaint goes to the manager')).toBe(true);
    expect(fires(trigger, 'the manager has read my complaint')).toBe(true);
    expect(fires(trigger, 'the manager was here when I came in and I have a complaint')).toBe(false); // prettier-ignore
  });

  test('not_near excludes', () => {
    const trigger = `{ phrase: { any: [manager], not_near: { words: [my manager], within: 2 } } }`;
    expect(fires(trigger, 'get me the manager')).toBe(true);
    expect(fires(trigger, 'I asked my manager')).toBe(false);
  });

  test('a phrase may go over two finals of one leg', () => {
    const rules = ruleOn(cancel);
    const final = { utteranceId: 'u1', legId: 'l', role: 'customer', start: 0, end: 2 };
    expect(rules.heard({ ...final, text: 'I want to cancel' })).toEqual([]);
    const next = { ...final, utteranceId: 'u2', start: 3, end: 4, text: 'my contract' };
    expect(rules.heard(next).map(({ key }) => key)).toEqual(['test/it@u2']);
    const late = ruleOn(cancel);
    late.heard({ ...final, text: 'I want to cancel' });
    expect(late.heard({ ...next, start: 9, end: 10 })).toEqual([]);
  });
});

test('a final of a megabyte costs milliseconds', () => {
  const rules = ruleOn(
    `{ phrase: { near: [[red, green], [blue, white], [red, white]], within_words: 30 } }`,
  );
  const text = 'red blue white green '.repeat(100_000);
  const before = process.threadCpuUsage();
  rules.heard({ utteranceId: 'u', legId: 'l', role: 'customer', start: 0, end: 1, text });
  // Quadratic work on this text would take minutes.
  expect(process.threadCpuUsage(before).user).toBeLessThan(5_000_000);
});

describe('what is denied does not fire a phrase', () => {
  const cancel = "{ phrase: { role: customer, any: ['cancel my plan', 'cancelling my plan'] } }";
  test.each([
    'I never said that I would like to cancel my plan.',
    "There's no need for you to go and cancel my plan.",
    'None of us is going to cancel my plan.',
    'Rather than cancel my plan I would like to pause it.',
    'I want a pause instead of cancelling my plan.',
    'I have decided against cancelling my plan.',
  ])('%s', (text) => {
    expect(fires(cancel, text)).toBe(false);
  });

  test.each([
    "I'm not getting anywhere with you I want to cancel my plan.",
    'It does not work and I want to cancel my plan.',
    "It doesn't work, please cancel my plan.",
    'It did not get any better please cancel my plan.',
    "Why can't I cancel my plan?",
    'I would rather cancel my plan than pay for it.',
    'I am against that, so cancel my plan.',
  ])('but what is wished after a denial of something else does: %s', (text) => {
    expect(fires(cancel, text)).toBe(true);
  });
});

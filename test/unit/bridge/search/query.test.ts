import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { marksIn, parseQuery, type Condition } from '../../../../src/bridge/search/search-query.ts';
import { sqliteMatch } from '../../../../src/bridge/search/word-match.ts';

function conditionsOf(text: string): readonly Condition[] {
  const parsed = parseQuery(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.conditions;
}

describe('the language of the search', () => {
  test.each([
    ['refund visa', ['"refund"', '"visa"']],
    ['"speak to your manager"', ['"speak to your manager"']],
    ['manag*', ['"manag" *']],
    ['near(refund card, 6)', ['NEAR("refund" "card", 6)']],
    ['(late OR "too slow")', ['"late" OR "too slow"']],
    ["agent:I'm", ['"i m"']],
    ['Café RM-5531', ['"cafe"', '"rm 5531"']],
    ['OR* AND', ['"or" *', '"and"']],
  ])('%s', (text, words) => {
    expect(conditionsOf(text).map(sqliteMatch)).toEqual(words);
  });

  test('a party and a minus belong to the next word, phrase or group alone', () => {
    expect(
      conditionsOf('customer:refund -agent:"no way" -(late OR slow) card').map(
        ({ isNot, role }) => [isNot, role],
      ),
    ).toEqual([
      [false, 'customer'],
      [true, 'agent'],
      [true, undefined],
      [false, undefined],
    ]);
  });

  test.each([
    ['-refund', /without a minus/],
    ['"refund', /quotation mark/],
    ['late OR slow', /in parentheses/],
    ['(late slow)', /in parentheses/],
    [')', /parenthesis/],
    ['seller:refund', /customer, agent, mixed/],
    ['a*', /two letters/],
    ['near(refund card, 99)', /at most 30/],
    [Array.from({ length: 13 }, (_, at) => `word${at}`).join(' '), /at most 12/],
  ])('%s is refused with a reason', (text, reason) => {
    const parsed = parseQuery(text);
    expect(parsed).toEqual({ problem: expect.stringMatching(reason) });
  });

  test('whatever is asked for, nothing but words and our own operators reaches the index', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        const parsed = parseQuery(text);
        if ('problem' in parsed) return;
        for (const clause of parsed.conditions)
          expect(sqliteMatch(clause)).toMatch(
            /^(?:"[\p{L}\p{N} ]+"(?: \*)?|NEAR\((?:"[\p{L}\p{N}]+" ?)+, \d+\)|(?: OR ))+$/u,
          );
      }),
    );
  });

  test('marks are places in the text as it is', () => {
    const text = 'My café is at 5 Manager Street, the managers said.';
    const marks = marksIn(
      text,
      conditionsOf('cafe manag* "the managers"').flatMap(({ anyOf }) => anyOf),
    );
    expect(marks.map(([from, to]) => text.slice(from, to))).toEqual([
      'café',
      'Manager',
      'the',
      'managers',
    ]);
  });
});

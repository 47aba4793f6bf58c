import { describe, expect, test } from 'vitest';
import { splitQuery } from '../../../../src/bridge/search/query-filters.ts';

describe('filters among the words of a search', () => {
  test.each([
    ['refund tag:vip mood:negative', 'refund', { tag: 'vip', mood: 'negative' }],
    ['Tag:"first call" visa', 'visa', { tag: 'first call' }],
    ['entity:"ORGANIZATION:Acme Ltd" late', 'late', { entity: 'ORGANIZATION:Acme Ltd' }],
    ['rule:sales/cancel from:2026-11-01 x', 'x', { rule: 'sales/cancel', from_date: '2026-11-01' }],
    ['number:+15550100123 x', 'x', { number: '+15550100123' }],
    // Parties, and words that only look like filters.
    ['agent:refund customer:visa', 'agent:refund customer:visa', {}],
    ['"the tag: red one" x', '"the tag: red one" x', {}],
    ['pricetag:low', 'pricetag:low', {}],
    ['pricetag: low', 'pricetag: low', {}],
  ])('%s', (given, q, filters) => {
    expect(splitQuery(given)).toEqual({ q, filters });
  });

  test.each(['refund tag:', 'tag: vip', 'tag:"" x', 'tag:(a OR b)', 'from: x'])(
    'a filter without its value says what to write: %s',
    (given) => {
      expect(splitQuery(given)).toEqual({
        problem: expect.stringMatching(/needs a value, such as (tag:vip|from:2026)/) as string,
      });
    },
  );

  test('a filter with a minus, and one that is given twice, are refused by name', () => {
    expect(splitQuery('x -tag:vip')).toEqual({
      problem: expect.stringContaining('tag:') as string,
    });
    expect(splitQuery('mood:mixed x mood:negative')).toEqual({
      problem: expect.stringContaining('once') as string,
    });
  });
});

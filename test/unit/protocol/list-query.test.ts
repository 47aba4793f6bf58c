import { describe, expect, test } from 'vitest';
import { containsMetadata, pageLinks, parseListQuery } from '../../../src/protocol/list-query.ts';

function query(text: string) {
  const parsed = parseListQuery(new URLSearchParams(text));
  if (!parsed.ok) throw new Error(parsed.validationErrors.join('; '));
  return parsed.query;
}

const at = (text: string): number => Date.parse(text);

test('without parameters it is the first twenty of everything', () => {
  expect(query('')).toEqual({
    offset: 0,
    limit: 20,
    statuses: [],
    kinds: [],
    createdFrom: undefined,
    createdBefore: undefined,
    customMetadata: undefined,
  });
});

test('a page holds at most a hundred, silently', () => {
  expect(query('limit=1').limit).toBe(1);
  expect(query('limit=100').limit).toBe(100);
  expect(query('limit=5000').limit).toBe(100);
  expect(query('offset=0').offset).toBe(0);
  expect(query('offset=40').offset).toBe(40);
});

test('status and kind may be repeated', () => {
  expect(query('status=done&status=error').statuses).toEqual(['done', 'error']);
  expect(query('status=queued,processing').statuses).toEqual(['queued', 'processing']);
  expect(query('kind=live&kind=pre-recorded&kind=live').kinds).toEqual(['live', 'pre-recorded']);
});

test('dates bound the creation: a day, before, after, or a range', () => {
  expect(query('date=2026-02-03')).toMatchObject({
    createdFrom: at('2026-02-03T00:00:00Z'),
    createdBefore: at('2026-02-04T00:00:00Z'),
  });
  expect(
    query('after_date=2026-02-03T09:00:00Z&before_date=2026-02-03T10:00:00.500Z'),
  ).toMatchObject({
    createdFrom: at('2026-02-03T09:00:00Z') + 1,
    createdBefore: at('2026-02-03T10:00:00.500Z'),
  });
  expect(query('before_date=2026-02-03T10:00:00+02:00').createdBefore).toBe(
    at('2026-02-03T08:00:00Z'),
  );
  expect(query('before_date=2026-02-03T10:00:00').createdBefore).toBe(at('2026-02-03T10:00:00Z'));
  expect(query('before_date=2026-02-03').createdBefore).toBe(at('2026-02-03T00:00:00Z'));
});

test.each([
  ['offset=-1', 'offset must be at least 0'],
  ['offset=x', 'offset must be an integer'],
  ['limit=0', 'limit must be at least 1'],
  ['limit=1.5', 'limit must be an integer'],
  ['status=finished', 'status must be one of queued, processing, done, error'],
  ['kind=video', 'kind must be one of pre-recorded, live'],
  ['date=03.02.2026', 'date must be a date of the form YYYY-MM-DD'],
  ['date=2026-02-30', 'date must be a date of the form YYYY-MM-DD'],
  ['before_date=yesterday', 'before_date must be an ISO 8601 date-time'],
  ['after_date=1770109200', 'after_date must be an ISO 8601 date-time'],
  ['custom_metadata=abc', 'custom_metadata must be a JSON object'],
  ['custom_metadata=[1]', 'custom_metadata must be a JSON object'],
])('%s is refused', (text, line) => {
  expect(parseListQuery(new URLSearchParams(text))).toEqual({
    ok: false,
    validationErrors: [line],
  });
});

describe('custom_metadata', () => {
  test('comes as JSON text or in the deep form', () => {
    expect(query('custom_metadata=%7B%22a%22%3A%7B%22b%22%3A1%7D%7D').customMetadata).toEqual({
      a: { b: 1 },
    });
    expect(query('custom_metadata[call_id]=c-1&custom_metadata[n]=2').customMetadata).toEqual({
      call_id: 'c-1',
      n: '2',
    });
    expect(query('custom_metadata%5Ba%5D%5Bb%5D=x').customMetadata).toEqual({ a: { b: 'x' } });
    expect(query('custom_metadata[__proto__][x]=1').customMetadata).not.toHaveProperty('x');
    expect({}).not.toHaveProperty('x');
  });

  test.each([
    'custom_metadata={"a":{}}&custom_metadata[a][__proto__][polluted]=1',
    'custom_metadata={"a":{"b":{}}}&custom_metadata[a][b][constructor][prototype][polluted]=1',
    'custom_metadata[a][b]=1&custom_metadata[a][__proto__][polluted]=1',
    'custom_metadata={"__proto__":{"polluted":1}}',
    'custom_metadata={"a":{"__proto__":{"polluted":1}}}&custom_metadata[a][__proto__][polluted]=1',
  ])('%s changes nothing but its own filter', (text) => {
    try {
      const filter = query(text).customMetadata;
      expect({}).not.toHaveProperty('polluted');
      expect(Object).not.toHaveProperty('polluted');
      expect(filter).not.toHaveProperty('polluted');
      // Wherever the keys stand, they are the filter's own: a job without them does not match.
      expect(containsMetadata({ a: { b: 1 } }, filter)).toBe(false);
    } finally {
      // A failure here must not change the answers of the tests that follow.
      Reflect.deleteProperty(Object.prototype, 'polluted');
    }
  });

  test.each([
    `custom_metadata=${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
    `custom_metadata${'[a]'.repeat(100)}=1`,
    `custom_metadata=${'{"a":['.repeat(2_000)}1${']}'.repeat(2_000)}`,
  ])('a filter that is nested too deep is refused', (text) => {
    expect(parseListQuery(new URLSearchParams(text))).toEqual({
      ok: false,
      validationErrors: ['custom_metadata must not be nested that deep'],
    });
  });

  test('matches when every wanted pair is there', () => {
    const have = { call_id: 'c-1', n: 2, deep: { a: true, b: null }, list: [1, 2] };
    const matches = [
      {},
      { call_id: 'c-1' },
      { n: 2 },
      { n: '2' },
      { deep: { a: 'true' } },
      { list: [1] },
    ];
    const others: object[] = [
      { call_id: 'c-2' },
      { missing: 'x' },
      { deep: 'x' },
      { call_id: { a: 1 } },
      { deep: { c: null } },
      { toString: 'x' },
    ];
    for (const want of matches) expect(containsMetadata(have, want)).toBe(true);
    for (const want of others) expect(containsMetadata(have, want)).toBe(false);
    expect(containsMetadata(null, { a: 1 })).toBe(false);
  });
});

test('page addresses keep the filters, then offset and limit', () => {
  const params = new URLSearchParams('limit=20&status=done&status=error&offset=20');
  const links = pageLinks(
    'https://stt.example.net/v2/live',
    params,
    { offset: 20, limit: 20 },
    true,
  );
  const base = 'https://stt.example.net/v2/live?status=done&status=error';
  expect(links).toEqual({
    first: `${base}&offset=0&limit=20`,
    current: `${base}&offset=20&limit=20`,
    next: `${base}&offset=40&limit=20`,
  });
  expect(
    pageLinks('https://stt.example.net/v2/live', params, { offset: 40, limit: 20 }, false),
  ).toMatchObject({ next: null });
});

import { expect, test } from 'vitest';
import { exchangeOf, exchangesFrom, exchangesText } from '../../../src/outbox/exchanges.ts';

const answer = {
  ok: true as const,
  status: 500,
  headers: {
    'content-type': 'text/plain',
    'set-cookie': ['session=abc', 'other=def'],
    'x-request-id': 'r-1',
  },
  body: Buffer.from('no\u0000 room'),
  bodyEnd: 'complete' as const,
  url: '',
};
const request = {
  method: 'POST' as const,
  url: 'https://user:pass@hooks.example/services/T0000000000000AB/save?key=abc&b=2',
  headers: {
    'content-type': 'application/json',
    'x-crm-tenant': 'tenant-of-the-operator',
    authorization: 'Bearer abc',
    'webhook-id': 'evt_1',
    'webhook-signature': 'v1,abc',
    'idempotency-key': 'evt_1/save',
  },
  body: Buffer.from('{"text":"hello"}'),
};

test('a value that may open something is blanked, whoever wrote it; the rest is told as it was', () => {
  const shown = exchangeOf({
    step: 'save',
    request,
    answer,
    own: { 'X-CRM-Tenant': 'tenant-of-the-operator' },
    isEvent: false,
  });
  expect(shown).toEqual({
    step: 'save',
    request: {
      method: 'POST',
      url: 'https://hooks.example/services/********/save?key=********&b=********',
      headers: {
        'content-type': 'application/json',
        'x-crm-tenant': '********',
        authorization: '********',
        'webhook-id': 'evt_1',
        'webhook-signature': '********',
        'idempotency-key': 'evt_1/save',
      },
      body: '{"text":"hello"}',
    },
    response: {
      status: 500,
      headers: { 'content-type': 'text/plain', 'set-cookie': '********', 'x-request-id': 'r-1' },
      body: expect.stringMatching(/^no.? room$/u) as string,
    },
  });
  expect(JSON.stringify(shown)).not.toContain('\\u0000');
});

test('the event itself is not kept a second time, and is told from its own row', () => {
  const text = exchangesText([exchangeOf({ request, answer, own: {}, isEvent: true })]);
  expect(text).not.toContain('hello');
  const [shown] = exchangesFrom(text, '{"id":"evt_1"}');
  expect(shown?.request).toMatchObject({ body: '{"id":"evt_1"}' });
  expect(shown?.request).not.toHaveProperty('is_event');
  expect(exchangesFrom(null, '')).toEqual([]);
});

test('a thousand headers, long bodies and many steps stay within bounds', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => [`x-${at}`, 'v'.repeat(10_000)]);
  const huge = { ...answer, headers: Object.fromEntries(names), body: Buffer.alloc(16_384, 'ü') };
  const made = { request: { ...request, body: Buffer.alloc(1_000_000, 'a') }, answer: huge };
  const one = exchangeOf({ ...made, own: {}, isEvent: false });
  expect(Object.keys(one.response?.headers ?? {})).toHaveLength(24);
  expect(one.response?.body.length).toBeLessThanOrEqual(4_096);
  expect(one.request.body?.length).toBe(4_096);
  const text = exchangesText(Array.from({ length: 50 }, () => one));
  expect(JSON.parse(text)).toHaveLength(4);
  expect(text.length).toBeLessThan(64_000);
});

test('no answer is told by its reason', () => {
  const failed = { ok: false as const, failure: 'timeout' as const, reason: 'no answer in 10 s' };
  const shown = exchangeOf({ request, answer: failed, own: {}, isEvent: true });
  expect(shown).toMatchObject({ failure: 'no answer in 10 s' });
  expect(shown).not.toHaveProperty('response');
});

test('an answer that repeats what the operator sends does not spread it', () => {
  const own = { Authorization: 'Bearer key-of-the-crm', 'x-short': 'no' };
  const echo = {
    ...answer,
    headers: { 'x-seen': 'key-of-the-crm' },
    body: Buffer.from('you said Bearer key-of-the-crm, key-of-the-crm and no'),
  };
  const { response } = exchangeOf({ request, answer: echo, own, isEvent: true });
  expect(response?.body).toBe('you said ********, ******** and no');
  expect(response?.headers).toEqual({ 'x-seen': '********' });
});

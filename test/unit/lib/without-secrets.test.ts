import { expect, test } from 'vitest';
import { shownSetting, withoutSecrets } from '../../../src/lib/without-secrets.ts';

test.each([
  ['https://hooks.example.com/services/T000/B000/s3cret', 'https://hooks.example.com/********'],
  ['https://crm.example.com/?token=s3cret', 'https://crm.example.com/********'],
  ['https://user:s3cret@crm.example.com:8443', 'https://********@crm.example.com:8443'],
  ['postgres://trunkline:s3cret@db/trunkline', 'postgres://********@db/********'],
  ['https://crm.example.com/', 'https://crm.example.com'],
  ['/var/lib/trunkline', '/var/lib/trunkline'],
  ['127.0.0.1', '127.0.0.1'],
])('%s is shown as %s', (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

test.each([
  [['language', 'llmUrl'], 'http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1'],
  [['http', 'publicUrl'], 'https://calls.example.com', 'https://calls.example.com'],
  [
    ['speech', 'url'],
    'https://user:s3cret@speech.example.com/v2?key=s3cret',
    'https://********@speech.example.com/v2?key=********',
  ],
  [
    ['carriers', 'twilioContinueUrl'],
    'https://studio.example.com/v1/FW0123456789abcdef0123',
    'https://studio.example.com/v1/********',
  ],
  [
    ['outbox', 'webhookUrl'],
    'https://hooks.example.com/catch/123456/abcde7',
    'https://hooks.example.com/********',
  ],
  [
    ['outbox', 'endpoints'],
    [
      {
        name: 'crm',
        url: 'https://hooks.example.com/catch/1',
        token: 't',
        options: { domain: 'example' },
      },
    ],
    [
      {
        name: 'crm',
        url: 'https://hooks.example.com/********',
        token: '********',
        options: { domain: 'example' },
      },
    ],
  ],
  [
    ['outbox', 'endpoints'],
    [{ auth: { kind: 'basic', user: 'ann', password: 'p' }, headers: { 'x-tenant': '7' } }],
    [
      {
        auth: { kind: 'basic', user: 'ann', password: '********' },
        headers: { 'x-tenant': '********' },
      },
    ],
  ],
  [['store', 'dataDir'], '/var/lib/trunkline', '/var/lib/trunkline'],
  [['bridge', 'maxLegs'], 12, 12],
] as const)('the setting %j of %j is shown as %j', (path, value, shown) => {
  expect(shownSetting(path, value, false)).toEqual(shown);
});

test('a setting that is a secret is masked, however it is made up', () => {
  expect(shownSetting(['http', 'apiKeys'], ['one', 'two'], true)).toEqual(['********', '********']);
});

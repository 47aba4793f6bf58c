import { expect, test } from 'vitest';
import { withoutSecrets } from '../../../src/commands/without-secrets.ts';

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

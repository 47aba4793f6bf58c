import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newWebhookSecret } from '../../../src/lib/webhook-signature.ts';
import type { Installation } from '../../../src/protocol/api.ts';
import { startApp } from '../../support/process/app.ts';
import { temporaryFolder } from '../../support/store/store.ts';

test('the settings that somebody chose are told by their variables, and no secret is', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'trunkline.yaml');
  const token = 'a-token-of-the-crm-in-the-file';
  await writeFile(
    file,
    `outbox:\n  endpoints: [{ name: crm, preset: hubspot, token: ${token} }]\nbridge:\n  linkLifeHours: 24\n`,
  );
  const key = 'a-key-of-the-tests-24-long';
  const secret = newWebhookSecret();
  await using app = await startApp({
    env: {
      TRUNKLINE_CONFIG: file,
      TRUNKLINE_API_KEYS: key,
      TRUNKLINE_LLM_URL: 'http://127.0.0.1:9/v1',
      TRUNKLINE_LLM_MODEL: 'some-model',
      TRUNKLINE_WEBHOOK_URL: 'http://127.0.0.1:9/hooks/0a1b2c',
      TRUNKLINE_WEBHOOK_SECRET: secret,
    },
  });
  const response = await app.get('/api/installation', { headers: { 'x-service-key': key } });
  const text = await response.text();
  for (const hidden of [token, key, secret, '0a1b2c']) expect(text).not.toContain(hidden);
  const { settings, features } = JSON.parse(text) as Installation;
  const of = (name: string) => settings.find((one) => one.name === name);
  expect(of('language.llmUrl')).toEqual({
    name: 'language.llmUrl',
    env: 'TRUNKLINE_LLM_URL',
    source: 'environment',
    value: 'http://127.0.0.1:9/v1',
    secret: false,
  });
  expect(of('bridge.linkLifeHours')).toMatchObject({ source: 'file', value: '24' });
  expect(of('http.apiKeys')).toMatchObject({ secret: true, value: '["********"]' });
  expect(of('outbox.webhookUrl')?.value).toBe('http://127.0.0.1:9/********');
  expect(of('outbox.endpoints')?.value).toContain('"preset":"hubspot"');
  expect(of('drainS')).toBeUndefined();
  expect(features).toContainEqual(expect.objectContaining({ name: 'API keys', on: true }));
});

import { expect, test } from 'vitest';
import { configFields, loadConfig } from '../../../src/config.ts';
import { featuresOf } from '../../../src/console/features.ts';

test('every feature names a variable that there is, and says whether it is on', () => {
  const { config } = loadConfig({
    TRUNKLINE_API_KEYS: 'a-key-of-the-tests-24-long',
    TRUNKLINE_REDACT: 'PCI',
    TRUNKLINE_LLM_URL: 'http://127.0.0.1:11434/v1',
    TRUNKLINE_LLM_MODEL: 'some-model',
  });
  const plain = featuresOf(loadConfig({}).config, false);
  const chosen = featuresOf(config, true);
  const variables = new Set(configFields.map(({ env }) => env));
  for (const { setting } of [...plain, ...chosen]) expect(variables).toContain(setting);
  const on = (all: typeof plain) => all.filter((one) => one.on).map(({ name }) => name);
  expect(on(plain)).toEqual(['Calls']);
  expect(on(chosen)).toEqual(['API keys', 'Recordings', 'Calls', 'Redaction', 'Language model']);
  expect(chosen.find(({ name }) => name === 'Language model')?.detail).toBe('some-model');
  expect(JSON.stringify(chosen)).not.toContain('a-key-of-the-tests');
});

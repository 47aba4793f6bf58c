import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configJsonSchema, papersWithTables, withTables } from '../../config/tools/generate.ts';
import { configFields, loadConfig } from '../../src/config.ts';

const root = resolve(import.meta.dirname, '../..');
const none = (): string => '';

function refusal(env: Record<string, string>, yaml = ''): string {
  try {
    loadConfig(env, () => yaml);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return '(accepted)';
}

describe('settings that cannot be used stop the start and say where they were set', () => {
  const cases: [what: string, env: Record<string, string>, yaml: string, says: RegExp][] = [
    [
      'a wrong type in the environment',
      { PORT: 'eighty' },
      '',
      /http\.port: must be a number \(set by environment PORT\)/,
    ],
    [
      'an address without its scheme',
      { TRUNKLINE_PUBLIC_URL: 'calls.example.com' },
      '',
      /http\.publicUrl: must be an http or https URL \(set by environment TRUNKLINE_PUBLIC_URL\)/,
    ],
    ['a number out of bounds', { PORT: '70000' }, '', /http\.port: .*65535.*environment PORT/],
    [
      'a type of entity that is none',
      { TRUNKLINE_REDACT: 'NAME,PCl' },
      '',
      /bridge\.redactEntities\.1: "PCl" is no entity type, did you mean PCI\? \(set by environment TRUNKLINE_REDACT\)/,
    ],
    [
      'a preset in small letters',
      { TRUNKLINE_REDACT: 'pci' },
      '',
      /"pci" is no entity type, did you mean PCI\?/,
    ],
    [
      'a preset with letters swapped',
      { TRUNKLINE_REDACT: 'GDRP' },
      '',
      /"GDRP" is no entity type, did you mean GDPR\?/,
    ],
    [
      'a type of entity that nothing here finds',
      { TRUNKLINE_REDACT: 'MEDICAL_CODE' },
      '',
      /"MEDICAL_CODE" is an entity type of the interface that is not found here/,
    ],
    [
      'a typo in a variable',
      { TRUNKLINE_WEBHOK_URL: 'x' },
      '',
      /TRUNKLINE_WEBHOK_URL: no such setting, did you mean TRUNKLINE_WEBHOOK_URL\?/,
    ],
    [
      'a typo in the file',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'http:\n  prot: 1\n',
      /http\.prot: no such setting, did you mean port\? \(set by file a\.yaml\)/,
    ],
    [
      'a typo at the top of the file',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'htp: {}\n',
      /htp: no such setting/,
    ],
    [
      'a wrong type in the file',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'http:\n  port: [1]\n',
      /http\.port: .*\(set by file a\.yaml\)/,
    ],
    [
      'a file that is not YAML',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'http: {port: 1\n',
      /a\.yaml line \d+: not valid YAML/,
    ],
    [
      'a file whose aliases grow without bound',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      [
        'a: &a [x, x, x, x, x, x, x, x, x]',
        ...'b c d e f g h i'.split(' ').map(
          (name, at) =>
            `${name}: &${name} [${Array(9)
              .fill(`*${'abcdefgh'.charAt(at)}`)
              .join(', ')}]`,
        ),
      ].join('\n'),
      /CONFIG_INVALID|a\.yaml: cannot be read as settings \(too many aliases\)/,
    ],
    [
      'a file that is nested without end',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      '['.repeat(20_000),
      /a\.yaml.*(nested too deeply|not valid YAML)/,
    ],
    ['a file that is not a map', { TRUNKLINE_CONFIG: 'a.yaml' }, '- 1\n', /expected a map/],
    ['an unknown role', { TRUNKLINE_ROLES: 'bridge,speach' }, '', /roles\.1/],
    [
      'a bridge without a speech service',
      { TRUNKLINE_ROLES: 'bridge,console' },
      '',
      /`speech` to TRUNKLINE_ROLES, set TRUNKLINE_SPEECH_URL to the address of one, or TRUNKLINE_NODE_URL/,
    ],
    ['an address that is none', { TRUNKLINE_PUBLIC_URL: 'ftp://x' }, '', /http\.publicUrl/],
    [
      'a speech address without http',
      { TRUNKLINE_SPEECH_URL: 'localhost:9' },
      '',
      /speech\.url: must begin with https?/,
    ],
    [
      'a speech address that goes too far',
      { TRUNKLINE_SPEECH_URL: 'https://speech.example.com/v2/live' },
      '',
      /speech\.url: .*without \/v2/,
    ],
    [
      'a field of a session that is none, with the one that was meant',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { endpoiting: 3 } }',
      /bridge\.session\.endpoiting: no such setting, did you mean endpointing\? \(set by file a\.yaml\)/,
    ],
    [
      'a field deep in a session',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { realtime_processing: { custom_vocabulry: true } } }',
      /bridge\.session\.realtime_processing\.custom_vocabulry: .*did you mean custom_vocabulary\?/,
    ],
    [
      'a number of a session out of bounds',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { endpointing: 300 } }',
      /bridge\.session\.endpointing: must be at most 10, not 300 \(set by file a\.yaml\)/,
    ],
    [
      'a language of a session that is none',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { language_config: { languages: [eng] } } }',
      /bridge\.session\.language_config\.languages\.0: .*did you mean en\?, not "eng"/,
    ],
    [
      'fields of a session that are only together wrong',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { model: solaria-3 } }',
      /bridge\.session: invalid parameter: model solaria-3 does not transcribe live audio/,
    ],
    [
      'what each stream says itself',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { sample_rate: 16000 } }',
      /bridge\.session\.sample_rate: each stream says this itself/,
    ],
    [
      'messages without which there are no words',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { session: { messages_config: { receive_final_transcripts: false } } }',
      /bridge\.session\.messages_config\.receive_final_transcripts: cannot be off/,
    ],
    [
      'a typo inside a list',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { roles: [{ track: a, rol: agent }] }',
      /bridge\.roles\.0\.rol: no such setting, did you mean role\?/,
    ],
    [
      'a rule for a carrier that there is not',
      { TRUNKLINE_CONFIG: 'a.yaml' },
      'bridge: { roles: [{ carrier: twillio, track: a, role: agent }] }',
      /bridge\.roles\.0\.carrier: there is no carrier "twillio", did you mean twilio\? there are: twilio/,
    ],
    [
      'a model that our speech service does not have',
      { TRUNKLINE_SPEECH_MODEL: 'solarias-1' },
      '',
      /speech\.model: .*"solarias-1", did you mean solaria-1\? there are: model-1/,
    ],
    [
      'a language model without a name',
      { TRUNKLINE_LLM_URL: 'http://127.0.0.1:9/v1' },
      '',
      /language\.llmModel: .*TRUNKLINE_LLM_MODEL/,
    ],
    [
      'a proxy that is no address',
      { TRUNKLINE_TRUSTED_PROXIES: '10.0.0.0/8,10.0.0.' },
      '',
      /http\.trustedProxies\.1: must be an address or a range/,
    ],
  ];
  for (const [what, env, yaml, says] of cases)
    test(what, () => expect(refusal(env, yaml)).toMatch(says));

  test('several mistakes are told at once', () => {
    const text = refusal({ PORT: 'x', TRUNKLINE_PUBLIC_URL: 'y', TRUNKLINE_NONSENSE: 'z' });
    for (const part of ['http.port', 'http.publicUrl', 'TRUNKLINE_NONSENSE'])
      expect(text).toContain(part);
  });

  test('a secret is never repeated in the refusal', () => {
    const canary = 'can\u0001ry';
    const secrets = configFields.filter((field) => field.secret && field.env !== undefined);
    expect(secrets.length).toBeGreaterThan(5);
    for (const field of secrets)
      expect(refusal({ [field.env ?? '']: canary })).not.toContain(canary);
    expect(refusal({ TRUNKLINE_CONFIG: 'a' }, 'http:\n  apiKeys: "canary-4711\n')).not.toContain(
      'canary-4711',
    );
  });
});

describe('settings', () => {
  test('a model of another speech service may have any name', () => {
    const env = { TRUNKLINE_SPEECH_URL: 'http://127.0.0.1:9', TRUNKLINE_SPEECH_MODEL: 'theirs-9' };
    expect(loadConfig(env, none).config.speech.model).toBe('theirs-9');
  });

  test('the environment wins over the file, the file over defaults, and each says where it came from', () => {
    const { config, sourceOf } = loadConfig(
      { TRUNKLINE_CONFIG: 'a.yaml', PORT: '9001' },
      () => 'http:\n  port: 9000\n  host: localhost # ours\n',
    );
    expect([config.http.port, config.http.host, config.http.maxConnections]).toEqual([
      9001,
      'localhost',
      8_192,
    ]);
    expect(['port', 'host', 'maxConnections'].map((name) => sourceOf(['http', name]))).toEqual([
      'environment PORT',
      'file a.yaml',
      'default',
    ]);
  });

  test('an empty variable is one that is not set', () => {
    expect(loadConfig({ PORT: '', TRUNKLINE_API_KEYS: '' }, none).config.http).toMatchObject({
      port: 8080,
      apiKeys: [],
    });
  });

  test('lists are split at commas, and yes is yes', () => {
    const { config } = loadConfig(
      { TRUNKLINE_API_KEYS: 'key-one-of-these, key-two-of-these', TRUNKLINE_INSECURE: '1' },
      none,
    );
    expect([config.http.apiKeys, config.insecure]).toEqual([
      ['key-one-of-these', 'key-two-of-these'],
      true,
    ]);
  });

  test('the speech service is ours unless the address of another is given', () => {
    expect(loadConfig({}, none).config.roles).toEqual(['bridge', 'speech', 'console']);
    expect(
      loadConfig({ TRUNKLINE_SPEECH_URL: 'http://speech.example' }, none).config.roles,
    ).toEqual(['bridge', 'console']);
  });

  test('events have one retention: the shorter of the two that can be set', () => {
    const day = 86_400_000;
    const kept = (env: Record<string, string>): number =>
      loadConfig(env).config.outbox.retainDeliveredMs / day;
    expect(kept({})).toBe(30);
    expect(kept({ TRUNKLINE_RETENTION_DAYS_EVENTS: '7' })).toBe(7);
    expect(kept({ TRUNKLINE_EVENTS_RETAIN_MS: String(5 * day) })).toBe(5);
    expect(kept({ TRUNKLINE_EVENTS_RETAIN_MS: String(365 * day) })).toBe(90);
  });

  test('nothing can be changed afterwards', () => {
    const { config } = loadConfig({}, none);
    expect(() => (config.http as { port: number }).port++).toThrow();
  });

  test('every setting has a description and every variable is used once', () => {
    const variables = configFields.flatMap((field) => field.env ?? []);
    expect(new Set(variables).size).toBe(variables.length);
    expect(
      configFields.filter((field) => field.description === '').map((field) => field.path.join('.')),
    ).toEqual([]);
  });
});

describe('what is written down elsewhere is fresh (npm run docs)', () => {
  test.each(papersWithTables)('the tables of %s', (name) => {
    const paper = readFileSync(resolve(root, name), 'utf8');
    expect(paper).toMatch(/<!-- (\w+) -->\n[^]{200,}\n<!-- \/\1 -->/);
    expect(paper).toBe(withTables(paper));
  });

  test('the JSON Schema for editors', () => {
    expect(readFileSync(resolve(root, 'config/trunkline.schema.json'), 'utf8')).toBe(
      configJsonSchema(),
    );
  });

  test('every file in config/ that is an example can be used', () => {
    const examples = readdirSync(resolve(root, 'config')).filter((name) => name.endsWith('.yaml'));
    expect(examples.sort()).toEqual(['example.yaml', 'production.yaml']);
    for (const name of examples) {
      const path = resolve(root, 'config', name);
      expect(existsSync(path)).toBe(true);
      expect(() =>
        loadConfig({ TRUNKLINE_CONFIG: path, TRUNKLINE_SPEECH_KEY: 'from-the-environment' }),
      ).not.toThrow();
    }
  });
});

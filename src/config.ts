import { readFileSync } from 'node:fs';
import type * as Yaml from 'yaml';
import { z } from 'zod';
import { AssistConfig } from './assist/config.ts';
import { KnowledgeConfig } from './knowledge/config.ts';
import { BridgeConfig } from './bridge/config.ts';
import { carrierNames } from './carriers/all.ts';
import { CarriersConfig } from './carriers/config.ts';
import { HttpConfig } from './port/config.ts';
import { LlmConfig } from './language/config.ts';
import { nearestName } from './lib/nearest-name.ts';
import { TrunklineError } from './lib/errors.ts';
import {
  fromText,
  namesAt,
  setAt,
  settingFields,
  valueAt,
  type SettingField,
} from './lib/settings.ts';
import { shownSetting } from './lib/without-secrets.ts';
import { yaml } from './lib/yaml.ts';
import { NodesConfig, nodesProblems } from './nodes/config.ts';
import { ObjectsConfig, objectsProblems } from './objects/config.ts';
import { OutboxConfig } from './outbox/config.ts';
import type { Installation } from './protocol/api.ts';
import { StreamingRequest } from './protocol/live-request.ts';
import { fieldErrors, isOwn } from './protocol/validation.ts';
import { ModelName } from './protocol/names.ts';
import { SpeechConfig } from './speech-client/config.ts';
import { SpeechServiceConfig } from './speech-service/config.ts';
import { PeopleConfig, providerProblems } from './people/config.ts';
import { StoreConfig } from './store/config.ts';

const ProcessRole = z.enum(['bridge', 'speech', 'console']);
type ProcessRole = z.infer<typeof ProcessRole>;

/** Every setting of the process, grouped by part. Only this file reads the environment. */
export const Config = z.strictObject({
  roles: z.array(ProcessRole).min(1).optional().meta({
    env: 'TRUNKLINE_ROLES',
    description:
      'The parts that this process runs; by default all, without `speech` when a speech address is set.',
  }),
  insecure: z.boolean().default(false).meta({
    env: 'TRUNKLINE_INSECURE',
    description:
      '1: carriers may stream unauthenticated, and a listener beyond loopback needs no key.',
  }),
  logLevel: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .meta({ env: 'TRUNKLINE_LOG_LEVEL', description: 'The least important level that is logged.' }),
  drainS: z.number().int().min(1).max(86_400).default(18).meta({
    env: 'TRUNKLINE_DRAIN_S',
    description:
      'A stop by SIGTERM waits this long for streams that go on and for last words; the supervisor must allow 12 s more. Ctrl-C waits 18 s at most.',
  }),
  http: HttpConfig.prefault({}),
  people: PeopleConfig.prefault({}),
  store: StoreConfig.prefault({}),
  nodes: NodesConfig.prefault({}),
  objects: ObjectsConfig.prefault({}),
  speech: SpeechConfig.prefault({}),
  speechService: SpeechServiceConfig.prefault({}),
  language: LlmConfig.prefault({}),
  bridge: BridgeConfig.prefault({}),
  assist: AssistConfig.prefault({}),
  knowledge: KnowledgeConfig.prefault({}),
  carriers: CarriersConfig.prefault({}),
  outbox: OutboxConfig.prefault({}),
});
export type Config = z.infer<typeof Config> & { roles: ProcessRole[] };

type SettingSource = 'default' | `environment ${string}` | `file ${string}`;
type LoadedConfig = { config: Config; sourceOf: (path: readonly string[]) => SettingSource };

export const configFields: SettingField[] = settingFields(Config);

/**
 * Loads the settings and freezes them. The environment wins over the file that TRUNKLINE_CONFIG names, and the file
 * wins over the defaults.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): LoadedConfig {
  const problems: string[] = [];
  const filePath = env['TRUNKLINE_CONFIG'] || undefined;
  const fromFile = filePath === undefined ? {} : parseFile(filePath, readFile);
  const tree = structuredClone(fromFile);
  const fromEnv = new Map<string, string>();
  for (const field of configFields) {
    const text = field.env === undefined ? undefined : env[field.env];
    if (field.env === undefined || text === undefined || text === '') continue;
    setAt(tree, field.path, fromText(field.schema, text));
    fromEnv.set(field.path.join('.'), field.env);
  }
  problems.push(...unknownVariables(env));
  const sourceOf = (path: readonly string[]): SettingSource => {
    for (let end = path.length; end > 0; end--) {
      const name = fromEnv.get(path.slice(0, end).join('.'));
      if (name !== undefined) return `environment ${name}`;
    }
    return filePath !== undefined && valueAt(fromFile, path) !== undefined
      ? `file ${filePath}`
      : 'default';
  };
  const parsed = Config.safeParse(tree, { reportInput: true });
  if (!parsed.success)
    problems.push(...parsed.error.issues.flatMap((issue) => explain(issue, sourceOf, filePath)));
  else problems.push(...togetherWrong(parsed.data));
  if (problems.length > 0 || !parsed.success) throw refusal(problems);
  const config = {
    ...parsed.data,
    outbox: withOneRetention(parsed.data),
    roles: rolesOf(parsed.data),
  };
  return { config: deepFreeze(config), sourceOf };
}

/** The settings that somebody chose, by the names of the file and of the environment. Secrets are masked. */
export function settingsByHand({ config, sourceOf }: LoadedConfig): Installation['settings'] {
  return configFields.flatMap(({ path, env = null, secret }) => {
    const [source] = sourceOf(path).split(' ');
    if (source !== 'environment' && source !== 'file') return [];
    const shown = shownSetting(path, valueAt(config, path), secret);
    const value = typeof shown === 'string' ? shown : JSON.stringify(shown);
    return [{ name: path.join('.'), env, source, value, secret }];
  });
}

/**
 * The outbox alone deletes events. Two settings limit how long it keeps delivered events, and the shorter one counts.
 */
function withOneRetention({ bridge, outbox }: z.infer<typeof Config>): OutboxConfig {
  const mostMs = Math.round(bridge.retentionDays.events * 24 * 3_600_000);
  return { ...outbox, retainDeliveredMs: Math.min(outbox.retainDeliveredMs, mostMs) };
}

/** Checks settings across parts, for example names that must exist in another part. */
function togetherWrong({
  bridge,
  speech,
  nodes,
  objects,
  store,
  people,
}: z.infer<typeof Config>): string[] {
  const problems = [
    ...nodesProblems(nodes, store.databaseUrl),
    ...objectsProblems(objects),
    ...providerProblems(people.provider),
  ];
  for (const [at, { carrier }] of bridge.roles.entries())
    if (carrier !== undefined && !(carrierNames as string[]).includes(carrier))
      problems.push(
        `bridge.roles.${at}.carrier: there is no carrier "${carrier}"${suggestion(carrier, carrierNames) || ';'} there are: ${carrierNames.join(', ')}`,
      );
  // The name is checked only for our own service. A service elsewhere may have models that we do not know, and its
  // refusal of a wrong name is shown to the operator.
  if (speech.url === undefined && speech.model !== undefined) {
    const { success } = ModelName.safeParse(speech.model);
    if (!success)
      problems.push(
        `speech.model: our speech service has no model "${speech.model}"${suggestion(speech.model, ModelName.options) || ';'} there are: ${ModelName.options.join(', ')}. The files that it recognises with are TRUNKLINE_MODEL`,
      );
  }
  return problems;
}

function refusal(problems: string[]): TrunklineError {
  return new TrunklineError(
    'CONFIG_INVALID',
    `the configuration cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`,
  );
}

function parseFile(path: string, readFile: (path: string) => string): Record<string, unknown> {
  let text: string;
  try {
    text = readFile(path);
  } catch (cause) {
    throw new TrunklineError(
      'CONFIG_INVALID',
      `TRUNKLINE_CONFIG names ${path}, which cannot be read`,
      { cause },
    );
  }
  const { parseDocument } = yaml();
  let document: Yaml.Document.Parsed;
  let content: unknown;
  try {
    document = parseDocument(text);
    // This throws if aliases expand into millions of values or if the nesting is too deep.
    content = document.errors.length > 0 ? undefined : (document.toJS() ?? {});
  } catch (error) {
    throw refusal([
      `${path}: cannot be read as settings (${error instanceof RangeError ? 'nested too deeply' : 'too many aliases'})`,
    ]);
  }
  const [first] = document.errors;
  // The library's own message quotes the line, which may hold a secret. Only the position is reported.
  if (first)
    throw refusal([
      `${path} line ${first.linePos?.[0].line ?? '?'}: not valid YAML (${first.code})`,
    ]);
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw refusal([`${path}: expected a map of settings at the top`]);
  return content as Record<string, unknown>;
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set([
    'TRUNKLINE_CONFIG',
    'TRUNKLINE_URL',
    'TRUNKLINE_KEY',
    ...configFields.flatMap((field) => field.env ?? []),
  ]);
  return Object.keys(env)
    .filter((name) => name.startsWith('TRUNKLINE_') && !known.has(name))
    .map(
      (name) => `${name}: no such setting${suggestion(name, [...known])} (set by the environment)`,
    );
}

function explain(
  issue: z.core.$ZodIssue,
  sourceOf: (path: readonly string[]) => SettingSource,
  filePath: string | undefined,
): string[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const near = suggestion(key, knownNames(path));
      return `${[...path, key].join('.')}: no such setting${near} (set by ${filePath === undefined ? 'the environment' : `file ${filePath}`})`;
    });
  const source = sourceOf(path);
  return [
    `${path.join('.') || 'settings'}: ${wordsOf(issue)} (set by ${source === 'default' ? 'nothing' : source})`,
  ];
}

/**
 * Returns the setting's own message, if it has one. The library's messages are about types, but a person wants to know
 * what to write.
 */
function wordsOf(issue: z.core.$ZodIssue): string {
  if (isOwn(issue.message)) return lowerFirst(issue.message);
  const all = fieldErrors([issue]).map(({ text }) => text);
  return lowerFirst(all.join(', or ') || issue.message);
}

/**
 * Returns the names that are valid at this path. Fields of a session come from the speech interface, because the
 * setting's own schema accepts any name.
 */
function knownNames(path: string[]): string[] {
  const [part, setting, ...inside] = path;
  return part === 'bridge' && setting === 'session'
    ? namesAt(StreamingRequest, inside)
    : namesAt(Config, path);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function suggestion(name: string, known: string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? '' : `, did you mean ${near}?`;
}

/** The roles of this process. If the address of a speech service is set, the process does not run its own. */
function rolesOf(config: z.infer<typeof Config>): ProcessRole[] {
  const roles =
    config.roles ??
    (config.speech.url === undefined ? ['bridge', 'speech', 'console'] : ['bridge', 'console']);
  // If a port for other nodes is set, speech services of other nodes are found in the database.
  const isAlone = config.nodes.url === undefined && config.speech.url === undefined;
  if (roles.includes('bridge') && !roles.includes('speech') && isAlone)
    throw refusal([
      'roles: a bridge needs a speech service: add `speech` to TRUNKLINE_ROLES, set TRUNKLINE_SPEECH_URL to the address of one, or TRUNKLINE_NODE_URL where other nodes of the database have one',
    ]);
  return [...new Set(roles)];
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { nearestName } from '../lib/nearest-name.ts';
import { yaml } from '../lib/yaml.ts';
import type { AuthSetting } from './auth.ts';
import { MappingStep, RateLimits } from './step.ts';

/** A text with places such as `{domain}`, filled from the options and the token. */
const Template = z.string().min(1);

/** Reads alone, when a call begins: the contact that has the number, and what is open with it. */
const PresetLookup = z.strictObject({
  /** The steps of the record that search for contacts. */
  contacts: z.array(z.string()).min(1),
  /** A list of `{id, name, company, phones, at}` from their answers. */
  found: z.string(),
  /** Asked for the contact that was chosen, which they find as `links.contact`. */
  tickets: z.array(MappingStep).default([]),
  /** A list of `{id, title}` from their answers. */
  open: z.string().optional(),
});

const PresetOption = z.strictObject({
  description: z.string(),
  default: z.union([z.string(), z.boolean(), z.number()]).optional(),
  required: z.boolean().default(false),
  values: z.array(z.string()).optional(),
});

/** One CRM: data alone. The mechanism that it uses is there for every mapping. */
const Preset = z.strictObject({
  title: z.string(),
  /** The places where a person makes the token, and the rights that it needs. */
  needs: z.array(z.string()).min(1),
  url: Template.optional(),
  /** The proof that `token` stands for; none where only an `auth` block will do. */
  token: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('bearer') }),
      z.strictObject({ kind: z.literal('header'), name: z.string() }),
      z.strictObject({ kind: z.literal('basic'), user: Template, password: Template }),
      z.strictObject({ kind: z.literal('tryton_session'), user: Template }),
    ])
    .optional(),
  tokenUrl: Template.optional(),
  /** The word before a fetched token. */
  scheme: z.string().default('Bearer'),
  options: z.record(z.string(), PresetOption).default({}),
  limits: RateLimits,
  concurrency: z.int().min(1).max(50),
  lookup: PresetLookup.optional(),
  /** For one ended call. */
  steps: z.array(MappingStep).min(1),
  /** Made once, by a person's command. */
  setup: z.array(MappingStep).default([]),
  /** Reads alone: what is missing at the CRM. */
  check: z.array(MappingStep).default([]),
  /** False where a wrong path answers as an unknown number does: only a record proves the address. */
  check_proves: z.boolean().default(true),
  /** Removes the record of a test call. */
  cleanup: z.array(MappingStep).default([]),
  /** Removes the record of a call and its tasks, where the option `on_erase` says so. */
  erase: z.array(MappingStep).default([]),
});
export type Preset = z.infer<typeof Preset>;

export const presetNames: readonly string[] = readdirSync(new URL('./presets/', import.meta.url))
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => file.slice(0, -'.yaml'.length))
  .sort();

const read = new Map<string, Preset>();

/** Read once, when it is first asked for: most installations have one CRM. */
export function presetNamed(name: string): Preset {
  const known = read.get(name);
  if (known) return known;
  if (!presetNames.includes(name)) {
    const near = nearestName(name, [...presetNames]);
    throw new Error(
      `"${name.slice(0, 40)}" is no preset${near === undefined ? '' : `, did you mean ${near}?`}: choose ${presetNames.join(', ')}`,
    );
  }
  const text = readFileSync(new URL(`./presets/${name}.yaml`, import.meta.url), 'utf8');
  const { parse } = yaml();
  const preset = Preset.parse(parse(text));
  read.set(name, preset);
  return preset;
}

/** A step of a preset is for these events, unless it names others. */
const eventsOfStep = ['call.completed', 'call.transcript.revised', 'call.wrapped'] as const;

export type PresetChoice = {
  preset: string;
  url?: string | undefined;
  token?: string | undefined;
  auth?: AuthSetting | undefined;
  options?: Record<string, string | number | boolean> | undefined;
};

/** A preset with its places filled from the token and the options. */
export type FilledPreset = {
  url: string;
  auth: AuthSetting;
  scheme: string;
  options: Record<string, string | number | boolean>;
  limits: RateLimits;
  concurrency: number;
  steps: MappingStep[];
  lookup?: ContactSteps | undefined;
};

/** The look-up of a contact as steps: those before `found` search, those before `open` ask what is open. */
export type ContactSteps = { search: MappingStep[]; open: MappingStep[] };

/** Throws with the reason, for the person who wrote the settings. */
export function filledPreset(choice: PresetChoice): FilledPreset {
  const preset = presetNamed(choice.preset);
  const options = optionsOf(preset, choice);
  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (_, name: string) =>
      name === 'token' ? (choice.token ?? '') : String(options[name] ?? ''),
    );
  const url = choice.url ?? (preset.url === undefined ? undefined : fill(preset.url));
  if (url === undefined)
    throw new Error(
      `the address of its API is missing (${preset.title}): --url ADDRESS, TRUNKLINE_CRM_URL, or url of the endpoint`,
    );
  if (!URL.canParse(url)) throw new Error(`${url.slice(0, 200)} is no address`);
  return {
    url,
    auth: authOf(preset, choice, fill),
    scheme: preset.scheme,
    options,
    limits: preset.limits,
    concurrency: preset.concurrency,
    lookup: options['lookup'] === true ? lookupOf(preset) : undefined,
    steps: [
      ...preset.steps.map((step) => ({ ...step, on: step.on ?? [...eventsOfStep] })),
      ...(options['on_erase'] === 'delete' ? preset.erase.map(onRequest) : []),
    ],
  };
}

/** A call whose time is over leaves its record: the CRM has times of its own. Only a person's erasure reaches it. */
function onRequest(step: MappingStep): MappingStep {
  const asked = (expression: string): string => `event.data.reason = "request" ? (${expression})`;
  return {
    ...step,
    on: ['call.erased'],
    request: asked(step.request),
    ...(step.each === undefined ? {} : { each: `event.data.reason = "request" ? (${step.each}) : []` }),
  };
} // prettier-ignore

/** The last step of each list makes no request: its expression is what the answers before it mean. */
function lookupOf({ lookup, steps }: Preset): ContactSteps | undefined {
  if (lookup === undefined) return undefined;
  const { contacts, found, tickets, open } = lookup;
  const search = steps.filter(({ name }) => contacts.includes(name));
  return {
    search: [...search, { name: 'found', request: found }],
    open: open === undefined ? [] : [...tickets, { name: 'open', request: open }],
  };
}

function optionsOf(preset: Preset, { options = {} }: PresetChoice): FilledPreset['options'] {
  const known = Object.keys(preset.options);
  const filled: FilledPreset['options'] = {};
  for (const name of Object.keys(options))
    if (!known.includes(name)) {
      const near = nearestName(name, known);
      throw new Error(
        `there is no option ${name.slice(0, 40)} of ${preset.title}${near === undefined ? '' : `, did you mean ${near}?`}: ${known.join(', ')}`,
      );
    }
  for (const [name, { default: usual, required, values, description }] of Object.entries(
    preset.options,
  )) {
    const value = options[name] ?? usual;
    if (value === undefined) {
      if (required) throw new Error(`options.${name} is missing: ${description}`);
      continue;
    }
    if (values !== undefined && !values.includes(String(value)))
      throw new Error(`options.${name} is one of ${values.join(', ')}`);
    filled[name] = value;
  }
  return filled;
}

function authOf(
  preset: Preset,
  { auth, token }: PresetChoice,
  fill: (text: string) => string,
): AuthSetting {
  if (auth !== undefined) {
    if (!fetchesByUrl(auth)) return auth;
    const tokenUrl =
      auth.tokenUrl ?? (preset.tokenUrl === undefined ? undefined : fill(preset.tokenUrl));
    return { ...auth, tokenUrl };
  }
  if (token === undefined || preset.token === undefined)
    throw new Error(
      `${preset.token === undefined ? 'an auth block' : 'a token'} is missing. ${preset.needs.join('; ')}`,
    );
  if (preset.token.kind === 'bearer') return { kind: 'bearer', token };
  if (preset.token.kind === 'header')
    return { kind: 'header', name: preset.token.name, value: token };
  if (preset.token.kind === 'tryton_session')
    return { kind: 'tryton_session', user: fill(preset.token.user), password: token };
  return {
    kind: 'basic',
    user: fill(preset.token.user),
    password: fill(preset.token.password),
  };
}

type ByUrl = Extract<AuthSetting, { tokenUrl?: string | undefined }>;

function fetchesByUrl(auth: AuthSetting): auth is ByUrl {
  return ['client_credentials', 'oauth_refresh', 'jwt_bearer'].includes(auth.kind);
}

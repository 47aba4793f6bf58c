import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { LinksOfOneRun } from '../crm/link-rows.ts';
import { presetNamed, presetNames, type Preset } from '../crm/preset.ts';
import { counted } from '../lib/counted.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { printable } from '../lib/printable.ts';
import { endpointOf, endpointsOf, EndpointSetting, type Endpoint } from '../outbox/config.ts';
import {
  checkCrm,
  proveCrm,
  runSteps,
  testCall,
  tryRecord,
  type TrialLine,
} from '../outbox/endpoint-trial.ts';
import type {
  ApiConnection,
  ConnectionList,
  ConnectionTrial,
  TrialPart,
} from '../protocol/connection-reports.ts';
import { answerOf, requestOf, runningProcess } from './running-process.ts';
import { printLine } from './terminal.ts';

type ConnectOptions = {
  token?: string;
  url?: string;
  option: string[];
  name: string;
  yes?: boolean;
  process?: string;
};

/** `trunkline crm`: which CRMs Trunkline knows, what each needs, and whether it is there. */
export function registerCrm(program: Command): void {
  const crm = program
    .command('crm')
    .description('CRMs that Trunkline knows: list them, connect one, check it, try a call');
  crm
    .command('list', { isDefault: true })
    .description('the CRMs, and the endpoints that use one')
    .option('--process <url>', 'the running process; by default that of the settings')
    .action(list);
  crm
    .command('connect <crm>')
    .description(
      'what to make at the CRM; with a token, tries it, and with --yes connects the running process',
    )
    .option('--token <token>', 'the token or key; it is tried')
    .option('--url <url>', 'the address of its API, if it is not the usual one')
    .option('--option <name=value>', 'an option of the CRM; may be repeated', collect, [])
    .option('--name <name>', 'the name of the endpoint', 'crm')
    .option('--yes', 'connects the running process, which stores the token encrypted')
    .option('--process <url>', 'the running process; by default that of the settings')
    .action(connect);
  crm
    .command('disconnect <name>')
    .description('ends what was connected while the process ran; the settings stay as they are')
    .option('--process <url>', 'the running process; by default that of the settings')
    .action(disconnect);
  crm
    .command('check [endpoint]')
    .description('asks the CRM for what is missing; changes nothing')
    .option('--process <url>', 'the running process; by default that of the settings')
    .action(check);
  crm
    .command('setup [endpoint]')
    .description('makes the field in which the CRM keeps the id of a call')
    .option('--yes', 'makes it; without this the requests are only named')
    .option('--process <url>', 'the running process; by default that of the settings')
    .action(setup);
  crm
    .command('try [what]')
    .description(
      'with the id of a call, sends it to the CRM again; with the name of an endpoint or nothing, writes a test record that is removed at once',
    )
    .option('--endpoint <name>', 'the endpoint, if there are several')
    .option('--keep', 'leaves the test record there')
    .option('--process <url>', 'the running process; by default that of the settings')
    .action(tryCall);
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

type ListOptions = { process?: string };

async function list(options: ListOptions): Promise<void> {
  for (const name of presetNames) printLine(`${name.padEnd(12)} ${presetNamed(name).title}`);
  const used = presetEndpoints();
  printLine('');
  const connected = await connectedTo(options);
  if (used.length + connected.length === 0)
    printLine('No endpoint uses one: npx trunkline crm connect NAME says how.');
  for (const { name, preset = '', url } of used) printLine(`endpoint ${name}: ${preset}, ${url}`);
  for (const { name, preset, host, state, detail } of connected)
    printLine(
      `endpoint ${name}: ${preset ?? 'webhook'}, ${host}, connected while the process ran${state === 'connected' ? '' : ` (${state}: ${detail ?? ''})`}`,
    );
}

/** Nothing where no process runs here, or one of an earlier version does. */
async function connectedTo(options: ListOptions): Promise<ApiConnection[]> {
  try {
    const { api } = runningProcess(options.process);
    return (await answerOf<ConnectionList>(api, '/api/connections')).items;
  } catch {
    return [];
  }
}

/** The result of the trial comes first; with a failure, what the CRM needs follows. */
async function connect(name: string, options: ConnectOptions): Promise<void> {
  const preset = named(name);
  const given = Object.fromEntries(options.option.map(pairOf));
  if (options.url !== undefined && !isAddress(options.url))
    throw new TrunklineError('BAD_INPUT', `--url ${options.url} is no address: it begins with https:// or http://`); // prettier-ignore
  if (options.token === undefined) {
    printNeeds(preset);
    printLine(
      `npx trunkline crm connect ${name} --token TOKEN${argumentsOf(preset, given, options.url)} tries it; with --yes it is connected too, without a restart.`,
    );
    printSettings(name, preset, given, options.url);
    return;
  }
  const setting = { preset: name, token: options.token, url: options.url, options: given };
  const lines = await proveCrm(endpointFrom({ name: options.name, ...setting }));
  if (lines.length === 0) printLine('This CRM has nothing to check.');
  print(lines);
  if (lines.some(({ ok }) => !ok)) {
    printLine('Not connected.');
    printLine('');
    printNeeds(preset);
    return;
  }
  if (options.yes !== true) {
    printLine('Not connected yet: add --yes, and the running process delivers to it from then on.');
    printLine('');
    printSettings(name, preset, given, options.url);
    return;
  }
  const { api } = runningProcess(options.process);
  const path = `/api/connections/${encodeURIComponent(options.name)}`;
  try {
    await requestOf(api, path, { method: 'PUT', body: setting });
  } catch (error) {
    // The CRM took the trial of this command, so only the running process stands in the way: the settings do not ask it.
    printLine('Not connected: the running process does not take it.');
    printSettings(name, preset, given, options.url);
    printLine('');
    throw error;
  }
  printLine(`connected as ${options.name}: each call that ends from now on gets its record there`);
  printLinks();
}

function isAddress(text: string): boolean {
  return /^https?:/i.test(text) && URL.canParse(text);
}

function printNeeds(preset: Preset): void {
  printLine(`${preset.title} needs:`);
  for (const need of preset.needs) printLine(`  - ${need}`);
  const choices = Object.entries(preset.options);
  if (choices.length > 0) printLine('Options (--option NAME=VALUE):');
  for (const [option, { description, required, values, default: usual }] of choices)
    printLine(
      `  ${option}${required ? ' (needed)' : ''}: ${description}${values === undefined ? '' : ` One of ${values.join(', ')}.`}${usual === undefined || usual === '' ? '' : ` Usually ${usual}.`}`,
    );
  printLine('');
}

/** The arguments that a CRM needs beside the token, as they are typed. */
function argumentsOf(preset: Preset, given: Record<string, string>, url?: string): string {
  const address = url !== undefined || preset.url === undefined ? ` --url ${url ?? 'ADDRESS'}` : '';
  const needed = Object.entries(preset.options)
    .filter(([option, { required }]) => required || given[option] !== undefined)
    .map(([option]) => ` --option ${option}=${given[option] ?? '...'}`);
  return address + needed.join('');
}

function printSettings(
  name: string,
  preset: Preset,
  given: Record<string, string>,
  url: string | undefined,
): void {
  printLine('Or keep it in the settings, as variables of the environment:');
  printLine(`  TRUNKLINE_CRM=${name}`);
  if (preset.token !== undefined) printLine('  TRUNKLINE_CRM_TOKEN=...');
  if (url !== undefined || preset.url === undefined)
    printLine(`  TRUNKLINE_CRM_URL=${url ?? '...'}`);
  const filled = Object.entries(given).map(([option, value]) => `${option}=${value}`);
  const needed = Object.entries(preset.options)
    .filter(([option, { required }]) => required && given[option] === undefined)
    .map(([option]) => `${option}=...`);
  if (filled.length + needed.length > 0)
    printLine(`  TRUNKLINE_CRM_OPTIONS=${[...filled, ...needed].join(',')}`);
}

/** A record lives longer than its links, and a link to this machine opens nowhere else. */
function printLinks(): void {
  const { bridge, http } = loadConfig(process.env).config;
  const { linkLifeHours } = bridge;
  if (linkLifeHours === 0) {
    printLine('Records have no links: TRUNKLINE_LINK_LIFE_HOURS is 0.');
    return;
  }
  const life = linkLifeHours % 24 === 0 ? counted(linkLifeHours / 24, 'day') : `${linkLifeHours} h`; // prettier-ignore
  printLine(
    `The links in a record open without a sign-in for ${life} (TRUNKLINE_LINK_LIFE_HOURS); after that they ask for one.`,
  );
  if (http.publicUrl === undefined)
    printLine(
      'They begin with the address of this machine, which opens nowhere else: set TRUNKLINE_PUBLIC_URL.',
    );
}

async function disconnect(name: string, options: { process?: string }): Promise<void> {
  const { api } = runningProcess(options.process);
  await requestOf(api, `/api/connections/${encodeURIComponent(name)}`, { method: 'DELETE' });
  printLine(`disconnected: nothing more is sent to ${name}`);
}

function endpointFrom(setting: Record<string, unknown>): Endpoint {
  const parsed = EndpointSetting.safeParse(setting);
  if (!parsed.success)
    throw new TrunklineError('BAD_INPUT', parsed.error.issues.map(({ message }) => message).join('; ')); // prettier-ignore
  return endpointOf(parsed.data);
}

async function check(name: string | undefined, options: ListOptions): Promise<void> {
  const endpoint = await chosenEndpoint(name, options);
  if ('host' in endpoint) print(await tryConnected(endpoint, 'check', options));
  else await report(endpoint);
  const { preset = '' } = endpoint;
  if (!named(preset ?? '').check_proves)
    printLine(`Reading alone proves no path: trunkline crm try ${endpoint.name} writes a test record and removes it.`); // prettier-ignore
}

async function report(endpoint: Endpoint): Promise<void> {
  const lines = await checkCrm(endpoint);
  if (lines.length === 0) printLine('This CRM has nothing to check.');
  print(lines);
}

/** A trial that found something wrong ends the command with 1. */
function print(lines: readonly TrialLine[]): void {
  for (const { ok, text } of lines) printLine(`${ok ? 'ok ' : 'no '} ${printable(text)}`);
  if (lines.some(({ ok }) => !ok)) process.exitCode = 1;
}

async function setup(
  name: string | undefined,
  options: ListOptions & { yes?: boolean },
): Promise<void> {
  const endpoint = await chosenEndpoint(name, options);
  const preset = named(endpoint.preset ?? '');
  if (preset.setup.length === 0) {
    printLine(`${preset.title} has nothing that a command can make. By hand:`);
    for (const need of preset.needs) printLine(`  - ${need}`);
    return;
  }
  if (options.yes !== true) {
    printLine(`These requests would be sent: ${preset.setup.map((step) => step.name).join(', ')}. --yes sends them.`); // prettier-ignore
    return;
  }
  if ('host' in endpoint) {
    print(await tryConnected(endpoint, 'setup', options));
    return;
  }
  const links = new LinksOfOneRun();
  const trouble = await runSteps(endpoint, preset.setup, testCall('setup'), links);
  if (trouble !== undefined) throw new TrunklineError('UNREACHABLE', printable(trouble));
  printLine('made');
}

type CrmTryOptions = { endpoint?: string; keep?: boolean; process?: string };

/** Ids of calls begin with `call_`, which no name of an endpoint that anybody chose does. */
async function tryCall(what: string | undefined, options: CrmTryOptions): Promise<void> {
  const call = what?.startsWith('call_') === true ? what : undefined;
  const endpoint = await chosenEndpoint(options.endpoint ?? (call === undefined ? what : undefined), options); // prettier-ignore
  if (call !== undefined) {
    // The process that runs knows which records the CRM has of this call already.
    const { api } = runningProcess(options.process);
    await requestOf(api, `/api/calls/${encodeURIComponent(call)}/deliveries/retry`, {
      body: { from: 1, endpoint: endpoint.name },
    });
    printLine(`sent again; trunkline deliveries list --call ${call} --endpoint ${endpoint.name} tells how it went`); // prettier-ignore
    return;
  }
  const keep = options.keep === true;
  if ('host' in endpoint)
    print(await tryConnected(endpoint, keep ? 'kept-record' : 'record', options));
  else print(await tryRecord(endpoint, { keep }));
}

function presetEndpoints(): Endpoint[] {
  const endpoints = endpointsOf(loadConfig(process.env).config.outbox);
  return endpoints.filter(({ preset }) => preset !== undefined);
}

/**
 * An endpoint of the settings, or one that was connected while the process ran: that one is tried by the process, which
 * alone has its token.
 */
async function chosenEndpoint(
  name: string | undefined,
  options: ListOptions,
): Promise<Endpoint | ApiConnection> {
  const ofSettings = endpointsOf(loadConfig(process.env).config.outbox);
  const ownNames = new Set(ofSettings.map((one) => one.name));
  const connected = (await connectedTo(options)).filter((one) => !ownNames.has(one.name));
  const all = [...ofSettings, ...connected];
  const used = all.filter(({ preset }) => preset != null);
  const names = used.map((one) => one.name).join(', ');
  if (name !== undefined) {
    const endpoint = all.find((one) => one.name === name);
    if (endpoint?.preset != null) return endpoint;
    if (endpoint !== undefined)
      throw new TrunklineError(
        'BAD_INPUT',
        `${name} has no preset: trunkline webhooks try ${name}`,
      );
    const known = names === '' ? 'no endpoint uses a CRM' : `there is ${names}`;
    throw new TrunklineError('BAD_INPUT', `No endpoint is named ${name}: ${known}`);
  }
  const [only, ...others] = used;
  if (only === undefined)
    throw new TrunklineError('BAD_INPUT', 'No endpoint uses a CRM: trunkline crm connect NAME says how'); // prettier-ignore
  if (others.length > 0)
    throw new TrunklineError('BAD_INPUT', `There are several: name one of ${names}, as in trunkline crm try ${only.name}`); // prettier-ignore
  return only;
}

async function tryConnected(
  { name }: ApiConnection,
  part: TrialPart,
  options: ListOptions,
): Promise<TrialLine[]> {
  const { api } = runningProcess(options.process);
  const path = `/api/connections/${encodeURIComponent(name)}/trial?part=${part}`;
  const trial = (await requestOf(api, path, { method: 'POST' })) as ConnectionTrial;
  return trial.lines;
}

function named(name: string): Preset {
  try {
    return presetNamed(name);
  } catch (error) {
    throw new TrunklineError('BAD_INPUT', reasonOf(error));
  }
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new TrunklineError('BAD_INPUT', `--option wants name=value, not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

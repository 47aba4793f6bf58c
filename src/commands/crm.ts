import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { LinksOfOneRun } from '../crm/link-rows.ts';
import { presetNamed, presetNames, type Preset } from '../crm/preset.ts';
import type { MappingStep } from '../crm/step.ts';
import { systemClock } from '../lib/clock.ts';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { printable } from '../lib/printable.ts';
import { endpointOf, endpointsOf, EndpointSetting, type Endpoint } from '../outbox/config.ts';
import { endpointNamed } from '../outbox/outbox.ts';
import { queuedOf, Sender } from '../outbox/sender.ts';
import { eventExamples } from '../protocol/event-examples.ts';
import type { CallEvent } from '../protocol/events.ts';
import { requestOf, runningProcess } from './running-process.ts';
import { printLine } from './terminal.ts';

type ConnectOptions = { token?: string; url?: string; option: string[] };

/** `trunkline crm`: which CRMs Trunkline knows, what each needs, and whether it is there. */
export function registerCrm(program: Command): void {
  const crm = program
    .command('crm')
    .description('CRMs that Trunkline knows: list them, connect one, check it, try a call');
  crm
    .command('list', { isDefault: true })
    .description('the CRMs, and the endpoints that use one')
    .action(list);
  crm
    .command('connect <crm>')
    .description(
      'what to make at the CRM and what to write into the settings; with a token, tries it',
    )
    .option('--token <token>', 'the token or key; it is tried and not written anywhere')
    .option('--url <url>', 'the address of its API, where it is not the usual one')
    .option('--option <name=value>', 'an option of the CRM; may be repeated', collect, [])
    .action(connect);
  crm
    .command('check [endpoint]')
    .description('asks the CRM for what is missing; changes nothing')
    .action(check);
  crm
    .command('setup [endpoint]')
    .description('makes the field in which the CRM keeps the id of a call')
    .option('--yes', 'makes it; without this the requests are only named')
    .action(setup);
  crm
    .command('try [call]')
    .description(
      'sends this call to the CRM again; without a call, a test record that is removed at once',
    )
    .option('--endpoint <name>', 'which endpoint, where there are several')
    .option('--keep', 'leaves the test record there')
    .option(
      '--process <url>',
      'the running process that has the call; by default that of the settings',
    )
    .action(tryCall);
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

function list(): void {
  for (const name of presetNames) printLine(`${name.padEnd(12)} ${presetNamed(name).title}`);
  const used = presetEndpoints();
  printLine('');
  if (used.length === 0) printLine('No endpoint uses one: trunkline crm connect NAME says how.');
  for (const { name, preset = '', url } of used) printLine(`endpoint ${name}: ${preset}, ${url}`);
}

async function connect(name: string, options: ConnectOptions): Promise<void> {
  const preset = named(name);
  printLine(`${preset.title} needs:`);
  for (const need of preset.needs) printLine(`  - ${need}`);
  const choices = Object.entries(preset.options);
  if (choices.length > 0) printLine('Options:');
  for (const [option, { description, required, default: usual }] of choices)
    printLine(
      `  ${option}${required ? ' (needed)' : ''}: ${description}${usual === undefined || usual === '' ? '' : ` Usually ${usual}.`}`,
    );
  const given = Object.fromEntries(options.option.map(pairOf));
  printLine('');
  printLine(
    'Write this into the environment, or into the file of the settings under outbox.endpoints:',
  );
  printLine(`  TRUNKLINE_CRM=${name}`);
  if (preset.token !== undefined) printLine('  TRUNKLINE_CRM_TOKEN=...');
  if (options.url !== undefined || preset.url === undefined)
    printLine(`  TRUNKLINE_CRM_URL=${options.url ?? '...'}`);
  const filled = Object.entries(given).map(([option, value]) => `${option}=${value}`);
  const needed = choices
    .filter(([option, { required }]) => required && given[option] === undefined)
    .map(([option]) => `${option}=...`);
  if (filled.length + needed.length > 0)
    printLine(`  TRUNKLINE_CRM_OPTIONS=${[...filled, ...needed].join(',')}`);
  if (options.token === undefined) {
    printLine('');
    printLine(
      `With --token the connection is tried. Later: trunkline crm check, trunkline crm try`,
    );
    return;
  }
  const endpoint = endpointFrom({ name: 'crm', preset: name, token: options.token, url: options.url, options: given }); // prettier-ignore
  printLine('');
  await report(endpoint, preset);
}

function endpointFrom(setting: Record<string, unknown>): Endpoint {
  const parsed = EndpointSetting.safeParse(setting);
  if (!parsed.success)
    throw new TrunklineError('BAD_INPUT', parsed.error.issues.map(({ message }) => message).join('; ')); // prettier-ignore
  return endpointOf(parsed.data);
}

async function check(name: string | undefined): Promise<void> {
  const endpoint = chosenEndpoint(name);
  await report(endpoint, named(endpoint.preset ?? ''));
}

async function report(endpoint: Endpoint, preset: Preset): Promise<void> {
  if (preset.check.length === 0) printLine('This CRM has nothing to check.');
  let isWell = true;
  for (const step of preset.check) {
    const trouble = await runStep(endpoint, step);
    isWell &&= trouble === undefined;
    printLine(`${trouble === undefined ? 'ok ' : 'no '} ${step.name}${trouble === undefined ? '' : `: ${printable(trouble)}`}`); // prettier-ignore
  }
  if (!isWell) process.exitCode = 1;
}

async function setup(name: string | undefined, { yes }: { yes?: boolean }): Promise<void> {
  const endpoint = chosenEndpoint(name);
  const preset = named(endpoint.preset ?? '');
  if (preset.setup.length === 0) {
    printLine(`${preset.title} has nothing that a command can make. By hand:`);
    for (const need of preset.needs) printLine(`  - ${need}`);
    return;
  }
  if (yes !== true) {
    printLine(`These requests would be sent: ${preset.setup.map((step) => step.name).join(', ')}. --yes sends them.`); // prettier-ignore
    return;
  }
  const trouble = await runSteps(endpoint, preset.setup, testCall('setup'), new LinksOfOneRun());
  if (trouble !== undefined) throw new TrunklineError('UNREACHABLE', printable(trouble));
  printLine('made');
}

type CrmTryOptions = { endpoint?: string; keep?: boolean; process?: string };

async function tryCall(call: string | undefined, options: CrmTryOptions): Promise<void> {
  const endpoint = chosenEndpoint(options.endpoint);
  if (call !== undefined) {
    // The process that runs knows which records the CRM has of this call already.
    const { api } = runningProcess(options.process);
    await requestOf(api, `/api/calls/${encodeURIComponent(call)}/deliveries/retry`, {
      body: { from: 1, endpoint: endpoint.name },
    });
    printLine(`sent again; trunkline deliveries list --call ${call} --endpoint ${endpoint.name} tells how it went`); // prettier-ignore
    return;
  }
  const preset = named(endpoint.preset ?? '');
  const links = new LinksOfOneRun();
  const event = testCall(newId('call'));
  const trouble = await runSteps(endpoint, preset.steps, event, links);
  if (trouble !== undefined) throw new TrunklineError('UNREACHABLE', printable(trouble));
  const record = links.links['record'];
  printLine(record === undefined ? 'the CRM took the test call' : `the CRM took the test call as ${printable(record)}`); // prettier-ignore
  if (options.keep === true || preset.cleanup.length === 0) return;
  const left = await runSteps(endpoint, preset.cleanup, event, links);
  printLine(left === undefined ? 'the test record was removed' : `the test record is still there: ${printable(left)}`); // prettier-ignore
}

/** The answer of one step alone: undefined where all is well. */
async function runStep(endpoint: Endpoint, step: MappingStep): Promise<string | undefined> {
  try {
    return await runSteps(endpoint, [step], testCall('check'), new LinksOfOneRun());
  } catch (error) {
    return reasonOf(error);
  }
}

async function runSteps(
  endpoint: Endpoint,
  steps: MappingStep[],
  event: CallEvent,
  links: LinksOfOneRun,
): Promise<string | undefined> {
  await using sender = new Sender({ ...endpoint, shape: { steps } }, systemClock, undefined, { links }); // prettier-ignore
  const { verdict } = await sender.send(queuedOf(event), endpoint.timeoutMs, Date.now(), new AbortController().signal); // prettier-ignore
  if (verdict.kind === 'delivered') return undefined;
  return verdict.answer === null || verdict.answer === '' ? verdict.reason : `${verdict.reason}: ${verdict.answer}`; // prettier-ignore
}

/** A call that nobody had: its text says so to whoever finds it in the CRM. */
function testCall(id: string): CallEvent {
  const example = eventExamples['call.completed'];
  return {
    ...example,
    id: newId('evt'),
    call: { ...example.call, id, from: '+15550100123', to: '+15550100200' },
    data: {
      ...example.data,
      summary: { type: 'general' as const, text: 'A test record of Trunkline: no call was made.' },
    },
  };
}

function presetEndpoints(): Endpoint[] {
  const endpoints = endpointsOf(loadConfig(process.env).config.outbox);
  return endpoints.filter(({ preset }) => preset !== undefined);
}

function chosenEndpoint(name: string | undefined): Endpoint {
  const used = presetEndpoints();
  if (name !== undefined) {
    const endpoint = endpointNamed(loadConfig(process.env).config.outbox, name);
    if (endpoint.preset !== undefined) return endpoint;
    throw new TrunklineError('BAD_INPUT', `${name} has no preset: trunkline webhooks try ${name}`);
  }
  const [only, ...others] = used;
  if (only === undefined)
    throw new TrunklineError('BAD_INPUT', 'No endpoint uses a CRM: trunkline crm connect NAME says how'); // prettier-ignore
  if (others.length > 0)
    throw new TrunklineError('BAD_INPUT', `Name one of ${used.map((one) => one.name).join(', ')}`);
  return only;
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

import { type Command, InvalidArgumentError } from 'commander';
import { randomBytes } from 'node:crypto';
import { carrierNamed, carrierNames, carriers, type CarrierName } from '../carriers/all.ts';
import type { PbxConfiguration } from '../carriers/carrier.ts';
import { carrierSetups } from '../carriers/setups.ts';
import { socketUrlOf } from '../carriers/voice-answer.ts';
import type { Config } from '../config.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { ApiCarrier, CarrierList } from '../protocol/api.ts';
import { answerOf, runningProcess } from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

const secretBytes = 24;

type SetupListOptions = { url?: string; json?: boolean };

const pbxNames = carrierNames.filter((name) => carriers[name].setup.configuration !== undefined);

/**
 * `trunkline carriers [name]`: shows how to connect each carrier, or one of them. For a PBX it prints the
 * configuration.
 */
export function registerCarriers(program: Command): void {
  program
    .command('carriers')
    .argument(
      '[name]',
      `one carrier, with what to click there; for ${pbxNames.join(', ')} what to paste there`,
      knownCarrier,
    )
    .description('the carriers: what is set, what is missing, which address each is told')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action((name: CarrierName | undefined, options: SetupListOptions) =>
      name !== undefined && pbxNames.includes(name)
        ? configurationOf(name, options)
        : list(options, name),
    );
}

function knownCarrier(text: string): string {
  if (carrierNamed(text) !== undefined) return text;
  throw new InvalidArgumentError(
    `there is ${carrierNames.join(', ')}; without a name all are listed`,
  );
}

async function list({ url, json }: SetupListOptions, name?: CarrierName): Promise<void> {
  const { api, config } = runningProcess(url);
  let items: ApiCarrier[];
  let source = `as ${api.url} says`;
  let isRunning = true;
  try {
    ({ items } = await answerOf<CarrierList>(api, '/api/carriers'));
  } catch (error) {
    // Only the running process knows which streams arrived. Everything else comes from the settings.
    if (!(error instanceof TrunklineError) || error.code !== 'UNREACHABLE') throw error;
    isRunning = false;
    source = `No running process: ${error.message}. This is what the settings here say; which streams came is not known.`;
    items = carrierSetups({ config: config.carriers, publicUrl: publicUrlOf(config) });
  }
  if (name !== undefined) items = items.filter((item) => item.name === name);
  if (json) {
    printJson({ running: isRunning, items }, 2);
    return;
  }
  printLine(source);
  for (const item of items) {
    printLine(`\n${linesOf(item, isRunning).join('\n')}`);
    if (name !== undefined) item.steps.forEach((step, at) => printLine(`  ${at + 1}. ${step}`));
  }
  if (items.some(({ address }) => address.startsWith('ws:')))
    printLine(
      '\nThese addresses are for this machine alone: set TRUNKLINE_PUBLIC_URL to the one by which carriers reach you.',
    );
}

function linesOf(item: ApiCarrier, isRunning: boolean): string[] {
  const voice = item.voice?.missing ?? [];
  const refused = item.last_refused ?? undefined;
  const since = item.last_stream_at ?? 'none yet';
  const rows: [string, string | undefined][] = [
    ['stream', item.address],
    ['voice', item.voice?.address],
    ['status', item.status_address ?? undefined],
    ['set', item.set.join(', ') || undefined],
    ['missing', item.missing.join(', ') || undefined],
    ['for voice', voice.filter((name) => !item.missing.includes(name)).join(', ') || undefined],
    ['last proof', isRunning ? since : undefined],
    ['refused', refused && `last ${refused.at}: ${refused.reason}`],
  ];
  const state = item.state === 'ready' ? 'ready' : 'only with a stream token (POST /api/streams)';
  return [
    `${item.title} (${item.name}): ${state}`,
    ...rows.flatMap(([name, text]) => (text === undefined ? [] : [`  ${name.padEnd(11)}${text}`])),
  ];
}

async function configurationOf(pbx: CarrierName, { url, json }: SetupListOptions): Promise<void> {
  const { api, config } = runningProcess(url);
  const bare = await addressOf(pbx, api, config);
  const secret = randomBytes(secretBytes).toString('hex');
  const made = carriers[pbx].setup.configuration?.({ address: bare, secret });
  if (made === undefined) return;
  if (json) printJson(made, 2);
  else printLine(textOf(carriers[pbx].setup.title, made));
}

/** The running process knows its own address best. If none is running, the settings give it. */
async function addressOf(
  name: string,
  api: Parameters<typeof answerOf>[0],
  config: Config,
): Promise<string> {
  try {
    const { items } = await answerOf<CarrierList>(api, '/api/carriers');
    const known = items.find((item) => item.name === name)?.address;
    if (known !== undefined) return known;
  } catch (error) {
    if (!(error instanceof TrunklineError) || error.code !== 'UNREACHABLE') throw error;
  }
  return socketUrlOf(publicUrlOf(config), name);
}

function textOf(title: string, { settings, parts }: PbxConfiguration): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return [
    `Nothing was written. The secret is new: paste all of this, or none of it.`,
    `\n--- settings of Trunkline (environment), then start it again\n${lines.join('\n')}`,
    ...parts.map(({ where, text }) => `\n--- ${title}: ${where}\n${text}`),
  ].join('\n');
}

function publicUrlOf({ http }: Config): string {
  return (http.publicUrl ?? `http://127.0.0.1:${http.port}`).replace(/\/+$/, '');
}

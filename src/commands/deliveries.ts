import { Option, type Command } from 'commander';
import { counted } from '../lib/counted.ts';
import { printable } from '../lib/printable.ts';
import type { ApiDelivery, DeliveryPage } from '../protocol/delivery-reports.ts';
import { everyPage, requestOf, runningProcess } from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

type DeliveriesOptions = { url?: string; json?: boolean };

/** `trunkline deliveries`: lists deliveries to the CRM, shows which are stuck and why, and restarts them. */
export function registerDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list, inspect, retry and release events on their way to webhooks');
  add(deliveries, 'list', 'newest first', { isDefault: true })
    .addOption(
      new Option('--state <state>', 'only these').choices([
        'pending',
        'delivered',
        'parked',
        'skipped',
      ]),
    )
    .option('--call <id>', 'only those of this call')
    .option('--endpoint <name>', 'only those to this endpoint')
    .option('--limit <n>', 'how many', '50')
    .action(list);
  add(
    deliveries,
    'show <delivery>',
    'one delivery with its attempts and the first bytes of the last answer',
  ).action(show);
  add(
    deliveries,
    'retry <delivery>',
    'try it now; a parked one takes what is parked behind it along',
  ).action((id: string, options: DeliveriesOptions) =>
    act(options, `/api/deliveries/${encodeURIComponent(id)}/retry`),
  );
  add(deliveries, 'retry-parked', 'try all that are parked, of every call, each in its order')
    .option('--endpoint <name>', 'only those to this endpoint')
    .action(retryParked);
  add(deliveries, 'retry-call <call>', 'send the events of a call again, in order')
    .option('--from <sequence>', 'the first event to send', '1')
    .option('--endpoint <name>', 'only to this endpoint')
    .action((id: string, options: DeliveriesOptions & { from: string; endpoint?: string }) =>
      act(options, `/api/calls/${encodeURIComponent(id)}/deliveries/retry`, {
        from: Number(options.from),
        endpoint: options.endpoint,
      }),
    );
  add(
    deliveries,
    'release <call>',
    'leave the parked event behind and let what waits after it go',
  ).action((id: string, options: DeliveriesOptions) =>
    act(options, `/api/calls/${encodeURIComponent(id)}/deliveries/release`),
  );
  add(deliveries, 'enable <endpoint>', 'switch an endpoint on again that answered 410').action(
    (name: string, options: DeliveriesOptions) =>
      act(options, `/api/deliveries/endpoints/${encodeURIComponent(name)}/enable`),
  );
}

function add(
  parent: Command,
  name: string,
  description: string,
  how: { isDefault?: boolean } = {},
): Command {
  return parent
    .command(name, how)
    .description(description)
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as the API answers');
}

type DeliveryListOptions = DeliveriesOptions & {
  state?: string;
  call?: string;
  endpoint?: string;
  limit: string;
};

async function list(options: DeliveryListOptions): Promise<void> {
  const query = new URLSearchParams({ limit: options.limit });
  if (options.state !== undefined) query.set('state', options.state);
  if (options.call !== undefined) query.set('call_id', options.call);
  if (options.endpoint !== undefined) query.set('endpoint', options.endpoint);
  const page = (await ask(options, `/api/deliveries?${query.toString()}`)) as DeliveryPage;
  if (options.json) {
    print(page);
    return;
  }
  if (page.items.length === 0) printLine('nothing');
  for (const item of page.items) printLine(lineOf(item));
  if (page.next_cursor !== null) printLine(`... more: --limit ${Number(options.limit) * 2}`);
}

function lineOf(item: ApiDelivery): string {
  const next = item.next_attempt_at === null ? '' : `  next ${item.next_attempt_at}`;
  const reason = item.reason === null ? '' : `  ${item.reason}`;
  return printable(
    `${item.state.padEnd(9)} ${item.type.padEnd(16)} ${item.call_id} #${item.sequence}  ${item.id}  ${counted(item.attempts, 'attempt')}${next}${reason}`,
  );
}

async function show(id: string, options: DeliveriesOptions): Promise<void> {
  print(await ask(options, `/api/deliveries/${encodeURIComponent(id)}`));
}

async function act(options: DeliveriesOptions, path: string, body?: unknown): Promise<void> {
  const { changed } = (await ask(options, path, { method: 'POST', body: body ?? {} })) as {
    changed: number;
  };
  printLine(`${changed} set in motion`);
}

/** Retrying the first parked delivery of a call also retries those parked behind it. */
async function retryParked(options: DeliveriesOptions & { endpoint?: string }): Promise<void> {
  const { api } = runningProcess(options.url);
  const to =
    options.endpoint === undefined ? '' : `&endpoint=${encodeURIComponent(options.endpoint)}`;
  const parked = await everyPage<ApiDelivery>(api, `/api/deliveries?limit=100&state=parked${to}`);
  const first = new Map<string, ApiDelivery>();
  for (const one of parked) {
    const lane = `${one.endpoint} ${one.call_id}`;
    if (one.sequence < (first.get(lane)?.sequence ?? Infinity)) first.set(lane, one);
  }
  let changed = 0;
  for (const { id } of first.values()) {
    const path = `/api/deliveries/${encodeURIComponent(id)}/retry`;
    const answer = await requestOf(api, path, { method: 'POST', body: {} });
    changed += (answer as { changed: number }).changed;
  }
  const calls = new Set(parked.map((one) => one.call_id)).size;
  printLine(
    parked.length === 0
      ? 'nothing is parked'
      : `${counted(changed, 'event')} of ${counted(calls, 'call')} set in motion`,
  );
}

function print(value: unknown): void {
  printJson(value, 2);
}

async function ask(
  options: DeliveriesOptions,
  path: string,
  request: { method?: string; body?: unknown } = {},
): Promise<unknown> {
  return await requestOf(runningProcess(options.url).api, path, request);
}

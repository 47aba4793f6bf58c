import type { Command } from 'commander';
import { TrunklineError } from '../lib/errors.ts';
import type { ApiKeyList, ApiKeyMade } from '../protocol/people-reports.ts';
import { keyScopes } from '../protocol/rights.ts';
import { answerOf, requestOf, runningProcess } from './running-process.ts';
import { printJson, printLine, printNote, printTable } from './terminal.ts';

type KeyOptions = { url?: string; json?: boolean };
type NewKeyOptions = KeyOptions & { scope: string[]; days?: string };

/** `trunkline keys`: makes, lists and revokes named keys of a running process. */
export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('keys with a name, scopes and a life');
  const url = ['--url <url>', 'the running process; by default the one of these settings'] as const;
  keys
    .command('create')
    .argument('<name>', 'who or what will use the key')
    .description('make a key; it is shown this once')
    .requiredOption('--scope <scopes...>', `what it may do: ${keyScopes.join(', ')}`)
    .option('--days <days>', 'how long it is good; without end unless said')
    .option('--json', 'as data')
    .option(...url)
    .action(create);
  keys
    .command('list')
    .description('the keys, without their text')
    .option('--json', 'as data')
    .option(...url)
    .action(list);
  keys
    .command('revoke')
    .argument('<key>', 'its name or its id')
    .description('refuse a key from now on, at every node within two seconds')
    .option(...url)
    .action(revoke);
}

async function create(name: string, { scope, days, url, json }: NewKeyOptions): Promise<void> {
  const scopes = scope.flatMap((text) => text.split(',')).filter(Boolean);
  const life = days === undefined ? undefined : Number(days);
  if (life !== undefined && !Number.isInteger(life))
    throw new TrunklineError('BAD_INPUT', `--days: "${days}" is no number of days`);
  const { api } = runningProcess(url);
  const body = { name, scopes, ...(life === undefined ? {} : { days: life }) };
  const made = (await requestOf(api, '/api/keys', { method: 'POST', body })) as ApiKeyMade;
  if (json) {
    printJson(made, 2);
    return;
  }
  printLine(made.key);
  printNote(
    `The key "${made.name}" (${made.id}) has the scope ${made.scopes.join(', ')} and is ` +
      `${made.expires_at === null ? 'good until it is revoked' : `good until ${made.expires_at}`}. It is not shown again.`,
  );
}

async function list({ url, json }: KeyOptions): Promise<void> {
  const { api } = runningProcess(url);
  const { items } = await answerOf<ApiKeyList>(api, '/api/keys');
  if (json) {
    printJson({ items }, 2);
    return;
  }
  if (items.length === 0) {
    printLine('no key was made yet');
    return;
  }
  printTable(
    ['key', 'name', 'scopes', 'state', 'made', 'by', 'until'],
    items.map((key) => [
      key.id,
      key.name,
      key.scopes.join(','),
      key.state,
      key.made_at,
      key.made_by,
      key.revoked_at ?? key.expires_at ?? '-',
    ]),
  );
}

async function revoke(key: string, { url }: KeyOptions): Promise<void> {
  const { api } = runningProcess(url);
  await requestOf(api, `/api/keys/${encodeURIComponent(key)}`, { method: 'DELETE' });
  printLine('revoked: every node refuses it within two seconds');
}

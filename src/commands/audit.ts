import type { Command } from 'commander';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { TrunklineError } from '../lib/errors.ts';
import type { AuditCheck, AuditPage } from '../protocol/people-reports.ts';
import { answerOf, askProcess, runningProcess } from './running-process.ts';
import { printJson, printLine, printTable } from './terminal.ts';

type AuditListOptions = { url?: string; call?: string; actor?: string; limit: string; json?: boolean }; // prettier-ignore
type AuditUrlOptions = { url?: string };

/** `trunkline audit`: shows, checks and saves the record of who did what. */
export function registerAudit(program: Command): void {
  const audit = program.command('audit').description('who read, heard, changed and erased what');
  const url = ['--url <url>', 'the running process; by default the one of these settings'] as const;
  audit
    .command('list')
    .description('the newest lines')
    .option('--call <id>', 'only lines about this call')
    .option('--actor <name>', 'only lines of this name or id')
    .option('--limit <count>', 'how many', '50')
    .option('--json', 'as data')
    .option(...url)
    .action(list);
  audit
    .command('verify')
    .description('follow the chain of hashes; exit code 1 where a line was changed or is missing')
    .option(...url)
    .action(verify);
  audit
    .command('export')
    .description('all lines as JSON, oldest first')
    .option(...url)
    .action(save);
}

async function list({ url, call, actor, limit, json }: AuditListOptions): Promise<void> {
  const { api } = runningProcess(url);
  const query = new URLSearchParams({
    limit,
    ...(call === undefined ? {} : { call_id: call }),
    ...(actor === undefined ? {} : { actor }),
  });
  const { items } = await answerOf<AuditPage>(api, `/api/audit?${query.toString()}`);
  if (json) {
    printJson({ items }, 2);
    return;
  }
  printTable(
    ['line', 'at', 'who', 'did', 'call', 'detail', 'from'],
    items.map((line) => [
      String(line.seq),
      line.at,
      line.actor || '-',
      line.action,
      line.call_id ?? '-',
      line.detail || '-',
      line.address,
    ]),
  );
}

async function verify({ url }: AuditUrlOptions): Promise<void> {
  const { api } = runningProcess(url);
  const { whole, lines, first, last, broken_at, why } = await answerOf<AuditCheck>(api, '/api/audit/check'); // prettier-ignore
  if (!whole)
    throw new TrunklineError('BAD_INPUT', `the record is broken at line ${broken_at}: ${why}`);
  printLine(
    lines === 0
      ? 'whole: the record has no line yet'
      : `whole: ${lines} lines, ${first} to ${last}, each fits to the one before`,
  );
}

async function save({ url }: AuditUrlOptions): Promise<void> {
  const { api } = runningProcess(url);
  const answer = await askProcess(api, '/api/audit/export', exportWithinMs);
  if (!answer.ok || answer.body === null)
    throw new TrunklineError('UNREACHABLE', `/api/audit/export was answered with ${answer.status}`);
  const lines = createInterface({ input: Readable.fromWeb(answer.body) });
  for await (const line of lines) printJson(JSON.parse(line));
}

const exportWithinMs = 600_000;

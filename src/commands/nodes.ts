import type { Command } from 'commander';
import type { ApiNode, NodeList } from '../protocol/api.ts';
import { answerOf, runningProcess } from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

type NodeListOptions = { url?: string; json?: boolean };

/** `trunkline nodes`: lists the processes that share the running one's database. */
export function registerNodes(program: Command): void {
  program
    .command('nodes')
    .description('the processes that share the database, and which of them is lost')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(list);
}

async function list({ url, json }: NodeListOptions): Promise<void> {
  const { api } = runningProcess(url);
  const { items } = await answerOf<NodeList>(api, '/api/nodes');
  if (json) {
    printJson({ items }, 2);
    return;
  }
  const heading = ['node', 'state', 'legs', 'speech', 'roles', 'version', 'seen', 'address'];
  const rows = [heading, ...items.map(cellsOf)];
  const widths = heading.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of rows)
    printLine(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  const lost = items.filter(({ state }) => state === 'lost');
  if (lost.length > 0)
    printLine(
      `\n${lost.length === 1 ? 'One is' : `${lost.length} are`} lost: the others go on with its calls. A node that is started again on the same disk is here again; a row that nobody sees for 30 days goes.`,
    );
}

function cellsOf(node: ApiNode): string[] {
  return [
    `${node.id}${node.self ? ' *' : ''}`,
    node.state,
    node.roles.includes('bridge') ? `${node.legs}/${node.capacity}` : '-',
    node.speech === null ? '-' : `${node.speech.used}/${node.speech.capacity}`,
    node.roles.join(','),
    node.version,
    `${node.silent_seconds.toFixed(1)} s ago`,
    node.address ?? '-',
  ];
}

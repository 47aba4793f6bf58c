import type { Command } from 'commander';
import { counted } from '../lib/counted.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { ApiCall } from '../protocol/api.ts';
import { everyPage, requestOf, runningProcess } from './running-process.ts';
import { printLine, printNote } from './terminal.ts';

type EraseOptions = { number?: string; linksOnly?: boolean; yes?: boolean; url?: string };

/** `trunkline erase`: erases a call, or all calls of a number. It lists them first, because they cannot be restored. */
export function registerErase(program: Command): void {
  program
    .command('erase')
    .argument('[calls...]', 'ids of calls')
    .description('erase calls: their words, audio, events and notes, in every place')
    .option('--number <number>', 'all calls that have this number, in any form')
    .option('--links-only', 'erase nothing and close the links of the calls for good')
    .option('--yes', 'erase what is listed; without it nothing is erased')
    .option('--url <url>', 'the running process; by default that of the settings')
    .action(erase);
}

async function erase(ids: string[], options: EraseOptions): Promise<void> {
  if (ids.length > 0 === (options.number !== undefined))
    throw new TrunklineError('BAD_INPUT', 'name calls, or say --number for all of a number');
  const odd = ids.find((id) => !/^call_\w+$/.test(id));
  if (odd !== undefined)
    throw new TrunklineError('BAD_INPUT', `"${odd}" is no id of a call: they begin with call_`);
  const { api } = runningProcess(options.url);
  const calls =
    options.number === undefined
      ? await Promise.all(
          [...new Set(ids)].map(
            async (id) => (await requestOf(api, `/api/calls/${encodeURIComponent(id)}`)) as ApiCall,
          ),
        )
      : await everyPage<ApiCall>(
          api,
          `/api/calls?limit=200&number=${encodeURIComponent(options.number)}`,
        );
  if (options.yes !== true) {
    for (const call of calls) printLine(lineOf(call));
    printLine(
      calls.length === 0
        ? 'no call has this number'
        : `\n${counted(calls.length, 'call')} would ${options.linksOnly === true ? 'lose their links' : 'be erased'}, and nothing brings one back: say --yes, or name those that are meant`,
    );
    return;
  }
  const what = options.linksOnly === true ? '/links' : '';
  let pending = 0;
  let failed = 0;
  for (const { id } of calls)
    try {
      const answer = await requestOf(api, `/api/calls/${encodeURIComponent(id)}${what}`, {
        method: 'DELETE',
      });
      if ((answer as { status?: string }).status === 'pending') pending++;
    } catch (error) {
      if (!(error instanceof TrunklineError) || error.code !== 'BAD_INPUT') throw error;
      failed++;
      printNote(`${id}: ${error.message}`);
    }
  printLine(
    options.linksOnly === true
      ? `the links of ${counted(calls.length - failed, 'call')} open nothing any more`
      : `${counted(calls.length - failed, 'call')} erased`,
  );
  if (options.linksOnly !== true && failed < calls.length)
    printLine(
      'a CRM keeps its record and tasks, unless its endpoint has on_erase: delete; remove them there by hand',
    );
  if (pending > 0)
    printLine(
      `of ${counted(pending, 'call')} something is still on a disk or in the object store; it is tried again, and health says so meanwhile`,
    );
  if (failed > 0) process.exitCode = 1;
}

const lineOf = (call: ApiCall): string =>
  `${call.id}  ${call.started_at}  ${call.state.padEnd(5)}  ${call.from ?? '-'} to ${call.to ?? '-'}  ${call.carrier}`;

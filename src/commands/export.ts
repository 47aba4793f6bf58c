import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { fetchWithKey, isKeyRefused, keyRefused } from '../player/api-client.ts';
import { refusedBy, runningProcess, unreachable } from './running-process.ts';
import { addFilter, filterHelp, setFilters } from './search-filters.ts';
import { printNote, printStream } from './terminal.ts';

type ExportOptions = {
  search?: string;
  format: string;
  out?: string;
  from?: string;
  to?: string;
  calls?: string;
  byMeaning?: boolean;
  sort?: string;
  filter: string[];
  url?: string;
};

/** `trunkline export`: the words of a call, or of all calls that a search finds, as one file. */
export function registerExport(program: Command): void {
  program
    .command('export [call]')
    .description('the words of a call, or of the calls that a search finds, as a file')
    .option('--search <words>', 'the calls with these words, as trunkline search finds them')
    .option('--by-meaning', 'with --search: what means nearly the same as this sentence')
    .option('--sort <order>', 'with --search: newest, or relevance')
    .addOption(
      new Option('--format <format>', 'the kind of file')
        .choices(['txt', 'vtt', 'srt', 'csv', 'jsonl', 'json'])
        .default('txt'),
    )
    .option('--out <file>', 'writes to this file in place of the terminal')
    .option('--from <date>', 'calls that began on this day or later, as 2026-11-28')
    .option('--to <date>', 'calls that began on this day or earlier')
    .option('--filter <name=value>', filterHelp, addFilter, [])
    .option(
      '--calls <n>',
      'the greatest number of calls of a search; 1,000 by default',
      wholeNumber,
    )
    .option('--url <url>', 'the running process; by default that of the settings')
    .action(exportWords);
}

function wholeNumber(given: string): string {
  if (/^[1-9]\d*$/.test(given)) return given;
  throw new InvalidArgumentError('Name a whole number from 1 on.');
}

async function exportWords(call: string | undefined, options: ExportOptions): Promise<void> {
  const { api } = runningProcess(options.url);
  const path = pathOf(call, options);
  // A large search takes its time: the reader may end it.
  const response = await fetchWithKey(api, path, {}).catch((error: unknown) => {
    throw unreachable(api, error);
  });
  if (isKeyRefused(response.status)) throw keyRefused(api, response.status);
  if (!response.ok || response.body === null) throw await refusedBy(api, response);
  const words = Readable.fromWeb(response.body);
  try {
    if (options.out === undefined) await printStream(words);
    else await pipeline(words, createWriteStream(options.out));
  } catch (error) {
    throw new TrunklineError('UNREACHABLE', `the file is not whole: ${reasonOf(error)}`);
  }
  if (options.out !== undefined) printNote(`Wrote ${options.out}.`);
}

function pathOf(call: string | undefined, options: ExportOptions): string {
  const { search, byMeaning, sort, format, from, to, calls, filter } = options;
  if ((call === undefined) === (search === undefined))
    throw new TrunklineError('BAD_INPUT', 'Name a call, or words with --search');
  if (call !== undefined)
    return `/api/calls/${encodeURIComponent(call)}/transcript?format=${format}`;
  const query = new URLSearchParams({ q: search ?? '', format });
  if (byMeaning === true) query.set('by', 'meaning');
  if (sort !== undefined) query.set('sort', sort);
  if (from !== undefined) query.set('from_date', from);
  if (to !== undefined) query.set('to_date', to);
  if (calls !== undefined) query.set('calls', calls);
  setFilters(query, filter);
  return `/api/search/export?${query.toString()}`;
}

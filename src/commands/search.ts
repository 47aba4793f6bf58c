import type { Command } from 'commander';
import type { SearchPage } from '../protocol/search.ts';
import { answerOf, runningProcess } from './running-process.ts';
import { addFilter, filterHelp, setFilters } from './search-filters.ts';
import { printJson, printLine } from './terminal.ts';

type SearchOptions = {
  url?: string;
  json?: boolean;
  from?: string;
  to?: string;
  limit?: string;
  byMeaning?: boolean;
  sort?: string;
  filter: string[];
};

/** `trunkline search`: finds calls of the running process by their words. */
export function registerSearch(program: Command): void {
  program
    .command('search <words...>')
    .description(
      'find calls by what was said in them: words, "a phrase", begin*, -not, customer:word, tag:refund',
    )
    .option('--by-meaning', 'what means nearly the same as this sentence, in whatever words')
    .option('--sort <order>', 'newest, or relevance')
    .option('--from <date>', 'calls that began on this day or later, as 2026-11-28')
    .option('--to <date>', 'calls that began on this day or earlier')
    .option('--filter <name=value>', filterHelp, addFilter, [])
    .option('--limit <n>', 'the greatest number of calls to show', '20')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(search);
}

async function search(words: string[], options: SearchOptions): Promise<void> {
  const { api } = runningProcess(options.url);
  const query = new URLSearchParams({
    q: words.map((word) => (options.byMeaning === true ? word : quoted(word))).join(' '),
    limit: options.limit ?? '20',
  });
  if (options.byMeaning === true) query.set('by', 'meaning');
  if (options.sort !== undefined) query.set('sort', options.sort);
  if (options.from !== undefined) query.set('from_date', options.from);
  if (options.to !== undefined) query.set('to_date', options.to);
  setFilters(query, options.filter);
  const page = await answerOf<SearchPage>(api, `/api/search?${query.toString()}`);
  if (options.json) {
    printJson(page, 2);
    return;
  }
  for (const { call, hits } of page.items) {
    const parties = [call.from, call.to].filter((party) => party !== null).join(' to ');
    printLine(`${call.id}  ${call.started_at}  ${call.carrier}  ${parties}`);
    for (const { start, role, kind, text } of hits)
      printLine(`    ${start === null ? kind : `${start.toFixed(1)} s ${role ?? ''}`}: ${text}`);
  }
  if (page.items.length === 0)
    printLine(options.byMeaning === true ? 'Nothing like this was said in a call.' : 'No call has these words.'); // prettier-ignore
  if (page.older_calls_missing)
    printLine('Older calls are still being added to the search and are not found yet.');
  if (page.next_cursor !== null)
    printLine('There are more calls: narrow the search, or raise --limit.');
}

/** The shell has removed the quotation marks of a phrase. */
function quoted(word: string): string {
  return /\s/.test(word) && !/["():]/.test(word) ? `"${word}"` : word;
}

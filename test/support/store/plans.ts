import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';

/** A server that logs the plan of every executed statement with the rows that each step really read. */
export const explaining = [
  'logging_collector=on',
  'log_destination=jsonlog',
  'log_directory=plans',
  'log_filename=plans.log',
  'log_rotation_size=0',
  'log_file_mode=0644',
  'session_preload_libraries=auto_explain',
  'auto_explain.log_min_duration=0',
  'auto_explain.log_analyze=on',
  'auto_explain.log_buffers=on',
  'auto_explain.log_timing=off',
  'auto_explain.log_format=json',
];

type PlanNode = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
};

type ExplainedStatement = { 'Query Text': string; Plan: PlanNode };

export type Bounds = {
  /** The numbers of rows in large tables. No statement may read these from end to end. */
  largeTables: ReadonlyMap<string, number>;
  /** The most rows that one step of a plan may read or sort. */
  rowsRead: number;
  /** The most 8 KiB pages that one statement may touch. */
  pages: number;
};

/** A statement, in its run that touched most pages. */
export type Statement = {
  query: string;
  ms: number;
  pages: number;
  times: number;
  faults: string[];
};

/** Reads the entries that the server has logged since the last call. */
export class PlanLog {
  readonly #path: string;
  #from: number;

  private constructor(path: string, from: number) {
    this.#path = path;
    this.#from = from;
  }

  static async since(dataFolder: string): Promise<PlanLog> {
    const path = join(dataFolder, 'plans', 'plans.json');
    return new PlanLog(path, (await stat(path)).size);
  }

  /** Each statement once, those that touched most pages first. */
  async next(bounds: Bounds): Promise<Statement[]> {
    const statements = new Map<string, Statement>();
    const note = (found: Statement): void => {
      const known = statements.get(found.query);
      const most = known === undefined || found.pages > known.pages ? found : known;
      statements.set(found.query, {
        ...most,
        times: found.times + (known?.times ?? 0),
        faults: [...new Set([...(known?.faults ?? []), ...found.faults])],
      });
    };
    const { size } = await stat(this.#path);
    if (size <= this.#from) return [];
    const stream = createReadStream(this.#path, { start: this.#from, end: size - 1 });
    for await (const line of createInterface({ input: stream })) {
      // The last entry may be incomplete and is then read the next time.
      const end = this.#from + Buffer.byteLength(line) + 1;
      if (end > size) break;
      this.#from = end;
      const entry = JSON.parse(line) as { message?: string; statement?: string };
      const message = entry.message ?? '';
      if (message.includes('statement timeout'))
        note({
          query: plain(entry.statement ?? message),
          ms: NaN,
          pages: 0,
          times: 1,
          faults: ['was broken off: it took too long'],
        });
      const [, ms, json = ''] = /^duration: ([\d.]+) ms {2}plan:\n(.*)$/s.exec(message) ?? [];
      if (ms === undefined) continue;
      const { 'Query Text': text, Plan: plan } = JSON.parse(json) as ExplainedStatement;
      const pages = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
      const faults = faultsOf(plan, bounds);
      if (pages > bounds.pages) faults.push(`touched ${pages} pages`);
      note({ query: plain(text), ms: Number(ms), pages, times: 1, faults });
    }
    return [...statements.values()].toSorted((a, b) => b.pages - a.pages);
  }
}

/** The tables with at least this many rows, by the last `analyze`. */
export async function largeTables(databaseUrl: string, rows: number): Promise<Map<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const found = await client.query<{ name: string; rows: number }>(
      `select relname as name, reltuples::float8 as rows from pg_class
         where relkind = 'r' and relnamespace = 'public'::regnamespace and reltuples >= $1`,
      [rows],
    );
    return new Map(found.rows.map((row) => [row.name, row.rows]));
  } finally {
    await client.end();
  }
}

function faultsOf(node: PlanNode, bounds: Bounds): string[] {
  const kind = node['Node Type'];
  const table = node['Relation Name'] ?? '';
  const loops = node['Actual Loops'] ?? 0;
  const read =
    ((node['Actual Rows'] ?? 0) +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
    loops;
  const faults = (node.Plans ?? []).flatMap((inner) => faultsOf(inner, bounds));
  if (loops === 0) return faults; // never executed
  const index = node['Index Name'] === undefined ? '' : ` by ${node['Index Name']}`;
  if (kind === 'Seq Scan' && bounds.largeTables.has(table))
    faults.push(`scanned the whole of ${table}: ${read} rows`);
  else if (/Scan$/.test(kind) && table !== '' && read > bounds.rowsRead)
    faults.push(`${kind} read ${read} rows of ${table}${index}`);
  else if (/Sort$/.test(kind) && read > bounds.rowsRead) faults.push(`sorted ${read} rows`);
  return faults;
}

/** Shortens lists of parameters, which are as long as the requested data. */
function plain(query: string): string {
  return query
    .replace(/\s+/g, ' ')
    .replace(/\$\d+(?:::\w+)?(?:, \$\d+(?:::\w+)?)+/g, '$...')
    .replace(/\(\$\.\.\.\)(?:, \(\$\.\.\.\))+/g, '($...)')
    .trim();
}

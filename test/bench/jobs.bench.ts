import { sql } from 'kysely';
import { JobRecords, metadataPairs } from '../../src/speech-service/records/job-records.ts';
import type { Store } from '../../src/store/store.ts';
import { parseListQuery } from '../../src/protocol/list-query.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryStore } from '../support/store/store.ts';

/*
 * Lists of sessions filtered by metadata, on both stores. JOBS rows (1,000,000 by default), each with a tenant
 * of ten, a number of its own and a result of RESULT bytes (2,000); every figure is the median of 20 calls.
 */
const jobs = Number(process.env['JOBS'] ?? 1_000_000);
const resultBytes = Number(process.env['RESULT'] ?? 2_000);
const atATime = 500;

async function fill(store: Store): Promise<void> {
  const result = JSON.stringify({ text: 'x'.repeat(resultBytes) });
  const status = 'done' as const;
  const kind = 'live' as const;
  for (let from = 0; from < jobs; from += atATime)
    await store.transaction(async (tx) => {
      const rows = Array.from({ length: Math.min(atATime, jobs - from) }, (_, index) => {
        const number = from + index;
        const metadata = { tenant: `tenant-${number % 10}`, number };
        const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
        return { id, created_at: 1_700_000_000_000 + number, metadata };
      });
      await tx
        .insertInto('speech_jobs')
        .values(
          rows.map(({ id, created_at, metadata }) => ({
            id,
            kind,
            node: 'bench',
            token_digest: id,
            status,
            created_at,
            completed_at: created_at,
            error_code: null,
            custom_metadata: JSON.stringify(metadata),
            post_session_metadata: '{}',
            request_params: '{}',
            audio_duration: 1,
            channels: 1,
            result,
            zero_retention: 0,
            callbacks_due: 0,
          })),
        )
        .execute();
      const pairs = rows.flatMap(({ id, created_at, metadata }) =>
        [...metadataPairs(metadata)].map((pair) => ({ job_id: id, pair, kind, created_at })),
      );
      await tx.insertInto('speech_job_metadata').values(pairs).execute();
    });
  await sql`analyze`.execute(store.db);
}

async function median(rows: JobRecords, query: string): Promise<string> {
  const parsed = parseListQuery(new URLSearchParams(query));
  if (!parsed.ok) throw new Error(parsed.validationErrors.join());
  const times: number[] = [];
  for (let run = 0; run < 20; run++) {
    const startedMs = performance.now();
    await rows.list(parsed.query, ['live']);
    times.push(performance.now() - startedMs);
  }
  const middle = times.sort((a, b) => a - b)[10] ?? 0;
  return `${middle.toFixed(1)} ms`;
}

const filter = (metadata: unknown): string =>
  `custom_metadata=${encodeURIComponent(JSON.stringify(metadata))}`;

async function measure(name: string, store: Store): Promise<void> {
  const startedMs = performance.now();
  await fill(store);
  const filledS = ((performance.now() - startedMs) / 1e3).toFixed(0);
  const rows = new JobRecords(store);
  const middle = Math.floor(jobs / 2);
  const cases = {
    'one job of its own': filter({ number: middle }),
    'a tenth of all jobs': filter({ tenant: 'tenant-3' }),
    'a tenth, page 51': `${filter({ tenant: 'tenant-3' })}&offset=1000`,
    'two pairs': filter({ tenant: `tenant-${middle % 10}`, number: middle }),
    'two pairs, no job': filter({ tenant: 'tenant-1', number: 2 }),
    'no filter': '',
  };
  console.log(`${name}, ${jobs} jobs (filled in ${filledS} s)`);
  for (const [about, query] of Object.entries(cases))
    console.log(`  ${about.padEnd(22)} ${await median(rows, query)}`);
  console.log(`  RSS ${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB`);
}

export async function run(): Promise<void> {
  {
    await using store = await temporaryStore();
    await measure('SQLite', store);
  }
  if (postgresMissing !== undefined) {
    console.log(postgresMissing);
    return;
  }
  await using postgres = await startPostgres();
  await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
  await measure('Postgres', store);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { enqueueEvent } from '../../src/outbox/enqueue.ts';
import { openStore } from '../../src/store/store.ts';
import { newId } from '../../src/lib/ids.ts';
import { startCrm } from '../support/crm/crm.ts';
import { startApp } from '../support/process/app.ts';
import { liveOn } from '../support/store/node-life.ts';
import { namesInTheMiddle, storeRows } from '../support/store/many-rows.ts';
import { explaining, largeTables, PlanLog } from '../support/store/plans.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryFolder } from '../support/store/store.ts';

const events = Number(process.env['BENCH_EVENTS'] ?? 10_000_000);
const days = 30;
/** Days whose events, and whose calls, are past their time in the second part: a fifth, and a hundredth. */
const keptDays = { events: 24, calls: 29.7 };
const backlogS = Number(process.env['BENCH_SECONDS'] ?? 120);

/**
 * Postgres with 10 million events (`BENCH_EVENTS`; 25 GB of disk, some minutes of loading) and all other tables in
 * proportion. First the life of a node: the server explains every statement that it carries out, and the bench fails when
 * one reads a table of 50,000 rows or more from end to end, reads or sorts more than 20,000 rows in one step, or touches
 * more than 50,000 pages. Then a backlog: two million events past their time and a hundredth of the calls, for
 * `BENCH_SECONDS`, while another process stores 100 events a second: how many rows leave in a minute, and what a commit
 * of the others takes meanwhile.
 */
export async function run(): Promise<void> {
  if (postgresMissing !== undefined) throw new Error(postgresMissing);
  await using postgres = await startPostgres([
    ...explaining,
    'shared_buffers=512MB',
    'max_wal_size=4GB',
    'wal_level=minimal',
    'max_wal_senders=0',
  ]);
  const databaseUrl = await postgres.newDatabase();
  const beganAt = performance.now();
  await storeRows(databaseUrl, { events, untilMs: Date.now(), days, node: 'node-1' });
  console.log(`${events} events and the rest stored in ${secondsSince(beganAt)} s`);
  await explained(databaseUrl, postgres.dataFolder ?? '');
  await backlog(databaseUrl);
}

async function explained(databaseUrl: string, dataFolder: string): Promise<void> {
  const tables = await largeTables(databaseUrl, Math.min(50_000, events / 4));
  console.log([...tables].map(([name, rows]) => `${name} ${rows}`).join(', '));
  const names = await namesInTheMiddle(databaseUrl);
  const log = await PlanLog.since(dataFolder);
  const { calls, refused } = await liveOn(databaseUrl, names, true);
  await sleep(2_000); // the server writes its log a little later than it answers
  const statements = await log.next({ largeTables: tables, rowsRead: 20_000, pages: 50_000 });
  const times = statements.reduce((sum, one) => sum + one.times, 0);
  console.log(`${calls} calls, every page and a sweep: ${times} statements of ${statements.length} kinds`); // prettier-ignore
  console.log('those that touched most pages:');
  for (const { query, pages, ms, times: count } of statements.slice(0, 12))
    console.log(`  ${pages} pages, ${ms.toFixed(1)} ms, ${count} times: ${query.slice(0, 140)}`);
  const faulty = statements.filter(({ faults }) => faults.length > 0);
  for (const { query, faults } of faulty) console.log(`FAULT ${faults.join('; ')}\n  ${query}`);
  for (const one of refused) console.log(`FAULT not answered: ${one}`);
  console.log(`${faulty.length + refused.length} faults`);
  if (faulty.length + refused.length > 0) process.exitCode = 1;
}

async function backlog(databaseUrl: string): Promise<void> {
  await using crm = await startCrm([secret]);
  await using folder = await temporaryFolder();
  await using store = await openStore({ dataDir: folder.path, databaseUrl });
  const quiet = await commits(store, 10);
  console.log(`before: ${told(quiet)}`);
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: 'http://127.0.0.1:9',
      TRUNKLINE_RETENTION_DAYS_CALLS: String(keptDays.calls),
      TRUNKLINE_RETENTION_DAYS_RECORDINGS: String(keptDays.calls),
      TRUNKLINE_EVENTS_RETAIN_MS: String(keptDays.events * 86_400_000),
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: secret,
      DATABASE_URL: databaseUrl,
    },
  });
  const names = ['outbox_purged_events_total', 'retention_removed_total{what="calls"}', 'outbox_purge_lag_seconds', 'retention_lag_seconds{what="calls"}']; // prettier-ignore
  let before = names.map(() => 0);
  for (let second = 0; second < backlogS; second += 10) {
    const during = await commits(store, 10);
    const text = await (await app.get('/metrics')).text();
    const now = names.map((name) => Number(new RegExp(`^trunkline_${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(text)?.[1] ?? 0)); // prettier-ignore
    const [purged = 0, removed = 0] = now.map((value, at) => (value - (before[at] ?? 0)) * 6);
    before = now;
    console.log(`${second + 10} s: ${Math.round(purged)} events a minute, ${Math.round(removed)} calls a minute, events past their time by ${((now[2] ?? 0) / 86_400).toFixed(2)} days; ${told(during)}`); // prettier-ignore
  }
}

const secret = `whsec_${Buffer.from('a secret of the database bench').toString('base64')}`;
type OpenedStore = Awaited<ReturnType<typeof openStore>>;

/** The time that ten callers at once wait for a commit of one event, each ten times a second. */
async function commits(store: OpenedStore, seconds: number): Promise<number[]> {
  const took: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const caller = async (): Promise<void> => {
    const callId = newId('call');
    while (performance.now() < endMs) {
      const startedAt = performance.now();
      await store.transaction(
        (tx) =>
        enqueueEvent(tx, { callId, type: 'call.warning', occurredAt: Date.now(), call: { id: callId }, customMetadata: {}, data: { code: 'BENCH', message: 'a warning of the bench' } } as unknown as Parameters<typeof enqueueEvent>[1]), // prettier-ignore
      );
      took.push(performance.now() - startedAt);
      await sleep(Math.max(0, 100 - (performance.now() - startedAt)));
    }
  };
  await Promise.all(Array.from({ length: 10 }, caller));
  return took.toSorted((a, b) => a - b);
}

function told(took: readonly number[]): string {
  const at = (share: number): string => (took[Math.floor(took.length * share)] ?? 0).toFixed(1);
  return `${took.length} commits, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${(took.at(-1) ?? 0).toFixed(1)} ms`; // prettier-ignore
}

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1_000).toFixed(0);
}

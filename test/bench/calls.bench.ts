import { sql } from 'kysely';
import type { CallPage } from '../../src/protocol/api.ts';
import { openStore } from '../../src/store/store.ts';
import { startBrowser } from '../support/browser/browser.ts';
import { startApp, type App } from '../support/process/app.ts';
import { storeCalls } from '../support/store/many-calls.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryFolder } from '../support/store/store.ts';

const calls = Number(process.env['LISTED_CALLS'] ?? 100_000);
const callsAtOnce = 50_000;

/**
 * Lists of many calls over HTTP: the first page of fifty, by each filter and each sort, median and longest of eleven
 * in a warm process, on SQLite and on Postgres. Beside it stand the filters that match every call and those that match
 * none, for which a list without the right index reads everything. At the end the page over the same calls: Chromium's
 * own first contentful paint, and when the first row stood there, median and longest of five windows.
 *
 *   LISTED_CALLS=100000         so many calls in a year
 *   LISTED_STORES=SQLite,Postgres
 *   LISTED_FOLDER=/tmp/x        keeps the SQLite store there; filling it goes on where an earlier run ended
 *   LISTED_DATABASE_URL=...     the same for Postgres
 */
export async function run(): Promise<void> {
  const stores = (process.env['LISTED_STORES'] ?? 'SQLite,Postgres').split(',');
  if (stores.includes('SQLite')) await measure('SQLite');
  if (!stores.includes('Postgres')) return;
  const kept = process.env['LISTED_DATABASE_URL'];
  if (kept !== undefined) {
    await measure('Postgres', kept);
    return;
  }
  if (postgresMissing !== undefined) {
    console.log(postgresMissing);
    return;
  }
  await using postgres = await startPostgres();
  await measure('Postgres', await postgres.newDatabase());
}

async function measure(name: string, databaseUrl?: string): Promise<void> {
  await using parts = new AsyncDisposableStack();
  const kept = databaseUrl === undefined ? process.env['LISTED_FOLDER'] : undefined;
  const dataDir = kept ?? parts.use(await temporaryFolder()).path;
  const beganAt = performance.now();
  const number = await storedIn(dataDir, databaseUrl);
  console.log(`${name}: stored in ${((performance.now() - beganAt) / 1_000).toFixed(1)} s`);
  await using app = await startApp({
    dataDir,
    env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
  });
  const first = '/api/calls?';
  const { next_cursor: middle } = await pageOf(app, '/api/calls?limit=1&to_date=2025-06-01');
  for (const query of [
    '',
    `cursor=${middle}`,
    'sort=oldest',
    'sort=longest',
    'sort=shortest',
    'from_date=2025-03-01&to_date=2025-03-31',
    `number=${encodeURIComponent(number)}`,
    'number=123',
    'number=0044%2020%207946%200018',
    'number=0044%2020%207946%200018&sort=longest',
    'number=%2B49%2030%20123456',
    'tag=refund',
    'tag=nothing',
    'search=CA41234',
    'search=refund',
    'search=%2B44%20(0)20%207946%200018',
    'state=ended',
    'state=live',
    'incomplete=true',
    'incomplete=false',
    'direction=outbound',
    'role=agent',
    'role=customer',
    'carrier=telnyx',
    'carrier=nobody',
    'carrier_call_id=CA99',
    'carrier=telnyx&direction=outbound&role=agent&incomplete=true&from_date=2025-02-01',
    'tag=refund&sort=longest',
    'carrier=nobody&sort=longest',
  ])
    console.log(`  ${await timeOf(app, first + query)}  ${query || '(first page)'}`);
  for (const hash of ['#/calls', '#/calls?sort=longest', '#/calls?search=refund'])
    console.log(`  ${await pageTimes(app, hash)}  page ${hash}`);
}

const windows = 5;

async function pageTimes(app: App, hash: string): Promise<string> {
  await using browser = await startBrowser();
  const shown: number[] = [];
  const painted: number[] = [];
  for (let at = 0; at < windows; at++) {
    const { page } = await browser.open('about:blank');
    // Noted in the page itself: a look from outside comes late on a busy machine.
    await page.addInitScript(`new MutationObserver(() => {
      if (globalThis.rowMs === undefined && document.querySelector('.calls li'))
        requestAnimationFrame(() => (globalThis.rowMs ??= performance.now()));
    }).observe(document, { childList: true, subtree: true })`);
    await page.goto(`${app.url}/${hash}`);
    // The page's own policy forbids what a wait of the library would evaluate again and again.
    const [rowMs, paintMs] = await page.evaluate<[number, number]>(
      `new Promise((there) => {
        const look = () => globalThis.rowMs === undefined ? setTimeout(look, 20) : there(rowMs);
        look();
      }).then((rowMs) => [rowMs, performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN])`,
    );
    shown.push(rowMs);
    painted.push(paintMs);
    await page.context().close();
  }
  const sorted = (times: number[]): number[] => times.toSorted((a, b) => a - b);
  const ms = (times: number[], at: number): string => (sorted(times)[at] ?? 0).toFixed(0);
  return `first row ${ms(shown, 2)} ms, longest ${ms(shown, 4)} ms; first paint ${ms(painted, 2)} ms`;
}

/** Goes on where an earlier run ended. Returns the number of one caller. */
async function storedIn(dataDir: string, databaseUrl?: string): Promise<string> {
  await using store = await openStore({ dataDir, ...(databaseUrl ? { databaseUrl } : {}) });
  const { rows } = await sql<{ n: number }>`select count(*) as n from calls`.execute(store.db);
  const everyMs = Math.floor((100_000 * 300_000) / calls);
  for (let first = Number(rows[0]?.n); first < calls; first += callsAtOnce) {
    const from = Date.UTC(2025, 0, 1) + first * everyMs;
    await storeCalls(store, Math.min(callsAtOnce, calls - first), { first, from, everyMs });
  }
  if (store.kind === 'postgres') await sql`analyze`.execute(store.db);
  const some = await store.db.selectFrom('calls').select('from_number').where('carrier_call_id', '=', 'CA41234').executeTakeFirst(); // prettier-ignore
  return some?.from_number ?? '';
}

async function pageOf(app: App, path: string): Promise<CallPage> {
  return (await (await app.get(path)).json()) as CallPage;
}

async function timeOf(app: App, path: string): Promise<string> {
  const times: number[] = [];
  let items = 0;
  for (let round = 0; round < 12; round++) {
    const startedAt = performance.now();
    items = (await pageOf(app, path)).items.length;
    // The first one opens the connection.
    if (round > 0) times.push(performance.now() - startedAt);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const ms = (at: number): string => (sorted[at] ?? 0).toFixed(1).padStart(7);
  return `${ms(5)} ms, longest ${ms(10)} ms, ${String(items).padStart(2)} calls`;
}

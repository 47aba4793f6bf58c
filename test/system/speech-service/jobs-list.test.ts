import { describe, expect, test } from 'vitest';
import { SessionRows } from '../../../src/speech-service/live/session-rows.ts';
import { JobRecords } from '../../../src/speech-service/records/job-records.ts';
import type { Store } from '../../../src/store/store.ts';
import { parseListQuery } from '../../../src/protocol/list-query.ts';
import { StreamingRequest } from '../../../src/protocol/live-request.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

const createdAt = Date.parse('2026-01-01T00:00:00Z');
const result = JSON.stringify({ text: 'x'.repeat(60_000) });

async function insert(rows: SessionRows, index: number, metadata: Record<string, unknown>) {
  const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const request = StreamingRequest.parse({ custom_metadata: metadata });
  await rows.insert({
    id,
    node: 'n',
    tokenDigest: id,
    createdAt: createdAt + index,
    request,
    zeroRetention: false,
    estimatedTimes: false,
  });
  await rows.end(id, { outcome: 'done', result, audioS: 1 }, createdAt + index, false);
}

async function listed(rows: JobRecords, query: string): Promise<number[]> {
  const parsed = parseListQuery(new URLSearchParams(query));
  if (!parsed.ok) throw new Error(parsed.validationErrors.join());
  const page = await rows.list(parsed.query, ['live']);
  return page.rows.map((row) => Number(row.id.slice(-12)));
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 5; run++) {
    const startedMs = performance.now();
    await work();
    times.push(performance.now() - startedMs);
  }
  return Math.min(...times);
}

const filter = (metadata: unknown): string =>
  `custom_metadata=${encodeURIComponent(JSON.stringify(metadata))}`;

async function filtersByMetadata(store: Store): Promise<void> {
  const rows = new SessionRows(store);
  const records = new JobRecords(store);
  for (let index = 0; index < 1_200; index++)
    await insert(rows, index, {
      tenant: index % 2 === 0 ? 'even' : 'odd',
      order: { number: index },
      ...(index === 3 ? { rare: true } : {}),
    });
  expect(await listed(records, filter({ order: { number: 7 } }))).toEqual([7]);
  expect(await listed(records, 'custom_metadata[order][number]=7')).toEqual([7]);
  expect(await listed(records, filter({ rare: 'true', tenant: 'odd' }))).toEqual([3]);
  expect(await listed(records, filter({ rare: true, tenant: 'even' }))).toEqual([]);
  expect(await listed(records, filter({ order: 7 }))).toEqual([]);
  expect(await listed(records, `${filter({ tenant: 'odd' })}&limit=2&offset=1`)).toEqual([
    1197, 1195,
  ]);
  expect(await listed(records, `${filter({ tenant: 'odd' })}&status=error`)).toEqual([]);
  // Reading the results of all rows would take hundreds of milliseconds, and 72 MB.
  const tookMs = await millisecondsOf(() => listed(records, filter({ rare: true })));
  expect(tookMs).toBeLessThan(50);
  await rows.delete('00000000-0000-4000-8000-000000000003');
  expect(await listed(records, filter({ rare: true }))).toEqual([]);
}

describe('a list of sessions is filtered by metadata without reading their results', () => {
  test('on SQLite', async () => {
    await using store = await temporaryStore();
    await filtersByMetadata(store);
  });

  test.skipIf(postgresMissing !== undefined)('on Postgres', async () => {
    await using postgres = await startPostgres();
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    await filtersByMetadata(store);
  });
});

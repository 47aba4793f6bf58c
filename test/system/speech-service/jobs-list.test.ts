import { describe, expect, test } from 'vitest';
import { SessionRows } from '../../../src/speech-service/live/session-rows.ts';
import { JobRecords } from '../../../src/speech-service/records/job-records.ts';
import type { LiveJobRecord } from '../../../src/protocol/job.ts';
import type { Store } from '../../../src/store/store.ts';
import { parseListQuery } from '../../../src/protocol/list-query.ts';
import { StreamingRequest } from '../../../src/protocol/live-request.ts';
import { until } from '../../support/process/until.ts';
import { startTestService } from '../../support/speech/speech-service.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

const createdAt = Date.parse('2026-01-01T00:00:00Z');
const longResult = JSON.stringify({ text: 'x'.repeat(60_000) });

type JobPage = { items: LiveJobRecord[] };

const idOf = (index: number): string =>
  `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

async function insert(
  rows: SessionRows,
  index: number,
  metadata: Record<string, unknown>,
  result = longResult,
) {
  const id = idOf(index);
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
  return page.ids.map((id) => Number(id.slice(-12)));
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
  // However busy the machine is, a moment comes in which nothing else runs.
  await until(async () => {
    const startedMs = performance.now();
    await listed(records, filter({ rare: true }));
    return performance.now() - startedMs < 50;
  });
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

/** A result of an hour or more of speech, as it is stored. */
function resultOfUtterances(count: number): string {
  const utterances = Array.from({ length: count }, (_, index) => ({
    start: index,
    end: index + 0.9,
    confidence: 0.93,
    channel: 0,
    words: [{ word: `“word ${index}”`, start: index, end: index + 0.9, confidence: 0.93 }],
    text: `“word ${index}”`,
    language: 'en',
  }));
  return JSON.stringify({ transcription: { utterances }, messages: [] });
}

/** The most processor time that one turn of this thread takes while the work is done, in milliseconds. */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let goesOn = true;
  let last = process.threadCpuUsage();
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1e3);
    last = process.threadCpuUsage();
    if (goesOn) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  goesOn = false;
  return longest;
}

test('a page of a hundred long results is written record by record, and holds nobody up', async () => {
  await using service = await startTestService();
  const rows = new SessionRows(service.store);
  const result = resultOfUtterances(2_500);
  for (let index = 0; index < 100; index++) await insert(rows, index, { index }, result);
  await service.http('/v2/live?limit=1'); // the first request of a process makes what all need
  let bytes = 0;
  const tookMs = await longestTurnMs(async () => {
    const response = await service.http('/v2/live?limit=100');
    for await (const piece of response.body as AsyncIterable<Uint8Array>) bytes += piece.length;
  });
  expect(bytes).toBeGreaterThan(100 * Buffer.byteLength(result));
  expect(tookMs).toBeLessThan(50);
  const page = (await (await service.http('/v2/live?limit=3&offset=1')).json()) as JobPage;
  const alone = [98, 97, 96].map(async (index) => service.job(idOf(index)));
  expect(page.items).toEqual(await Promise.all(alone));
  expect(page.items[0]?.result).toEqual(JSON.parse(result));
  const empty = (await (await service.http('/v2/live?status=error')).json()) as JobPage;
  expect(empty.items).toEqual([]);
});

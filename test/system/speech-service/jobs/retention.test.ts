import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { openStore, type Store } from '../../../../src/store/store.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { until } from '../../../support/process/until.ts';
import { tones } from '../../../support/recognition/fixture-model.ts';
import { jobWeb } from '../../../support/speech/job-web.ts';
import { jobsApi, wavFile, wavOf } from '../../../support/speech/jobs.ts';
import { speechProcess } from '../../../support/speech/speech-process.ts';
import {
  fixtureRecogniser,
  speechApi,
  startTestService,
} from '../../../support/speech/speech-service.ts';
import { postgresMissing, startPostgres } from '../../../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../../../support/store/store.ts';
import { bytesOf, filesBelow } from '../../../support/process/files-below.ts';

type TestStore = Store & { dataDir: string };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let recogniser: Recogniser;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
});

/** A calendar that is turned on by hand, and the sweep of each day that it comes to. */
class Calendar {
  readonly clock = new TestClock(1);
  readonly #store: Store;
  #passedMs = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async comesTo(day: number): Promise<void> {
    // A clock that was set ahead is believed an hour after it was noticed.
    for (const look of ['noticed', 'believed']) await this.#isSwept(day, `${look}-on-${day}`);
  }

  /** Resolves when the sweep has been at work on that day: it ends with the usage of a job of long ago. */
  async #isSwept(day: number, id: string): Promise<void> {
    await this.#store.db
      .insertInto('speech_usage')
      .values({
        id,
        kind: 'pre-recorded',
        created_at: 0,
        completed_at: 0,
        status: 'done',
        audio_duration: 1,
      })
      .execute();
    await until(async () => {
      this.#passedMs += hourMs;
      // The hour that wakes the sweep is no hour of the calendar.
      this.clock.setWallAhead(day * dayMs - this.#passedMs);
      await this.clock.pass(hourMs);
      return !(await usageOf(this.#store)).has(id);
    });
  }
}

async function usageOf({ db }: Store): Promise<Map<string, string>> {
  const rows = await db.selectFrom('speech_usage').selectAll().execute();
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** The remains of jobs: ids in the tables, and names on the disk. */
async function leftOf(store: TestStore): Promise<Record<string, string[]>> {
  const { db } = store;
  const ids = (rows: { id: string }[]): string[] => [...new Set(rows.map(({ id }) => id))].sort();
  const speech = join(store.dataDir, 'speech');
  return {
    jobs: ids(await db.selectFrom('speech_jobs').select('id').execute()),
    metadata: ids(await db.selectFrom('speech_job_metadata').select('job_id as id').execute()),
    callbacks: ids(await db.selectFrom('speech_job_callbacks').select('job_id as id').execute()),
    files: ids(await db.selectFrom('speech_files').select('id').execute()),
    bytes: await readdir(join(speech, 'files')),
    work: await readdir(join(speech, 'jobs')),
  };
}

const nothing = { jobs: [], metadata: [], callbacks: [], files: [], bytes: [], work: [] };

/** True while some file of the data folder holds one of these texts. */
async function isOnDisk({ dataDir }: TestStore, texts: string[]): Promise<boolean> {
  for (const path of await filesBelow(dataDir)) {
    const content = await bytesOf(path);
    if (texts.some((text) => content.includes(text))) return true;
  }
  return false;
}

async function goesAfterItsDays(store: TestStore): Promise<void> {
  const calendar = new Calendar(store);
  await using web = await jobWeb(
    { '/call.wav': wavOf('thanks goodbye'), '/gone.wav': 410 },
    () => 503,
  );
  await using service = await startTestService({
    recogniser,
    store,
    clock: calendar.clock,
    config: {
      retentionDays: 30,
      callbackHosts: [web.host],
      webhooks: [{ url: `${web.url}/account` }],
      jobs: { audioHosts: [web.host], usageDays: 60 },
    },
  });
  const jobs = jobsApi(service);
  const callback_url = `${web.url}/told`;
  const begin = async (body: Record<string, unknown>): Promise<string> => {
    const id = await jobs.begin(body);
    await jobs.ended(id);
    return id;
  };
  const { audio_url } = await jobs.upload(wavOf('my card is lost'));
  const custom_metadata = { ticket: 'canary-of-the-ticket' };
  const shared = await jobs.upload(wavOf('one two three'));
  const old = [
    await begin({ audio_url, custom_metadata, callback_url }),
    await begin({ audio_url: `${web.url}/call.wav`, callback_url }),
    await begin({ audio_url: `${web.url}/gone.wav`, callback_url }),
    await begin({ audio_url: shared.audio_url }),
  ];

  await calendar.comesTo(29);
  const young = await begin({ audio_url: shared.audio_url, custom_metadata: { of: 'day 29' } });
  for (const id of old) await jobs.record(id);
  expect((await leftOf(store))['bytes']).toHaveLength(3);

  await calendar.comesTo(31);
  const sharedId = shared.audio_metadata.id;
  expect(await leftOf(store)).toEqual({
    jobs: [young],
    metadata: [young],
    callbacks: [young],
    files: [sharedId],
    bytes: [sharedId],
    work: [],
  });
  for (const id of old)
    for (const path of [`/v2/pre-recorded/${id}`, `/v2/transcription/${id}/file`])
      expect((await service.http(path)).status).toBe(404);
  expect((await service.http(new URL(audio_url).pathname)).status).toBe(404);
  expect((await service.http(new URL(shared.audio_url).pathname)).status).toBe(200);
  await until(async () => !(await isOnDisk(store, ['my card is lost', 'canary-of-the-ticket'])));
  const usage = await usageOf(store);
  expect([...usage.keys()].sort()).toEqual([...old, young].sort());
  expect(old.map((id) => usage.get(id))).toEqual(['done', 'done', 'error', 'done']);

  await calendar.comesTo(61);
  expect(await leftOf(store)).toEqual(nothing);
  expect([...(await usageOf(store)).keys()]).toEqual([young]);
  await calendar.comesTo(90);
  expect([...(await usageOf(store)).keys()]).toEqual([]);
}

async function goesWithZeroRetention(store: TestStore): Promise<void> {
  const calendar = new Calendar(store);
  await using web = await jobWeb({ '/call.wav': wavOf('my card is lost') });
  await using service = await startTestService({
    recogniser,
    store,
    clock: calendar.clock,
    config: {
      zeroRetention: true,
      retentionDays: 30,
      callbackHosts: [web.host],
      jobs: { audioHosts: [web.host], usageDays: 60 },
    },
  });
  const jobs = jobsApi(service);
  const told = await jobs.begin({ audio_url: `${web.url}/call.wav`, callback_url: web.url });
  const failed = await jobs.begin({ audio_url: `${web.url}/none.wav` });
  const ended = new Map([
    [told, 'done'],
    [failed, 'error'],
  ]);
  await until(async () => (await usageOf(store)).size === 2 && web.told.length === 1);
  expect(await usageOf(store)).toEqual(ended);
  await calendar.comesTo(29);
  expect(await leftOf(store)).toEqual({ ...nothing, jobs: [told, failed].sort() });
  await calendar.comesTo(31);
  expect(await leftOf(store)).toEqual(nothing);
  expect(await usageOf(store)).toEqual(ended);
  await calendar.comesTo(61);
  expect(await usageOf(store)).toEqual(new Map());
}

describe('a job past the days of retention goes with all that belongs to it, its usage after its own', () => {
  test('on SQLite', async () => {
    await using store = await temporaryStore();
    await goesAfterItsDays(store);
  });

  test.skipIf(postgresMissing !== undefined)('on Postgres', async () => {
    await using postgres = await startPostgres();
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    await goesAfterItsDays(store);
  });
});

describe('a job with zero retention leaves a row without content for those days, and its usage', () => {
  test('on SQLite', async () => {
    await using store = await temporaryStore();
    await goesWithZeroRetention(store);
  });

  test.skipIf(postgresMissing !== undefined)('on Postgres', async () => {
    await using postgres = await startPostgres();
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    await goesWithZeroRetention(store);
  });
});

test('a job that cannot be deleted keeps no other one past its days, and is tried again', async () => {
  await using store = await temporaryStore();
  const calendar = new Calendar(store);
  await using service = await startTestService({
    recogniser,
    store,
    clock: calendar.clock,
    config: { retentionDays: 30, jobs: { usageDays: 60 } },
  });
  const jobs = jobsApi(service);
  const begin = async (): Promise<string> => {
    const { audio_url } = await jobs.upload(wavOf('my card is lost'));
    const id = await jobs.begin({ audio_url });
    await jobs.ended(id);
    return id;
  };
  const stuck = await begin();
  await begin();
  await sql`create trigger stuck before delete on speech_jobs when old.id = ${sql.lit(stuck)}
    begin select raise(abort, 'stuck'); end`.execute(store.db);
  await calendar.comesTo(31);
  expect((await leftOf(store))['jobs']).toEqual([stuck]);
  await sql`drop trigger stuck`.execute(store.db);
  await calendar.comesTo(32);
  expect(await leftOf(store)).toEqual(nothing);
});

test('with zero retention the audio of a job whose process was killed goes with the next start', async () => {
  const long = wavFile([tones(Array.from({ length: 600 }, () => 'card' as const))]);
  await using web = await jobWeb({ '/long.wav': long });
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const config = { zeroRetention: true, jobs: { audioHosts: [web.host] } };
  let id: string;
  {
    await using child = await speechProcess(dataDir, { config });
    const jobs = jobsApi(speechApi(child.url));
    id = await jobs.begin({ audio_url: `${web.url}/long.wav` });
    await until(async () => (await jobs.record(id)).file?.number_of_channels);
  }
  const files = join(dataDir, 'speech', 'files');
  expect(await readdir(files)).toHaveLength(1);
  await using opened = await openStore({ dataDir, ballastBytes: 0, lowWaterBytes: 0 });
  const store = Object.assign(Object.create(opened) as Store, { dataDir });
  await using service = await startTestService({ recogniser, store, config });
  await until(async () => (await readdir(files)).length === 0);
  expect((await usageOf(store)).get(id)).toBe('error');
  expect((await service.http(`/v2/pre-recorded/${id}`)).status).toBe(404);
  expect(await leftOf(store)).toEqual({ ...nothing, jobs: [id] });
  expect(existsSync(join(dataDir, 'speech', 'jobs', id))).toBe(false);
});

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startCrm } from '../../support/crm.ts';
import { outboxOn, secret } from '../../support/outbox.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { temporaryStore } from '../../support/store.ts';

// A cluster of its own is started first: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe.skipIf(postgresMissing !== undefined)('several nodes on one Postgres', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
  });

  test('that start at once on an empty database all start', async () => {
    await using crm = await startCrm([secret]);
    for (let round = 0; round < 5; round++) {
      const databaseUrl = await postgres.newDatabase();
      const names = ['crm', 'archive', 'pager'];
      const started = await Promise.all(
        names.map(async (_, node) => {
          const store = await temporaryStore({ databaseUrl });
          const endpoints = [...names.slice(node), ...names.slice(0, node)].map((name) => ({
            name,
            url: crm.url,
            secrets: [secret],
          }));
          return { store, outbox: await outboxOn(store, crm.url, { config: { endpoints } }) };
        }),
      );
      const rows = await started[0]!.store.db
        .selectFrom('endpoints')
        .select('name')
        .where('active', '=', 1)
        .orderBy('name')
        .execute();
      expect(rows.map((row) => row.name)).toEqual(['archive', 'crm', 'pager', 'webhook']);
      for (const { store, outbox } of started) {
        await outbox[Symbol.asyncDispose]();
        await store[Symbol.asyncDispose]();
      }
    }
  });
});

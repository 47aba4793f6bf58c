import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';
import type { Store } from '../../../src/store/store.ts';

type StoreKind = 'sqlite' | 'postgres';
let postgres: TestPostgres | undefined;

beforeAll(async () => {
  if (!postgresMissing) postgres = await startPostgres();
});
afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]();
});

async function open(kind: StoreKind): Promise<Store & { dataDir: string }> {
  if (kind === 'sqlite') return temporaryStore();
  return temporaryStore({ databaseUrl: await postgres!.newDatabase() });
}

const event = (id: string, callId: string, sequence: number) => ({
  id,
  call_id: callId,
  sequence,
  type: 'call.started',
  occurred_at: 1_800_000_000_000,
  speech_ended_at: null,
  body: '{"text":"héllo"}',
});

for (const kind of ['sqlite', 'postgres'] as const)
  describe.skipIf(kind === 'postgres' && postgresMissing !== undefined)(
    `the store on ${kind}`,
    () => {
      test('keeps what a transaction wrote and gives numbers back as numbers', async () => {
        await using store = await open(kind);
        await store.transaction(async (tx) => {
          await tx
            .insertInto('events')
            .values(event('evt_1', 'call_1', 1))
            .execute();
          await tx
            .insertInto('events')
            .values(event('evt_2', 'call_1', 2))
            .execute();
        });
        const rows = await store.db.selectFrom('events').selectAll().orderBy('sequence').execute();
        expect(rows).toEqual([event('evt_1', 'call_1', 1), event('evt_2', 'call_1', 2)]);
        const { total } = await store.db
          .selectFrom('events')
          .select((eb) => eb.fn.countAll().as('total'))
          .executeTakeFirstOrThrow();
        expect(total).toBe(2);
      });

      test('takes back a transaction that throws, and only that one', async () => {
        await using store = await open(kind);
        const kept = Array.from({ length: 20 }, (_, index) =>
          store.transaction((tx) =>
            tx
              .insertInto('events')
              .values(event(`evt_k${index}`, 'kept', index))
              .execute(),
          ),
        );
        const failed = Array.from({ length: 20 }, (_, index) =>
          store.transaction(async (tx) => {
            await tx
              .insertInto('events')
              .values(event(`evt_f${index}`, 'failed', index))
              .execute();
            throw new Error('changed its mind');
          }),
        );
        const results = await Promise.allSettled([...kept, ...failed]);
        expect(results.filter((result) => result.status === 'rejected')).toHaveLength(20);
        const rows = await store.db.selectFrom('events').select('call_id').execute();
        expect(rows).toHaveLength(20);
        expect(new Set(rows.map((row) => row.call_id))).toEqual(new Set(['kept']));
      });

      test('a statement that breaks a rule fails alone among lone writes that share its commit', async () => {
        await using store = await open(kind);
        const writes = ['a', 'b', 'a', 'c'].map((id, index) =>
          store.db
            .insertInto('events')
            .values(event(id, `call_${index}`, 1))
            .execute(),
        );
        const results = await Promise.allSettled(writes);
        expect(results.filter((result) => result.status === 'rejected')).toHaveLength(1);
        expect(await store.db.selectFrom('events').select('id').execute()).toHaveLength(3);
      });

      test('returning, upserts and counts of changed rows work alike', async () => {
        await using store = await open(kind);
        const next = () =>
          store.db
            .insertInto('event_calls')
            .values({ call_id: 'call_1', last_sequence: 1 })
            .onConflict((oc) =>
              oc
                .column('call_id')
                .doUpdateSet({ last_sequence: sql`event_calls.last_sequence + 1` }),
            )
            .returning('last_sequence')
            .executeTakeFirstOrThrow();
        const sequences = await Promise.all(Array.from({ length: 50 }, next));
        expect(sequences.map((row) => row.last_sequence).sort((a, b) => a - b)).toEqual(
          Array.from({ length: 50 }, (_, index) => index + 1),
        );
        const update = await store.db
          .updateTable('event_calls')
          .set({ erased_at: 5 })
          .executeTakeFirst();
        expect(update.numUpdatedRows).toBe(1n);
      });

      test('tells the time of the database', async () => {
        await using store = await open(kind);
        expect(Math.abs((await store.databaseNow()) - Date.now())).toBeLessThan(60_000);
        expect(store.health()).toEqual({ store: { state: 'ok' }, disk: { state: 'ok' } });
        expect(store.acceptsNewCalls()).toEqual({ ok: true });
      });
    },
  );

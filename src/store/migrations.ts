import { sql, type Kysely, type Transaction } from 'kysely';
import { systemClock, wait, type Clock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { Database } from './schema.ts';
import * as calls from './migrations/001-calls.ts';
import * as events from './migrations/002-events.ts';
import * as speech from './migrations/003-speech.ts';
import * as erasedCalls from './migrations/004-erased-calls.ts';
import * as jobMetadata from './migrations/005-job-metadata.ts';
import * as jobs from './migrations/006-jobs.ts';
import * as nodes from './migrations/007-nodes.ts';
import * as secondPasses from './migrations/008-second-passes.ts';
import * as parkedCallbacks from './migrations/009-parked-callbacks.ts';
import * as secrets from './migrations/010-secrets.ts';
import * as incomplete from './migrations/011-incomplete.ts';
import * as speechEnds from './migrations/012-speech-ends.ts';
import * as callList from './migrations/013-call-list.ts';
import * as fleet from './migrations/014-fleet.ts';
import * as speakers from './migrations/015-speakers.ts';
import * as exchanges from './migrations/016-exchanges.ts';
import * as speechNodes from './migrations/017-speech-nodes.ts';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
type Migration = { name: string; up: (db: Kysely<any>) => Promise<void> };

/** In order, forward only. A released migration is never edited: databases out there have run it. The next one mends it. */
export const migrations: Migration[] = [
  { name: '001-calls', ...calls },
  { name: '002-events', ...events },
  { name: '003-speech', ...speech },
  { name: '004-erased-calls', ...erasedCalls },
  { name: '005-job-metadata', ...jobMetadata },
  { name: '006-jobs', ...jobs },
  { name: '007-nodes', ...nodes },
  { name: '008-second-passes', ...secondPasses },
  { name: '009-parked-callbacks', ...parkedCallbacks },
  { name: '010-secrets', ...secrets },
  { name: '011-incomplete', ...incomplete },
  { name: '012-speech-ends', ...speechEnds },
  { name: '013-call-list', ...callList },
  { name: '014-fleet', ...fleet },
  { name: '015-speakers', ...speakers },
  { name: '016-exchanges', ...exchanges },
  { name: '017-speech-nodes', ...speechNodes },
];

/** Any number, the same in every process: by it Postgres lets one process migrate at a time. */
const migrationLock = 7_260_515;

const lockMaxMs = 120_000;

/** Brings the database to this program's schema in one transaction, or leaves it as it was. */
export async function migrate(
  db: Kysely<Database>,
  kind: 'sqlite' | 'postgres',
  clock: Clock = systemClock,
  list: Migration[] = migrations,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (kind === 'postgres') {
      await sql`set local lock_timeout = '60s'`.execute(tx);
      await sql`set local statement_timeout = '120s'`.execute(tx);
      await ourTurn(tx, clock);
    }
    const applied = await appliedVersion(tx);
    if (applied > list.length)
      throw new TrunklineError(
        'STORE_NEWER',
        `The database has schema ${applied}, this program knows ${list.length}: start the newer program, or restore a copy made before it.`,
      );
    for (const [index, migration] of list.entries()) {
      if (index < applied) continue;
      await migration.up(tx);
      await tx
        .insertInto('schema_version')
        .values({ version: index + 1, name: migration.name, applied_at: clock.now() })
        .execute();
    }
  });
}

/**
 * Waits until no other process migrates. The lock is asked for again and again, because one statement that waited for
 * it would need a deadline as long as the longest migration of another node.
 */
async function ourTurn(tx: Transaction<Database>, clock: Clock): Promise<void> {
  const endMs = clock.monotonicMs() + lockMaxMs;
  for (;;) {
    const { rows } = await sql<{
      ours: boolean;
    }>`select pg_try_advisory_xact_lock(${migrationLock}) as ours`.execute(tx);
    if (rows[0]?.ours) return;
    if (clock.monotonicMs() >= endMs)
      throw new TrunklineError(
        'STORE_FAILED',
        'Another process has been migrating the database for two minutes: look at what it waits for.',
      );
    await wait(clock, 100);
  }
}

async function appliedVersion(tx: Transaction<Database>): Promise<number> {
  await tx.schema
    .createTable('schema_version')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute();
  const row = await tx
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst();
  return row?.version ?? 0;
}

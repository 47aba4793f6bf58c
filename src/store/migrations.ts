import { sql, type Kysely, type Transaction } from 'kysely';
import { systemClock, wait, type Clock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { indexWords, type LargeIndex } from './large-index.ts';
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
import * as rolling from './migrations/018-rolling.ts';
import * as objects from './migrations/019-objects.ts';
import * as erasedLegs from './migrations/020-erased-legs.ts';
import * as largeTables from './migrations/021-large-tables.ts';
import * as said from './migrations/022-said.ts';
import * as passPieces from './migrations/023-pass-pieces.ts';
import * as crm from './migrations/024-crm.ts';
import * as closedLinks from './migrations/025-closed-links.ts';
import * as spoken from './migrations/026-spoken.ts';
import * as assistHits from './migrations/027-assist-hits.ts';
import * as connected from './migrations/028-connected.ts';
import * as wrapUps from './migrations/029-wrap-ups.ts';
import * as callAgents from './migrations/030-call-agents.ts';
import * as savedSearches from './migrations/031-saved-searches.ts';
import * as people from './migrations/032-people.ts';
import * as panelTokens from './migrations/033-panel-tokens.ts';
import * as contacts from './migrations/034-contacts.ts';
import * as written from './migrations/035-written.ts';
import * as knowledge from './migrations/036-knowledge.ts';
import * as chosen from './migrations/037-chosen.ts';
import * as scores from './migrations/038-scores.ts';
import * as judgedHits from './migrations/039-judged-hits.ts';
import * as languages from './migrations/040-languages.ts';
import * as saidDirections from './migrations/041-said-directions.ts';
import * as heard from './migrations/042-heard.ts';
import * as panelTeams from './migrations/043-panel-teams.ts';
import * as writtenByKey from './migrations/044-written-by-key.ts';

type Migration = {
  name: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
  up: (db: Kysely<any>) => Promise<void>;
  /**
   * Set only if the migration removes something: the number of migrations that a program must know to run beside it. If
   * absent, the migration only adds, and every program since `018-rolling` keeps working beside it.
   */
  needs?: number;
  /**
   * Indexes of tables that may be large. On Postgres they are created after the commit and block nobody. Until they
   * are complete, programs work without them.
   */
  concurrently?: readonly LargeIndex[];
};

/**
 * The migrations in order. They only lead forward. A released migration is never edited, because databases in use have
 * run it. A mistake is corrected by a new migration.
 */
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
  { name: '018-rolling', ...rolling },
  { name: '019-objects', ...objects },
  { name: '020-erased-legs', ...erasedLegs },
  { name: '021-large-tables', ...largeTables },
  { name: '022-said', ...said },
  { name: '023-pass-pieces', ...passPieces },
  { name: '024-crm', ...crm },
  { name: '025-closed-links', ...closedLinks },
  { name: '026-spoken', ...spoken },
  { name: '027-assist-hits', ...assistHits },
  { name: '028-connected', ...connected },
  { name: '029-wrap-ups', ...wrapUps },
  { name: '030-call-agents', ...callAgents },
  { name: '031-saved-searches', ...savedSearches },
  { name: '032-people', ...people },
  { name: '033-panel-tokens', ...panelTokens },
  { name: '034-contacts', ...contacts },
  { name: '035-written', ...written },
  { name: '036-knowledge', ...knowledge },
  { name: '037-chosen', ...chosen },
  { name: '038-scores', ...scores },
  { name: '039-judged-hits', ...judgedHits },
  { name: '040-languages', ...languages },
  { name: '041-said-directions', ...saidDirections },
  { name: '042-heard', ...heard },
  { name: '043-panel-teams', ...panelTeams },
  { name: '044-written-by-key', ...writtenByKey },
];

/**
 * Programs from this migration on can accept a newer schema. Earlier programs refuse any schema newer than their own.
 */
const rollingSince = 18;

/**
 * An arbitrary number, equal in every process. Postgres uses it as a lock, so that only one process migrates at a time.
 */
const migrationLock = 7_260_515;

const lockMaxMs = 120_000;

export type SchemaState = {
  /** The number of migrations that the database has had. */
  applied: number;
  /** The number of migrations that this program knows. */
  known: number;
  /** The names of the migrations that the database has not had yet, in order. */
  missing: string[];
  /** A program must know at least this many migrations to work with the database as it is. */
  needs: number;
};

/**
 * Brings the database to this program's schema in one transaction, or leaves it as it was. Returns the state
 * before.
 */
export async function migrate(
  db: Kysely<Database>,
  kind: 'sqlite' | 'postgres',
  clock: Clock = systemClock,
  list: Migration[] = migrations,
): Promise<SchemaState> {
  return db.transaction().execute(async (tx) => {
    if (kind === 'postgres') {
      // A wait for a table's lock would block all later users of the table, running calls included. The whole migration
      // is retried instead.
      await sql`set local lock_timeout = '1500ms'`.execute(tx);
      await sql`set local statement_timeout = '120s'`.execute(tx);
      await lockMigrations(tx, clock);
    }
    await tx.schema
      .createTable('schema_version')
      .ifNotExists()
      .addColumn('version', 'integer', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('applied_at', 'bigint', (column) => column.notNull())
      .execute();
    const state = await stateOf(tx, list);
    refuseNewer(state);
    for (const [index, migration] of list.entries()) {
      if (index < state.applied) continue;
      await migration.up(tx);
      if (kind === 'sqlite')
        for (const index of migration.concurrently ?? [])
          if (index.only === undefined)
            await sql.raw(`create index ${indexWords(index)}`).execute(tx);
      const version = index + 1;
      const row = { version, name: migration.name, applied_at: clock.now() };
      // The column `needs` does not exist before this migration.
      const needs = version < rollingSince ? {} : { needs: migration.needs ?? rollingSince };
      await tx
        .insertInto('schema_version')
        .values({ ...row, ...needs })
        .execute();
    }
    return state;
  });
}

/**
 * Lists large indexes that Postgres lacks or has only in part. Indexes that another process is creating are left out.
 */
export async function missingIndexes(
  db: Kysely<Database>,
  list: Migration[] = migrations,
): Promise<LargeIndex[]> {
  const wanted = list.flatMap(({ concurrently = [] }) => concurrently);
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class join pg_index on indexrelid = pg_class.oid
    where pg_table_is_visible(pg_class.oid) and (indisvalid or exists (
      select 1 from pg_stat_progress_create_index where index_relid = pg_class.oid))`.execute(db);
  const there = new Set(rows.map(({ name }) => name));
  return wanted.filter(({ name }) => !there.has(name));
}

/** Compares the schema of the database with the migrations that this program knows. It changes nothing. */
export async function schemaState(
  db: Kysely<Database>,
  list: Migration[] = migrations,
): Promise<SchemaState> {
  const tables = await db.introspection.getTables();
  if (!tables.some(({ name }) => name === 'schema_version'))
    return { applied: 0, known: list.length, missing: list.map(({ name }) => name), needs: 0 };
  return stateOf(db, list);
}

/**
 * For a start that may not migrate: returns if this program can work with the schema, and otherwise throws with the
 * step to take.
 */
export async function refuseOtherSchema(
  db: Kysely<Database>,
  list: Migration[] = migrations,
): Promise<void> {
  const state = await schemaState(db, list);
  refuseNewer(state);
  if (state.missing.length > 0)
    throw new TrunklineError(
      'STORE_OLDER',
      `The database has schema ${state.applied}, this program needs ${state.known}, and TRUNKLINE_MIGRATE=by-command lets no start migrate: run \`npx trunkline migrate\` with these settings first.`,
    );
}

/**
 * Throws if the schema is too new. A newer schema that only adds is fine: nodes of this version run and start beside
 * newer ones.
 */
function refuseNewer({ applied, known, needs }: SchemaState): void {
  if (needs <= known) return;
  const whom = Number.isFinite(needs) ? ` and takes programs that know ${needs} or more` : '';
  throw new TrunklineError(
    'STORE_NEWER',
    `The database has schema ${applied}${whom}; this program knows ${known}: start the newer program, or restore a copy made before it.`,
  );
}

/**
 * Waits until no other process migrates. It asks for the lock again and again, because a single waiting statement would
 * need a deadline as long as the longest migration of another node.
 */
async function lockMigrations(tx: Transaction<Database>, clock: Clock): Promise<void> {
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

async function stateOf(db: Kysely<Database>, list: Migration[]): Promise<SchemaState> {
  const row = await db
    .selectFrom('schema_version')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst();
  const applied = row?.version ?? 0;
  const missing = list.slice(applied).map(({ name }) => name);
  const state = { applied, known: list.length, missing, needs: 0 };
  if (applied <= list.length) return state;
  // A migration that does not state its needs comes from a program that does not know this rule. Running beside it may
  // not be safe.
  const unknown = await db
    .selectFrom('schema_version')
    .select('needs')
    .where('version', '>', list.length)
    .execute();
  return { ...state, needs: Math.max(...unknown.map(({ needs }) => needs ?? Infinity)) };
}

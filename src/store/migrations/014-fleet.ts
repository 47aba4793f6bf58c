import type { Kysely } from 'kysely';

/** The nodes that share this database, and what another one needs to go on with their calls. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('nodes')
    .addColumn('node', 'text', (column) => column.primaryKey())
    .addColumn('epoch', 'bigint', (column) => column.notNull())
    .addColumn('address', 'text')
    .addColumn('roles', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('capacity', 'integer', (column) => column.notNull())
    .addColumn('legs', 'integer', (column) => column.notNull())
    .addColumn('draining', 'integer', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .addColumn('ahead_ms', 'bigint', (column) => column.notNull())
    .addColumn('lost_at', 'bigint')
    .execute();
  // Nodes of the previous version write their calls without a fence number. Theirs stays 0, and they have no row
  // above.
  await db.schema
    .alterTable('calls')
    .addColumn('fence', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('leg_states')
    .addColumn('leg_id', 'text', (column) => column.primaryKey())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('leg_states_by_call').on('leg_states').columns(['call_id']).execute();
}

import { sql, type Kysely } from 'kysely';

/** Events and their way to the endpoints. Long because a migration is never changed once it has run anywhere. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('event_calls')
    .addColumn('call_id', 'text', (column) => column.primaryKey())
    .addColumn('last_sequence', 'integer', (column) => column.notNull())
    .addColumn('erased_at', 'bigint')
    .execute();

  await db.schema
    .createTable('events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('occurred_at', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addUniqueConstraint('events_in_order', ['call_id', 'sequence'])
    .execute();
  await db.schema.createIndex('events_by_time').on('events').columns(['occurred_at']).execute();

  await db.schema
    .createTable('endpoints')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('types', 'text', (column) => column.notNull())
    .addColumn('active', 'integer', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('disabled_at', 'bigint')
    .addColumn('disabled_reason', 'text')
    .execute();

  await db.schema
    .createTable('lanes')
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('next_attempt_at', 'bigint')
    .addColumn('claim_id', 'text')
    .addColumn('claim_until', 'bigint')
    .addColumn('wakes', 'integer', (column) => column.notNull())
    .addColumn('parked_at', 'bigint')
    .addColumn('parked_reason', 'text')
    .addColumn('held_by_endpoint', 'integer', (column) => column.notNull())
    .addColumn('first_attempt_at', 'bigint')
    .addPrimaryKeyConstraint('lanes_identity', ['endpoint', 'call_id'])
    .execute();
  await sql`create index lanes_due on lanes (endpoint, next_attempt_at) where next_attempt_at is not null`.execute(
    db,
  );
  await db.schema.createIndex('lanes_by_call').on('lanes').columns(['call_id']).execute();
  await sql`create index lanes_parked on lanes (parked_at) where parked_at is not null`.execute(db);

  await db.schema
    .createTable('deliveries')
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('first_attempt_at', 'bigint')
    .addColumn('last_attempt_at', 'bigint')
    .addColumn('settled_at', 'bigint')
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .addColumn('last_answer', 'text')
    .addColumn('history', 'text')
    .addColumn('progress', 'text')
    .addPrimaryKeyConstraint('deliveries_identity', ['event_id', 'endpoint'])
    .execute();
  // The head of a lane: the lowest sequence that still waits.
  await sql`create index deliveries_waiting on deliveries (endpoint, call_id, sequence) where state = 'waiting'`.execute(
    db,
  );
  await db.schema
    .createIndex('deliveries_by_call')
    .on('deliveries')
    .columns(['call_id', 'sequence'])
    .execute();
  await db.schema
    .createIndex('deliveries_by_state')
    .on('deliveries')
    .columns(['state', 'event_id'])
    .execute();
}

import type { Kysely } from 'kysely';
import { sql } from 'kysely';

/**
 * Calls, their legs, streams and sessions, and the tokens that open a stream. Long because a migration is never changed
 * once it has run anywhere.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('calls')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('node', 'text', (column) => column.notNull())
    .addColumn('carrier', 'text', (column) => column.notNull())
    .addColumn('carrier_call_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('direction', 'text')
    .addColumn('from_number', 'text')
    .addColumn('to_number', 'text')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('zero_at', 'bigint')
    .addColumn('hung_up_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .addColumn('deadline', 'text')
    .addColumn('end_reason', 'text')
    .addColumn('continues', 'text')
    .addColumn('custom_metadata', 'text', (column) => column.notNull())
    .addColumn('overrides', 'text', (column) => column.notNull())
    .addColumn('warnings', 'text', (column) => column.notNull())
    .addColumn('counts', 'text', (column) => column.notNull())
    .addColumn('paused', 'integer', (column) => column.notNull())
    .addColumn('paused_at', 'bigint')
    .addColumn('statistics', 'text')
    .addColumn('summary', 'text')
    .addColumn('summary_due', 'integer', (column) => column.notNull())
    .addColumn('has_recording', 'integer', (column) => column.notNull())
    .addColumn('recover_tries', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('calls_by_carrier')
    .on('calls')
    .columns(['carrier', 'carrier_call_id'])
    .execute();
  await db.schema.createIndex('calls_by_end').on('calls').columns(['ended_at']).execute();
  await sql`create index calls_unfinished on calls (node, id) where state <> 'ended' or summary_due = 1`.execute(
    db,
  );

  await db.schema
    .createTable('legs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('track', 'text', (column) => column.notNull())
    .addColumn('encoding', 'text', (column) => column.notNull())
    .addColumn('sample_rate', 'integer', (column) => column.notNull())
    .addColumn('channels', 'integer', (column) => column.notNull())
    .addColumn('offset_ms', 'bigint')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text')
    .addColumn('received', 'bigint', (column) => column.notNull())
    .addColumn('acknowledged', 'bigint', (column) => column.notNull())
    .addColumn('gaps', 'bigint', (column) => column.notNull())
    .addColumn('paused', 'bigint', (column) => column.notNull())
    .addColumn('filler', 'bigint', (column) => column.notNull())
    .addColumn('reconnects', 'integer', (column) => column.notNull())
    .addColumn('cadence', 'text')
    .execute();
  await db.schema.createIndex('legs_by_call').on('legs').columns(['call_id', 'id']).execute();

  await db.schema
    .createTable('streams')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('carrier_stream_id', 'text', (column) => column.notNull())
    .addColumn('opened_at', 'bigint', (column) => column.notNull())
    .addColumn('closed_at', 'bigint')
    .addColumn('end_reason', 'text')
    .execute();
  await db.schema.createIndex('streams_by_call').on('streams').columns(['call_id', 'id']).execute();

  await db.schema
    .createTable('leg_sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('leg_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('offset_s', 'double precision', (column) => column.notNull())
    .addColumn('opened_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('leg_sessions_by_call')
    .on('leg_sessions')
    .columns(['call_id'])
    .execute();

  await db.schema
    .createTable('leg_results')
    .addColumn('leg_id', 'text', (column) => column.notNull())
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('start_s', 'double precision', (column) => column.notNull())
    .addColumn('end_s', 'double precision', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('leg_results_identity', ['leg_id', 'session_id', 'kind', 'key'])
    .execute();
  await db.schema
    .createIndex('leg_results_by_call')
    .on('leg_results')
    .columns(['call_id', 'kind'])
    .execute();

  await db.schema
    .createTable('stream_tokens')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('carrier', 'text', (column) => column.notNull())
    .addColumn('carrier_call_id', 'text')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('stream_tokens_by_expiry')
    .on('stream_tokens')
    .columns(['expires_at'])
    .execute();

  await db.schema
    .createTable('call_statuses')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('carrier', 'text', (column) => column.notNull())
    .addColumn('carrier_call_id', 'text', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('call_statuses_by_call')
    .on('call_statuses')
    .columns(['carrier', 'carrier_call_id'])
    .execute();

  await db.schema
    .createTable('erasures')
    .addColumn('session_id', 'text', (column) => column.primaryKey())
    .addColumn('requested_at', 'bigint', (column) => column.notNull())
    .addColumn('next_at', 'bigint', (column) => column.notNull())
    .addColumn('tries', 'integer', (column) => column.notNull())
    .execute();
}

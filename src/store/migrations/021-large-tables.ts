import type { LargeIndex } from '../large-index.ts';

/** Adds indexes for searches that would otherwise read tables of millions of rows completely. */
export async function up(): Promise<void> {}

export const concurrently: readonly LargeIndex[] = [
  { name: 'deliveries_by_endpoint', table: 'deliveries', columns: 'endpoint, event_id' },
  { name: 'speech_jobs_by_end', table: 'speech_jobs', columns: 'kind, completed_at' },
  {
    name: 'speech_job_callbacks_by_age',
    table: 'speech_job_callbacks',
    columns: 'created_at, id',
  },
  {
    name: 'stream_tokens_by_call',
    table: 'stream_tokens',
    columns: 'carrier, carrier_call_id',
    where: 'carrier_call_id is not null',
  },
  {
    name: 'stream_tokens_to_blank',
    table: 'stream_tokens',
    columns: 'expires_at',
    where: "metadata <> '{}'",
  },
  // A range of keys in the order of bytes, whatever the collation of the database is.
  { name: 'objects_by_bytes', table: 'objects', columns: 'key collate "C"', only: 'postgres' },
  { name: 'objects_by_age', table: 'objects', columns: 'substr(key, 1, 6), created_at' },
];

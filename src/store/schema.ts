import type { CallsTables } from './tables/calls.ts';
import type { EventsTables } from './tables/events.ts';
import type { SpeechTables } from './tables/speech.ts';

type SchemaVersionTable = { version: number; name: string; applied_at: number };

/** The one schema, on SQLite and on Postgres: each part adds its tables in `tables/`. */
export type Database = CallsTables &
  EventsTables &
  SpeechTables & { schema_version: SchemaVersionTable };

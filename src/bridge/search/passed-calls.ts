import { sql, type Kysely } from 'kysely';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { passing, type CallListQuery } from '../api/call-search.ts';

/** The ids go as one text, because a statement may have few parameters on SQLite. */
export function among(kind: Store['kind'], column: string, ids: readonly number[]) {
  return kind === 'sqlite'
    ? sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(ids)}))`
    : sql<boolean>`${sql.ref(column)} = any(${ids}::bigint[])`;
}

/** Those of the calls that pass the filters. */
export async function passed(
  db: Kysely<Database>,
  filters: Omit<CallListQuery, 'sort' | 'cursor' | 'limit'>,
  callIds: readonly string[],
): Promise<Set<string>> {
  const select = db.selectFrom('calls').select(['id', 'duration_ms']).where('id', 'in', callIds);
  return new Set((await passing(select, filters).execute()).map(({ id }) => id));
}

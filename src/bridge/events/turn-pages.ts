import { sql, type Kysely } from 'kysely';
import type { Turn } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { turnOf, turnRows } from './call-rows.ts';

const turnsOfPage = 500;
/** Columns that tell the places of turns apart, also of those that begin and end at once. */
const turnOrder = ['start_s', 'end_s', 'leg_id', 'session_id', 'key'] as const;

/**
 * Every final of the call as a turn, in order of time and in pages. Throws if the last turn of a page is gone when the
 * next one is read: the call was erased, or other words took their place.
 */
export async function* turnPages(db: Kysely<Database>, callId: string): AsyncGenerator<Turn[]> {
  const ordered = turnOrder.reduce(
    (select, column) => select.orderBy(column),
    turnRows(db).where('call_id', '=', callId),
  );
  let page = await ordered.limit(turnsOfPage).execute();
  while (true) {
    yield page.map(turnOf);
    const last = page.at(-1);
    if (last === undefined || page.length < turnsOfPage) return;
    const place = sql.join(turnOrder.map((column) => sql`${last[column]}`));
    const [same, ...rest] = await ordered
      .where(sql<boolean>`(${sql.join(turnOrder.map((column) => sql.ref(column)))}) >= (${place})`)
      .limit(turnsOfPage + 1)
      .execute();
    if (same === undefined || turnOrder.some((column) => same[column] !== last[column]))
      throw new Error('the transcript changed while it was read');
    page = rest;
  }
}

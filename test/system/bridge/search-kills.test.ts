import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { findSaid } from '../../../src/bridge/search/find-calls.ts';
import { parseQuery } from '../../../src/bridge/search/search-query.ts';
import { newId } from '../../../src/lib/ids.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { wordDirection } from '../../support/meaning/word-meaning.ts';
import { endsWithUs } from '../../support/process/ends-with-us.ts';
import { callRow, finalRows } from '../../support/store/call-row.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder } from '../../support/store/store.ts';

/** `SEARCH_KILLED_CALLS=20000` indexes so many calls meanwhile. */
const calls = Number(process.env['SEARCH_KILLED_CALLS'] ?? 600);
const kills = 5;
const child = new URL('../../support/search/indexing-child.ts', import.meta.url).pathname;

type At = { dataDir: string; databaseUrl?: string };

const opened = (at: At): Promise<Store> => openStore({ ballastBytes: 0, lowWaterBytes: 0, ...at });

/** Calls of before an upgrade: their words are in no index. Each has a word of its own. */
async function storeEarlier(at: At): Promise<void> {
  await using store = await opened(at);
  for (let from = 0; from < calls; from += 100)
    await store.transaction(async (tx) => {
      for (let call = from; call < Math.min(calls, from + 100); call++) {
        const startedAt = Date.UTC(2026, 0, 1) + call * 60_000;
        const id = newId('call', startedAt);
        await tx.insertInto('calls').values(callRow(id, startedAt)).execute();
        await tx
          .insertInto('leg_results')
          .values(
            finalRows(id, [
              ['customer', `my word is word${call}x today`],
              ['agent', `and what else, ${call} please`],
              ['customer', 'Yes.'],
            ]),
          ) // prettier-ignore
          .execute();
      }
    });
  await sql`delete from said`.execute(store.db);
  await sql`update said_backlog set done = 0, next_id = -1, before_call = '~'`.execute(store.db);
}

/** Runs the child until it has given so many more directions, and kills it. Undefined kills it when all is done. */
async function indexUntil(at: At, more: number | undefined): Promise<number> {
  const running = endsWithUs(
    spawn(process.execPath, ['--disable-warning=ExperimentalWarning', child, at.dataDir, ...(at.databaseUrl === undefined ? [] : [at.databaseUrl])], { stdio: ['ignore', 'pipe', 'inherit'] }), // prettier-ignore
  );
  const ended = once(running, 'exit');
  let first: number | undefined;
  let given = 0;
  for await (const line of createInterface({ input: running.stdout })) {
    const [state, count] = line.split(' ');
    given = Number(count);
    first ??= given;
    if (state === 'over' || (more !== undefined && given >= first + more)) break;
  }
  running.kill('SIGKILL');
  await ended;
  return given;
}

test.each(['SQLite', 'Postgres'])(
  'five kills while words and their directions are put into the search: nothing is missing and nothing is there twice, on %s',
  { timeout: 600_000 },
  async (kind) => {
    if (kind === 'Postgres' && postgresMissing !== undefined) return;
    await using parts = new AsyncDisposableStack();
    const { path: dataDir } = parts.use(await temporaryFolder());
    const at: At = kind === 'SQLite' ? { dataDir } : { dataDir, databaseUrl: await parts.use(await startPostgres()).newDatabase() }; // prettier-ignore
    await storeEarlier(at);
    const reached: number[] = [];
    for (let kill = 0; kill < kills; kill++)
      reached.push(await indexUntil(at, Math.floor((2 * calls) / (kills + 3))));
    // Each kill was in the middle of the work.
    expect(reached.at(-1)).toBeLessThan(2 * calls);
    await indexUntil(at, undefined);

    await using store = await opened(at);
    const said = await store.db.selectFrom('said').select(['id', 'call_id', 'text']).execute();
    const keyOf = (row: { call_id: string; text: string }): string => `${row.call_id} ${row.text}`;
    const results = await store.db.selectFrom('leg_results').select(['call_id', 'text']).execute();
    expect(said.map(keyOf).toSorted()).toEqual(results.map(keyOf).toSorted());
    const directions = await store.db.selectFrom('said_directions').selectAll().execute();
    const byId = new Map(directions.map((row) => [row.id, row]));
    expect(byId.size).toBe(directions.length);
    const wanted = said.filter(({ text }) => text !== 'Yes.');
    expect(directions).toHaveLength(wanted.length);
    for (const { id, call_id, text } of wanted) {
      const row = byId.get(id);
      const own = Buffer.from(row?.direction ?? []);
      expect([id, row?.call_id, own.equals(Buffer.from(wordDirection(text).buffer))]).toEqual([id, call_id, true]); // prettier-ignore
    }
    if (kind === 'SQLite')
      await sql`insert into said_words (said_words, rank) values ('integrity-check', 1)`.execute(store.db); // prettier-ignore
    for (let call = 0; call < calls; call += Math.ceil(calls / 200)) {
      const parsed = parseQuery(`word${call}x`);
      if ('problem' in parsed) throw new Error(parsed.problem);
      const found = await findSaid({ store, conditions: parsed.conditions, filters: {}, below: undefined, limit: 20 }); // prettier-ignore
      expect([call, found.callIds.length, [...found.hits.values()].flat().length]).toEqual([call, 1, 1]); // prettier-ignore
    }
    console.log(`${kind}: ${calls} calls, killed at ${reached.join(', ')} of ${2 * calls} directions`); // prettier-ignore
  },
);

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { sql } from 'kysely';
import { callItems } from '../../src/bridge/api/call-json.ts';
import {
  findSaid,
  type FoundPage,
  type SearchFilters,
} from '../../src/bridge/search/find-calls.ts';
import { findNear } from '../../src/bridge/search/find-near.ts';
import { findRanked } from '../../src/bridge/search/find-ranked.ts';
import { LoadedDirections } from '../../src/bridge/search/loaded-directions.ts';
import { parseQuery } from '../../src/bridge/search/search-query.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { directionFrom, directionSize } from '../../src/meaning/directions.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { callRow } from '../support/store/call-row.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryStore } from '../support/store/store.ts';
import { quantile, residentMb } from './recognition/figures.ts';

/**
 * The search over many calls, on both stores, as `GET /api/search` asks them: query, hits, lines and calls.
 *
 *   SEARCH_CALLS=20000   calls, of 20 turns with 12 words each from a vocabulary of 20,000 words, as often as words are
 *   SEARCH_STORES=SQLite,Postgres
 *   SEARCH_FOLDER=/tmp/x        keeps the SQLite store there, and fills it only once
 *   SEARCH_DATABASE_URL=...     the same for Postgres
 *
 * Each query is asked 60 times with other words of the same frequency; p50 and p95 in milliseconds. Directions are made
 * around 2,000 themes, each near to some others, because a model needs an hour for a million sentences: they tell how
 * long a search by meaning takes, not what it finds.
 */
const count = Number(process.env['SEARCH_CALLS'] ?? '20000');
const turnsOfCall = 20;
const wordsOfTurn = 12;
const vocabulary = 20_000;
const callsAtOnce = 200;
const agents = 50;
const themes = 2_000;

/** Zipf's law by its inverse: the rank of a word that is drawn. */
function newWords(seed: number): () => string {
  const drawn = newNumbers(seed);
  const scale = Math.log(vocabulary);
  return () => `w${Math.floor(Math.exp(drawn() * scale))}x`;
}

function newNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A direction of a theme. Themes of ten share half of their numbers. */
function newDirections(seed: number): (theme: number) => Int8Array {
  const drawn = newNumbers(seed);
  const any = () => Float64Array.from({ length: directionSize }, () => drawn() + drawn() - 1);
  const groups = Array.from({ length: themes / 10 }, any);
  const own = Array.from({ length: themes }, any);
  const noises = Array.from({ length: 997 }, any);
  return (theme) => {
    const [group, mine] = [groups[Math.floor(theme / 10)], own[theme]];
    const [noise, other] = [noises[Math.floor(drawn() * 997)], noises[Math.floor(drawn() * 997)]];
    return directionFrom(
      Array.from({ length: directionSize }, (_, at) => (group?.[at] ?? 0) + (mine?.[at] ?? 0) + 0.6 * ((noise?.[at] ?? 0) + (other?.[at] ?? 0))), // prettier-ignore
    );
  };
}

export async function run(): Promise<void> {
  for (const kind of (process.env['SEARCH_STORES'] ?? 'SQLite,Postgres').split(',')) {
    if (kind === 'Postgres' && postgresMissing !== undefined) {
      console.log(postgresMissing);
      continue;
    }
    await using opened = new AsyncDisposableStack();
    const store = opened.use(await openedStore(kind, opened));
    const turns = count * turnsOfCall;
    const stored = await countOf(store, 'calls');
    if (stored < count) {
      const startMs = performance.now();
      await fill(store, stored);
      const tookS = (performance.now() - startMs) / 1_000;
      const filled = (count - stored) * turnsOfCall;
      console.log(
        `${kind}: ${count} calls, ${turns} turns; ${filled} stored in ${tookS.toFixed(0)} s (${((1e6 * tookS) / filled).toFixed(0)} µs a turn)`,
      );
    }
    if ((await countOf(store, 'said_directions')) < turns) {
      const beforeMs = performance.now();
      await fillDirections(store);
      const spentS = (performance.now() - beforeMs) / 1_000;
      console.log(
        `${kind}: their directions in ${spentS.toFixed(0)} s (${((1e6 * spentS) / turns).toFixed(0)} µs a turn)`,
      );
    }
    await bytesOf(store);
    const conditionsOf = (q: string) => {
      const parsed = parseQuery(q);
      if ('problem' in parsed) throw new Error(parsed.problem);
      return parsed.conditions;
    };
    const shown = async (found: FoundPage): Promise<void> => {
      await callItems({ db: store.db, ids: found.callIds, live: () => undefined });
    };
    const ask = async (q: string, filters: SearchFilters = {}, find = findSaid): Promise<void> => {
      const conditions = conditionsOf(q);
      await shown(await find({ store, conditions, filters, below: undefined, limit: 20 }));
    };
    const queries: Record<string, (at: number) => string> = {
      'a frequent word': (at) => `w${(at % 5) + 1}x`,
      'a word of the middle': (at) => `w${200 + at}x`,
      'a rare word': (at) => `w${15_000 + at}x`,
      'two words of the middle': (at) => `w${200 + at}x w${300 + at}x`,
      'a phrase': (at) => `"w${1 + (at % 9)}x w${2 + (at % 7)}x"`,
      'the beginning of a word': (at) => `w${1_200 + at}*`,
      'frequent, not another': (at) => `w${(at % 5) + 1}x -w${(at % 4) + 2}x`,
      'frequent, of a party': (at) => `customer:w${(at % 5) + 1}x`,
      'two frequent words': (at) => `w${(at % 5) + 1}x w${(at % 4) + 7}x`,
      'rare, not a frequent one': (at) => `w${15_000 + at}x -w${(at % 4) + 2}x`,
      'nobody said it': (at) => `nowhere${at}`,
    };
    const last30Days: SearchFilters = {
      from_date: Date.UTC(2025, 0, 1) + (count - 43_200) * 60_000,
    };
    const more: Record<string, (at: number) => Promise<void>> = {
      'frequent, by rank': (at) => ask(`w${(at % 5) + 1}x`, {}, findRanked),
      'of the middle, by rank': (at) => ask(`w${200 + at}x`, {}, findRanked),
      'a phrase, by rank': (at) => ask(`"w${1 + (at % 9)}x w${2 + (at % 7)}x"`, {}, findRanked),
      'of the middle, of an agent': (at) => ask(`w${200 + at}x`, { agent: `agent${at % agents}` }),
      'frequent, of an agent': (at) => ask(`w${(at % 5) + 1}x`, { agent: `agent${at % agents}` }),
      'frequent, of an agent in a mood, 30 days': (at) =>
        ask(`w${(at % 5) + 1}x`, { agent: `agent${at % agents}`, mood: 'negative', ...last30Days }),
      'of the middle, with a rare tag': (at) => ask(`w${200 + at}x`, { tag: 'rare' }),
      'an agent sees only own calls': (at) => ask(`w${(at % 5) + 1}x`, { among: [`agent${at % agents}`] }), // prettier-ignore
    };
    for (const [name, queryOf] of Object.entries(queries))
      await timed(name, (at) => ask(queryOf(at)));
    for (const [name, run] of Object.entries(more)) await timed(name, run);
    await nearFigures(store, shown);
  }
}

async function nearFigures(store: Store, shown: (page: FoundPage) => Promise<void>): Promise<void> {
  await using near = new LoadedDirections({
    store,
    feed: { whenErased: () => () => true },
    clock: systemClock,
  });
  const direction = newDirections(42);
  const find = async (at: number, filters: SearchFilters = {}, role?: string): Promise<void> => {
    const asked = direction((at * 37) % themes);
    const found = await findNear({ store, near, direction: asked, role, filters, before: 0, limit: 20 }); // prettier-ignore
    if (found === undefined) throw new Error('the thread was lost');
    await shown(found);
  };
  const emptyMb = residentMb(process.pid);
  const startMs = performance.now();
  while (!(await near.nearest({ direction: direction(0), most: 1 }))?.isWhole);
  const tookS = (performance.now() - startMs) / 1_000;
  const usedMb = residentMb(process.pid) - emptyMb;
  console.log(`  directions into memory: ${tookS.toFixed(1)} s, ${usedMb.toFixed(0)} MB more`);
  await timed('by meaning', (at) => find(at));
  await timed('by meaning, of a party', (at) => find(at, {}, 'customer'));
  await timed('by meaning, of an agent', (at) => find(at, { agent: `agent${at % agents}` }));
  await timed('by meaning, own calls alone', (at) => find(at, { among: [`agent${at % agents}`] }));
  await timed('by meaning, in a mood', (at) => find(at, { mood: 'negative' }));
  await timed('by meaning, a carrier without calls', (at) => find(at, { carrier: 'telnyx' }));
}

async function timed(name: string, run: (at: number) => Promise<void>): Promise<void> {
  const times: number[] = [];
  for (let at = 0; at < 60; at++) {
    const from = performance.now();
    await run(at);
    times.push(performance.now() - from);
  }
  console.log(
    `  ${name}: ${quantile(times, 0.5).toFixed(1)} / ${quantile(times, 0.95).toFixed(1)} ms`,
  );
}

async function openedStore(kind: string, opened: AsyncDisposableStack): Promise<Store> {
  const { SEARCH_FOLDER: folder, SEARCH_DATABASE_URL: kept } = process.env;
  if (kind === 'Postgres')
    return temporaryStore({
      databaseUrl: kept ?? (await opened.use(await startPostgres()).newDatabase()),
    });
  if (folder === undefined) return temporaryStore({});
  if (!existsSync(join(folder, 'trunkline.sqlite'))) console.log(`filling ${folder}`);
  return openStore({ ballastBytes: 0, lowWaterBytes: 0, dataDir: folder });
}

/** The bytes that the search needs beside the results themselves, for each turn. */
async function bytesOf({ kind, db }: Store): Promise<void> {
  const parts = { words: ['said', 'said_%'], directions: ['said_directions%'] };
  for (const [name, [one = '', like = one]] of Object.entries(parts)) {
    const { rows } =
      kind === 'sqlite'
        ? await sql<{ bytes: number }>`select sum(pgsize) as bytes from dbstat
            where (name = ${one} or name like ${like}) and (${name} <> 'words' or name not like '%direction%')`.execute(db)
        : await sql<{ bytes: number }>`select pg_total_relation_size(${name === 'words' ? 'said' : 'said_directions'}) as bytes`.execute(db); // prettier-ignore
    const bytes = (rows[0]?.bytes ?? 0) / (count * turnsOfCall);
    console.log(`  ${name} of a turn: ${bytes.toFixed(0)} bytes`);
  }
}

async function countOf({ db }: Store, table: 'calls' | 'said_directions'): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db); // prettier-ignore
  return Number(rows[0]?.n);
}

/** Goes on behind the calls that an earlier run has stored. */
async function fill(store: Store, stored: number): Promise<void> {
  const word = newWords(42 + stored);
  const first = Date.UTC(2025, 0, 1);
  for (let at = stored; at < count; at += callsAtOnce)
    await store.transaction(async (tx) => {
      const ids = Array.from({ length: callsAtOnce }, (_, on) =>
        newId('call', first + (at + on) * 60_000),
      );
      await tx
        .insertInto('calls')
        .values(
          ids.map((id, on) => ({ ...callRow(id, first + (at + on) * 60_000), carrier_call_id: `CA${at + on}` })), // prettier-ignore
        )
        .execute();
      await tx
        .insertInto('call_keys')
        .values(
          ids.flatMap((id, on) => [
            { call_id: id, kind: 'agent' as const, key: `agent${(at + on) % agents}` },
            { call_id: id, kind: 'mood' as const, key: (at + on) % 5 === 0 ? 'negative' : 'neutral' }, // prettier-ignore
            ...((at + on) % 1_000 === 0
              ? [{ call_id: id, kind: 'tag' as const, key: 'rare' }]
              : []),
          ]),
        )
        .execute();
      for (let part = 0; part < ids.length; part += 20)
        await tx
          .insertInto('leg_results')
          .values(
            ids.slice(part, part + 20).flatMap((id) =>
              Array.from({ length: turnsOfCall }, (_, turn) => ({
                leg_id: `leg${id}`, session_id: 's', kind: 'call.transcript', key: String(turn), call_id: id,
                role: turn % 2 === 0 ? 'agent' : 'customer', start_s: turn * 4, end_s: turn * 4 + 3,
                text: Array.from({ length: wordsOfTurn }, word).join(' '),
              })),
            ), // prettier-ignore
          )
          .execute();
    });
  if (store.kind === 'postgres') await sql`analyze`.execute(store.db);
}

/** Directions of as many sentences, which the turns have in turn. */
const samples = 20_000;
const turnsAtOnce = 20_000;

async function fillDirections(store: Store): Promise<void> {
  const direction = newDirections(42);
  const bytes = store.kind === 'sqlite' ? 'blob' : 'bytea';
  await sql`create table if not exists samples (n integer primary key, direction ${sql.raw(bytes)} not null)`.execute(store.db); // prettier-ignore
  for (let at = 0; at < samples; at += 500)
    await store.transaction(async (tx) => {
      const rows = Array.from({ length: 500 }, (_, on) => sql`(${at + on}, ${Buffer.from(direction((at + on) % themes))})`); // prettier-ignore
      await sql`insert into samples (n, direction) values ${sql.join(rows)} on conflict do nothing`.execute(
        tx,
      );
    });
  const { rows } = await sql<{ id: number; from: number | null }>`select
    (select max(id) from said) as id, (select max(id) from said_directions) as "from"`.execute(store.db); // prettier-ignore
  for (let at = rows[0]?.from ?? 0; at < (rows[0]?.id ?? 0); at += turnsAtOnce)
    await store.transaction(async (tx) => {
      await sql`insert into said_directions (id, call_id, role, direction)
        select s.id, s.call_id, s.role, p.direction from said s join samples p on p.n = (s.id * 7919) % ${samples}
        where s.id > ${at} and s.id <= ${at + turnsAtOnce} and s.kind = 'turn' order by s.id`.execute(
        tx,
      );
    });
  if (store.kind === 'postgres') await sql`analyze said_directions`.execute(store.db);
}

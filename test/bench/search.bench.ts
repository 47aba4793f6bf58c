import { performance } from 'node:perf_hooks';
import { sql } from 'kysely';
import { callItems } from '../../src/bridge/api/call-json.ts';
import { findSaid } from '../../src/bridge/search/find-calls.ts';
import { parseQuery } from '../../src/bridge/search/search-query.ts';
import { newId } from '../../src/lib/ids.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryStore } from '../support/store/store.ts';
import { quantile } from './recognition/figures.ts';

/**
 * The search over many calls, on both stores, as `GET /api/search` asks them: query, hits, lines and calls.
 *
 *   SEARCH_CALLS=20000   calls, of 20 turns with 12 words each from a vocabulary of 20,000 words, as often as words are
 *   SEARCH_STORES=SQLite,Postgres
 *
 * Each query is asked 60 times with other words of the same frequency; p50 and p95 in milliseconds.
 */
const count = Number(process.env['SEARCH_CALLS'] ?? '20000');
const turnsOfCall = 20;
const wordsOfTurn = 12;
const vocabulary = 20_000;
const callsAtOnce = 200;

/** Zipf's law by its inverse: the rank of a word that is drawn. */
function newWords(seed: number): () => string {
  let state = seed;
  const scale = Math.log(vocabulary);
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return `w${Math.floor(Math.exp((state / 2 ** 32) * scale))}x`;
  };
}

export async function run(): Promise<void> {
  for (const kind of (process.env['SEARCH_STORES'] ?? 'SQLite,Postgres').split(',')) {
    if (kind === 'Postgres' && postgresMissing !== undefined) {
      console.log(postgresMissing);
      continue;
    }
    await using opened = new AsyncDisposableStack();
    const databaseUrl =
      kind === 'Postgres' ? await opened.use(await startPostgres()).newDatabase() : undefined;
    const store = opened.use(
      await temporaryStore(databaseUrl === undefined ? {} : { databaseUrl }),
    );
    const startMs = performance.now();
    await fill(store);
    const tookS = (performance.now() - startMs) / 1_000;
    console.log(
      `${kind}: ${count} calls, ${count * turnsOfCall} turns stored in ${tookS.toFixed(0)} s (${((1e6 * tookS) / (count * turnsOfCall)).toFixed(0)} µs a turn)`,
    );
    const ask = async (q: string): Promise<void> => {
      const parsed = parseQuery(q);
      if ('problem' in parsed) throw new Error(parsed.problem);
      const { conditions } = parsed;
      const found = await findSaid({ store, conditions, filters: {}, below: undefined, limit: 20 });
      await callItems({ db: store.db, ids: found.callIds, live: () => undefined });
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
      'nobody said it': (at) => `nowhere${at}`,
    };
    for (const [name, queryOf] of Object.entries(queries)) {
      const times: number[] = [];
      for (let at = 0; at < 60; at++) {
        const from = performance.now();
        await ask(queryOf(at));
        times.push(performance.now() - from);
      }
      console.log(
        `  ${name}: ${quantile(times, 0.5).toFixed(1)} / ${quantile(times, 0.95).toFixed(1)} ms`,
      );
    }
  }
}

async function fill(store: Awaited<ReturnType<typeof temporaryStore>>): Promise<void> {
  const word = newWords(42);
  const first = Date.UTC(2025, 0, 1);
  for (let at = 0; at < count; at += callsAtOnce)
    await store.transaction(async (tx) => {
      const ids = Array.from({ length: callsAtOnce }, (_, on) =>
        newId('call', first + (at + on) * 60_000),
      );
      await tx
        .insertInto('calls')
        .values(
          ids.map((id, on) => ({
            id, node: 'node-1', carrier: 'twilio', carrier_call_id: `CA${at + on}`, state: 'ended' as const,
            direction: 'inbound', from_number: null, to_number: null, started_at: first, zero_at: first,
            hung_up_at: first, ended_at: first, end_reason: 'stop', custom_metadata: '{}', overrides: '{}',
            warnings: '[]', counts: '{}', paused: 0, summary_due: 0, has_recording: 0, recover_tries: 0,
          })), // prettier-ignore
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

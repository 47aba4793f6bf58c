import { expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { testBridge } from '../../support/bridge/test-bridge.ts';
import { WordMeaning } from '../../support/meaning/word-meaning.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { callRow, finalRows } from '../../support/store/call-row.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

/** `ERASED_SEARCHES=10000` asks so often after an erasure. */
const searches = Number(process.env['ERASED_SEARCHES'] ?? 120);
const erasures = 10;

const asks = [
  '/api/search?q=dragon',
  '/api/search?q=dragon&sort=relevance',
  '/api/search?by=meaning&q=the%20dragon%20ate%20my%20parcel',
  '/api/search?q=%22dragon%20ate%22%20customer:parcel&limit=50',
  '/api/search/export?q=dragon&format=jsonl',
];

test.each(['SQLite', 'Postgres'])(
  'calls that are erased while others search for them are in no answer to a search that begins after the 204, on %s',
  { timeout: 900_000 },
  async (kind) => {
    if (kind === 'Postgres' && postgresMissing !== undefined) return;
    await using parts = new AsyncDisposableStack();
    const store = parts.use(
      await temporaryStore(kind === 'SQLite' ? {} : { databaseUrl: await parts.use(await startPostgres()).newDatabase() }), // prettier-ignore
    );
    const speech = parts.use(await FakeSpeech.start());
    const app = parts.use(await testBridge({ store, speechUrl: speech.url, meaning: new WordMeaning() })); // prettier-ignore
    const ids: string[] = [];
    for (let at = 0; at < 2 * erasures; at++) {
      // The calls are of today: a long run would meet the retention of older ones.
      const startedAt = Date.now() - (at + 1) * 60_000;
      const id = newId('call', startedAt);
      ids.push(id);
      await store.transaction(async (tx) => {
        await tx.insertInto('calls').values(callRow(id, startedAt)).execute();
        await tx
          .insertInto('leg_results')
          .values(finalRows(id, [['customer', `the dragon ate my parcel number ${at}`]]))
          .execute();
      });
    }
    await until(async () => {
      const rows = await store.db.selectFrom('said_directions').select('id').execute();
      return rows.length === ids.length;
    });

    const gone: string[] = [];
    let begun = 0;
    let after = 0;
    let isOver = false;
    const found: string[] = [];
    const kept = ids.filter((_, at) => at % 2 === 1);
    const missed: string[] = [];
    const lane = async (): Promise<void> => {
      while (!isOver) {
        const path = asks[begun++ % asks.length]!;
        const before = [...gone];
        const answer = await app.get(path);
        // Four exports are made at once; the fifth is told so.
        if (answer.status === 429) continue;
        const text = await answer.text();
        expect(answer.status).toBe(200);
        if (before.length > 0) after += 1;
        for (const id of before) if (text.includes(id)) found.push(`${path} ${id}`);
        for (const id of kept) if (!text.includes(id)) missed.push(`${path} ${id}`);
      }
    };
    const lanes = Array.from({ length: 6 }, lane);
    for (const [at, id] of ids.filter((_, on) => on % 2 === 0).entries()) {
      expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
      gone.push(id);
      const enough = Math.ceil((searches * (at + 1)) / erasures);
      await until(() => after >= enough, 600_000);
    }
    isOver = true;
    await Promise.all(lanes);
    expect(found).toEqual([]);
    expect(missed).toEqual([]);
    expect(gone).toHaveLength(erasures);
    console.log(`${kind}: ${after} searches began after an erasure, and none found an erased call`);
  },
);

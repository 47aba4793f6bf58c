import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { Audit } from '../../../src/people/audit.ts';
import type { AuditCheck, AuditPage } from '../../../src/protocol/people-reports.ts';
import type { Store } from '../../../src/store/store.ts';
import { movedClock } from '../../support/clock/test-clock.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

const key = 'key-of-the-settings-in-the-test';
const admin = { 'x-service-key': key, 'content-type': 'application/json' };
const deeds = Number(process.env['AUDIT_DEEDS'] ?? 400);

function auditOf(store: Store, node: string, clock = movedClock()): Audit {
  return new Audit({ store, clock, node, log: createLog({ level: 'silent' }) });
}

const entry = (detail: string) => ({
  ...{ actor_kind: 'person', actor_id: 'person_1', actor: 'Ann', action: 'read' },
  ...{ call_id: 'call_1', detail, address: '192.0.2.7' },
});

async function crowd(one: Audit, other: Audit, store: Store): Promise<void> {
  const startedMs = performance.now();
  const seqs = await Promise.all(
    Array.from({ length: deeds }, (_, at) => (at % 2 === 0 ? one : other).add(entry(`deed ${at}`))),
  );
  console.log(`${deeds} deeds in ${Math.round(performance.now() - startedMs)} ms`);
  expect(new Set(seqs).size).toBe(deeds);
  const rows = await store.db.selectFrom('audit').select('detail').execute();
  expect(new Set(rows.map(({ detail }) => detail)).size).toBe(deeds);
  expect(rows).toHaveLength(deeds);
  expect(await one.verify()).toMatchObject({ whole: true, lines: deeds, last: deeds });
}

test('one changed byte, one line that is gone and one that was moved are found, wherever they are', async () => {
  await using store = await temporaryStore();
  const audit = auditOf(store, 'one');
  for (let at = 0; at < 20; at++) await audit.add(entry(`deed ${at}`));
  const intact = await store.db.selectFrom('audit').selectAll().orderBy('seq').execute();
  const changes = { at: 1, actor: 'Bob', actor_id: 'x', actor_kind: 'key', action: 'heard', call_id: null, detail: 'deed 7.', address: '192.0.2.8', node: 'two', hash: 'f'.repeat(64) }; // prettier-ignore
  for (const seq of [1, 8, 20])
    for (const [column, value] of Object.entries(changes)) {
      await store.db
        .updateTable('audit')
        .set({ [column]: value })
        .where('seq', '=', seq)
        .execute();
      expect([column, seq, await audit.verify()]).toEqual([column, seq, expect.objectContaining({ whole: false, broken_at: seq })]); // prettier-ignore
      const before = intact[seq - 1]!;
      await store.db.updateTable('audit').set(before).where('seq', '=', seq).execute();
      expect((await audit.verify()).whole).toBe(true);
    }
  for (const seq of [1, 8, 20]) {
    await store.db.deleteFrom('audit').where('seq', '=', seq).execute();
    expect(await audit.verify()).toMatchObject({ whole: false, broken_at: seq });
    await store.db
      .insertInto('audit')
      .values(intact[seq - 1]!)
      .execute();
  }
  expect((await audit.verify()).whole).toBe(true);
});

test('a crowd at two nodes of one process keeps each deed once, in one chain', async () => {
  await using store = await temporaryStore();
  await crowd(auditOf(store, 'one'), auditOf(store, 'two'), store);
});

test.skipIf(postgresMissing !== undefined)(
  'a crowd at two nodes of one Postgres keeps each deed once, in one chain',
  { timeout: 120_000 },
  async () => {
    await using server = await startPostgres();
    const databaseUrl = await server.newDatabase();
    await using one = await temporaryStore({ databaseUrl });
    await using other = await temporaryStore({ databaseUrl });
    await crowd(auditOf(one, 'one'), auditOf(other, 'two'), one);
  },
);

test('old lines are forgotten from the beginning, and the rest of the chain still fits', async () => {
  await using store = await temporaryStore();
  const clock = movedClock();
  const audit = auditOf(store, 'one', clock);
  for (let at = 0; at < 5; at++) await audit.add(entry(`old ${at}`));
  clock.nowMs += 11 * 24 * 3_600_000;
  for (let at = 0; at < 5; at++) await audit.add(entry(`new ${at}`));
  await audit.forget(10);
  expect(await audit.verify()).toMatchObject({ whole: true, lines: 5, first: 6, last: 10 });
  await store.db.updateTable('audit').set({ actor: 'Bob' }).where('seq', '=', 6).execute();
  expect(await audit.verify()).toMatchObject({ whole: false, broken_at: 6 });
});

async function recordOf(app: App, query = ''): Promise<AuditPage['items']> {
  const answer = await app.get(`/api/audit?limit=500${query}`, { headers: admin });
  return ((await answer.json()) as AuditPage).items;
}

test(
  'deeds that were answered are kept when the process is killed five times, and the chain goes on',
  { timeout: 180_000 },
  async () => {
    await using store = await temporaryStore();
    const { dataDir } = store;
    await store[Symbol.asyncDispose]();
    let answered = 0;
    for (let kill = 0; kill < 5; kill++) {
      await using app = await startApp({ dataDir, env: { TRUNKLINE_API_KEYS: key } });
      const pause = (): Promise<number> =>
        app
          .get('/api/calls/call_unknown/pause', { method: 'POST', headers: admin, body: '{}' })
          .then(
            ({ status }) => status,
            () => 0,
          );
      const lanes = Array.from({ length: 4 }, async () => {
        for (;;) {
          const status = await pause();
          if (status === 0) return;
          expect(status).toBe(404);
          answered++;
        }
      });
      const floor = answered + 10;
      while (answered < floor) await new Promise((go) => setImmediate(go));
      await app.end('SIGKILL');
      await Promise.all(lanes);
    }
    await using app = await startApp({ dataDir, env: { TRUNKLINE_API_KEYS: key } });
    const check = (await (
      await app.get('/api/audit/check', { headers: admin })
    ).json()) as AuditCheck;
    expect(check).toMatchObject({ whole: true, broken_at: null });
    let kept = 0;
    for (const line of (
      await (await app.get('/api/audit/export', { headers: admin })).text()
    ).split('\n'))
      // prettier-ignore
      if (line.includes('"action":"paused"')) kept++;
    console.log(`${answered} deeds were answered, ${kept} kept, over 5 kills`);
    expect(kept).toBeGreaterThanOrEqual(answered);
    expect(kept).toBeLessThanOrEqual(answered + 5 * 4);
  },
);

test('the record says who did what, of which call and from where, and a refused deed says so; a search leaves no word', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await app.get('/api/calls/call_unknown', { headers: admin });
  await app.get('/api/calls/call_unknown', { headers: admin });
  await app.get('/api/calls/call_unknown', { method: 'DELETE', headers: admin });
  await app.get('/api/search?q=canary', { headers: admin });
  await app.get('/api/calls', { headers: { 'x-service-key': 'a-wrong-key-of-somebody' } });
  const lines = await recordOf(app);
  const told = lines.map(({ action, call_id, actor_kind, address }) => [action, call_id, actor_kind, address]); // prettier-ignore
  const of = (action: string) => told.filter(([done]) => done === action);
  expect(of('read')).toEqual([['read', 'call_unknown', 'setting', '127.0.0.1']]);
  expect(of('erased')).toEqual([['erased', 'call_unknown', 'setting', '127.0.0.1']]);
  expect(of('not done').length).toBeGreaterThanOrEqual(2);
  expect(of('searched')).toHaveLength(1);
  expect(of('failed to sign in')).toEqual([['failed to sign in', null, 'stranger', '127.0.0.1']]);
  expect(JSON.stringify(lines)).not.toMatch(/canary|a-wrong-key/);
});

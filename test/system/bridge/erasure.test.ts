import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { expect, test, vi } from 'vitest';
import { metrics } from '../../../src/lib/metrics.ts';
import { speak, testBridge, type TestBridge } from '../../support/bridge/test-bridge.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { storeCalls } from '../../support/store/many-calls.ts';
import { temporaryStore } from '../../support/store/store.ts';

const dayMs = 24 * 3_600_000;

/** One whole call; its metadata has a word that occurs nowhere else. */
async function wholeCall(app: TestBridge, carrierCallId: string, secret: string): Promise<string> {
  const { stream } = await app.open({ carrierCallId, parameters: { crmCase: secret } });
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.end('stop');
  await app.ended(stream.callId);
  await until(() => app.bridge.calls.get(stream.callId) === undefined);
  return stream.callId;
}

test('while a reader holds the database an erasure says that it is not done, and it is done once the reader has gone', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const id = await wholeCall(app, 'CA1', 'zanzibar-77');
  const path = join(store.dataDir, 'trunkline.sqlite');
  const isReadable = (): boolean =>
    [path, `${path}-wal`].some(
      (file) => existsSync(file) && readFileSync(file).includes('zanzibar-77'),
    );
  expect(isReadable()).toBe(true);
  const backup = new DatabaseSync(path, { readOnly: true });
  backup.exec('BEGIN; SELECT count(*) FROM calls');
  const answer = await app.get(`/api/calls/${id}`, { method: 'DELETE' });
  expect(answer.status).toBe(202);
  expect(await answer.json()).toMatchObject({ status: 'pending', remaining: ['database_log'] });
  expect((await app.get(`/api/calls/${id}`)).status).toBe(404);
  expect(store.health()['store']).toMatchObject({
    state: 'degraded',
    detail: expect.stringContaining('another program holds an old state') as string,
  });
  backup.close();
  await until(() => store.health()['store']?.state === 'ok');
  expect(isReadable()).toBe(false);
});

test('the rest of a call goes with it: metadata of its stream tokens, and callbacks that come later', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { bridge } = app;
  const metadata = { crm: 'zanzibar-77' };
  await bridge.mintToken({ carrier: 'twilio', carrierCallId: 'CA1', metadata });
  const { token } = await bridge.mintToken({ carrier: 'twilio', metadata });
  expect(await bridge.claimToken(token, 'twilio')).toMatchObject({ outcome: 'accepted', metadata });
  expect(await bridge.claimToken(token, 'twilio')).toMatchObject({ reason: 'used' });
  await bridge.carrierStatus('twilio', 'CA1', { CallStatus: 'ringing' });
  const id = await wholeCall(app, 'CA1', 'x');
  expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
  await bridge.carrierStatus('twilio', 'CA1', { CallStatus: 'completed', From: '+15550100123' });
  expect(await store.db.selectFrom('call_statuses').selectAll().execute()).toEqual([]);
  const tokens = await store.db.selectFrom('stream_tokens').selectAll().execute();
  expect(JSON.stringify(tokens)).not.toContain('zanzibar-77');
  expect(JSON.stringify(tokens)).not.toContain('CA1');
  expect(await bridge.claimToken(token, 'twilio')).toMatchObject({ reason: 'used' });
  const all = await store.db.selectFrom('erased_calls').selectAll().execute();
  expect(all).toHaveLength(1);
  expect(JSON.stringify(all)).not.toContain('CA1');
  // The carrier gives the id to a new call: its callbacks are kept again.
  await wholeCall(app, 'CA1', 'y');
  await bridge.carrierStatus('twilio', 'CA1', { CallStatus: 'completed' });
  expect(await store.db.selectFrom('call_statuses').selectAll().execute()).toHaveLength(1);
});

test('retention takes all that is due in one sweep, soon after the start, and callbacks of calls that never came', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  const oldAt = clock.now() - 100 * dayMs;
  const row = (n: number) => ({
    id: `call_${n}`, node: 'n', carrier: 'twilio', carrier_call_id: `C${n}`, state: 'ended' as const,
    direction: null, from_number: null, to_number: null, started_at: oldAt, zero_at: null, hung_up_at: oldAt,
    ended_at: oldAt, deadline: null, end_reason: 'stop', continues: null, custom_metadata: '{}', overrides: '{}',
    warnings: '[]', counts: '{}', paused: 0, paused_at: null, statistics: null, summary: null, summary_due: 0,
    has_recording: 1, recover_tries: 0,
  }); // prettier-ignore
  await store.transaction(async (tx) => {
    for (let n = 0; n < 250; n++) await tx.insertInto('calls').values(row(n)).execute();
    for (const [id, at] of [
      ['old', oldAt],
      ['new', clock.now()],
    ] as const)
      await tx
        .insertInto('call_statuses')
        .values({
          id,
          carrier: 'twilio',
          carrier_call_id: `never-${id}`,
          received_at: at,
          status: '{}',
        })
        .execute();
  });
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  await clock.pass(120_000);
  await until(async () => {
    const calls = await store.db.selectFrom('calls').select('id').execute();
    return calls.length === 0;
  });
  await until(async () => {
    const left = await store.db.selectFrom('call_statuses').select('id').execute();
    return left.length === 1 && left[0]?.id === 'new';
  });
  expect(app.bridge.name).toBe('bridge');
});

test('a call that cannot be deleted keeps no other call past its days, and is tried again', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  const calls = await storeCalls(store, 3, { from: clock.now() - 100 * dayMs });
  const ids = calls.map(({ id }) => id);
  const left = async () => {
    const rows = await store.db.selectFrom('calls').select('id').orderBy('id').execute();
    return rows.map(({ id }) => id);
  };
  await sql`create trigger stuck before delete on calls when old.id = ${sql.lit(ids[0])}
    begin select raise(abort, 'stuck'); end`.execute(store.db);
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  expect(await app.bridge.retention.sweep()).toMatchObject({ calls: 2 });
  expect(await left()).toEqual([ids[0]]);
  const lag = () => metrics.getSingleMetricAsString('trunkline_retention_lag_seconds');
  expect(await lag()).toMatch(/\{what="calls"\} [1-9]/);
  await sql`drop trigger stuck`.execute(store.db);
  expect(await app.bridge.retention.sweep()).toMatchObject({ calls: 1 });
  expect(await left()).toEqual([]);
  expect(await lag()).toMatch(/\{what="calls"\} 0$/);
});

test('a call of a day is deleted in steps, and others write between them', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const [call] = await storeCalls(store, 1);
  const callId = call!.id;
  await store.transaction(async (tx) => {
    const turn = (at: number) => ({
      leg_id: 'leg', session_id: 'session', kind: 'call.transcript', key: String(at), call_id: callId,
      role: 'customer', start_s: at, end_s: at + 1, text: 'words',
    }); // prettier-ignore
    for (let from = 0; from < 2_200; from += 200)
      await tx
        .insertInto('leg_results')
        .values(Array.from({ length: 200 }, (_, at) => turn(from + at)))
        .execute();
  });
  await using app = await testBridge({ store, speechUrl: speech.url });
  const turns = async (): Promise<number> => {
    const rows = await store.db.selectFrom('leg_results').select('key').execute();
    return rows.length;
  };
  const counts = [await turns()];
  const transaction = store.transaction.bind(store);
  const spy = vi.spyOn(store, 'transaction').mockImplementation(async (work) => {
    const answer = await transaction(work);
    counts.push(await turns());
    return answer;
  });
  expect((await app.get(`/api/calls/${callId}`, { method: 'DELETE' })).status).toBe(204);
  spy.mockRestore();
  expect(counts.at(-1)).toBe(0);
  for (const [at, count] of counts.slice(1).entries())
    expect(counts[at]! - count).toBeLessThanOrEqual(500);
});

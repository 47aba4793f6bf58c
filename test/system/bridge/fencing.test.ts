import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PassRows } from '../../../src/bridge/second-pass/pass-rows.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { nodeIdOf } from '../../../src/lib/node-id.ts';
import { Membership } from '../../../src/nodes/membership.ts';
import { JobRows } from '../../../src/speech-service/jobs/job-rows.ts';
import { OutboxTables } from '../../../src/outbox/tables.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, outboxOn, secret } from '../../support/crm/outbox.ts';
import { quietLog, speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { bucketMissing, objectsOn, startBucket } from '../../support/store/bucket.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

/*
 * A node that stood still wakes up in the middle of its work, while another has gone on with it. Each kind of write is made
 * here as that node would make it, behind the other's back.
 */
describe.skipIf(postgresMissing !== undefined)('a node that wakes up behind its successor', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.[Symbol.asyncDispose]());
  const newStore = async () => temporaryStore({ databaseUrl: await postgres.newDatabase() });

  /** A call that has ended, with a leg whose recording the object store may have. */
  async function endedCall(store: Awaited<ReturnType<typeof newStore>>, id: string) {
    await using speech = await FakeSpeech.start();
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open({ carrierCallId: id });
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    stream.end('stop');
    await app.ended(stream.callId);
    const [leg] = (await app.json(`/api/calls/${stream.callId}`)).legs;
    return { id: stream.callId, legId: String(leg.id) };
  }

  test('changes, notes and removes no second pass that another node has', async () => {
    await using store = await newStore();
    const { id: callId } = await endedCall(store, 'CA1');
    await store.db.updateTable('calls').set({ has_recording: 1 }).execute();
    const [paused, next] = [new PassRows(store, 'paused'), new PassRows(store, 'next')];
    const redaction = { types: [], form: 'MARKER' as const };
    await store.transaction((tx) => paused.order(tx, callId, redaction, 0));
    const [row] = await paused.due(['waiting'], 1, 10);
    if (row === undefined) throw new Error('no pass was ordered');
    await paused.change(row, { state: 'uploaded', file_id: 'file-1', service: 'speech' });
    const uploaded = { ...row, state: 'uploaded' as const };
    expect(await next.takeOver(['paused'], [])).toBe(1);
    const held = { file_id: 'stale', job_id: 'stale', service: 'stale' };
    expect(await paused.current(row.id, Date.now())).toBeUndefined();
    expect(await paused.change(uploaded, held)).toBe(false);
    expect(await paused.note(row.id, held)).toBe(false);
    await paused.remove(row.id);
    // Also once the successor has erased the call and cleans up behind it.
    await store.transaction((tx) => next.erase(tx, callId));
    expect(await paused.note(row.id, held)).toBe(false);
    const [left] = await store.db.selectFrom('second_passes').selectAll().execute();
    expect(left).toMatchObject({
      node: 'next',
      state: 'cleaning',
      file_id: 'file-1',
      job_id: null,
    });
  });

  test('a pass that waits for its upload is taken at once where the object store has all of the recording, and not before', async () => {
    await using store = await newStore();
    const { id: callId, legId } = await endedCall(store, 'CA1');
    await store.db.updateTable('calls').set({ has_recording: 1 }).execute();
    const [lost, next] = [new PassRows(store, 'lost'), new PassRows(store, 'next')];
    await store.transaction((tx) => lost.order(tx, callId, { types: [], form: 'MARKER' }, 0));
    expect(await next.takeOver(['lost'], [])).toBe(0);
    const object = { key: `recordings/${legId}`, node: 'lost', bytes: 1, part_bytes: 1, sha256: '', created_at: 0 }; // prettier-ignore
    await store.db
      .insertInto('objects')
      .values({ ...object, state: 'copying' })
      .execute();
    expect(await next.takeOver(['lost'], [])).toBe(0);
    await store.db.updateTable('objects').set({ state: 'stored' }).execute();
    expect(await next.takeOver(['lost'], [])).toBe(1);
  });

  test('a job that another node has claimed is neither renewed nor ended, nor given a file, nor given back', async () => {
    await using store = await newStore();
    const rows = new JobRows(store);
    const request = { audio_url: 'http://127.0.0.1/a.wav' } as Parameters<JobRows['insert']>[0]['request']; // prettier-ignore
    await rows.insert({ id: 'job', node: 'paused', createdAt: 1, request, zeroRetention: false, callbacks: [] }); // prettier-ignore
    const first = await rows.claim('paused');
    await store.db.updateTable('speech_jobs').set({ claimed_until: 0 }).execute();
    const found = await store.db.selectFrom('speech_jobs').selectAll().executeTakeFirstOrThrow();
    const second = await rows.claim('next');
    if (first === undefined || second === undefined) throw new Error('the job was not claimed');
    const before = await store.db.selectFrom('speech_jobs').selectAll().executeTakeFirst();
    const stale = { ...first.claim };
    const file = { id: 'stale', filename: 'stale', source: null, durationS: 1, channels: 1 };
    expect(await rows.renew(stale, 99)).toBe(false);
    expect(await rows.attachFile(stale, file, true)).toBe(false);
    await rows.release(stale);
    const done = { outcome: 'done' as const, result: '{}' };
    expect(await rows.end(stale, done, 5, [])).toBe(false);
    // As who looks for jobs of lost nodes found it, before its node came back and took it again.
    const asFound = { id: 'job', node: found.node, attempt: found.attempts ?? 0 };
    const error = { outcome: 'error' as const, code: 504, message: 'stale' };
    expect(await rows.end(asFound, error, 5, [])).toBe(false);
    expect(await store.db.selectFrom('speech_jobs').selectAll().executeTakeFirst()).toEqual(before);
    expect(await rows.end(second.claim, done, 6, [])).toBe(true);
    expect(await store.db.selectFrom('speech_usage').selectAll().execute()).toHaveLength(1);
  });

  test('a lane that another process has claimed is not marked, put off, parked, skipped or given back', async () => {
    await using store = await newStore();
    await using crm = await startCrm([secret], () => 503);
    await using _outbox = await outboxOn(store, crm.url, { config: { pollMs: 60_000 } });
    const tables = new OutboxTables(store);
    await enqueue(store, 'call_1');
    const claimed = async () => (await tables.claims.claim('webhook', 1, 60_000, true))[0];
    const stale = await until(claimed);
    const { items } = await tables.claims.heads(stale, 1);
    const [item] = items;
    if (item === undefined) throw new Error('no event waits');
    await store.db.updateTable('lanes').set({ claim_until: 0 }).execute();
    const next = await claimed();
    expect(next?.claimId).not.toBe(stale.claimId);
    const state = async () => ({
      lanes: await store.db.selectFrom('lanes').selectAll().execute(),
      deliveries: await store.db.selectFrom('deliveries').selectAll().execute(),
    });
    const before = await state();
    const attempt = { at: 1, endedAt: 2, status: 200, error: null, answer: null, history: '[]', exchanges: null }; // prettier-ignore
    for (const firstAttemptAt of [null, 1])
      expect(await tables.claims.delivered({ ...stale, firstAttemptAt }, item, attempt)).toBe(
        false,
      );
    const later = { at: 9, byEndpoint: true, progress: 'stale' };
    expect(await tables.claims.retryAt(stale, item, attempt, later)).toBe(false);
    expect(await tables.claims.park(stale, item, attempt, 'stale')).toBe(false);
    expect(await tables.claims.skip(stale, item, attempt, '{}')).toBe(false);
    expect(await tables.claims.release(stale, true)).toBe(false);
    await tables.claims.giveBack([stale]);
    expect(await tables.claims.renew([stale], 1)).toEqual(new Set());
    expect(await state()).toEqual(before);
  });

  test('two nodes that erase a call in the same moment tell of it once', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using one = await temporaryStore({ databaseUrl });
    await using two = await temporaryStore({ databaseUrl });
    await using speech = await FakeSpeech.start();
    // A delivered event is forgotten: this one is not delivered yet.
    await using crm = await startCrm([secret], () => 503);
    const outbox = { webhookUrl: crm.url, webhookSecret: secret, webhookEvents: ['call.erased'] };
    await using first = await testBridge({ store: one, speechUrl: speech.url, outbox });
    await using second = await testBridge({ store: two, speechUrl: speech.url, outbox });
    const { stream } = await first.open();
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    stream.end('stop');
    await first.ended(stream.callId);
    const { promise: freed, resolve: free } = Promise.withResolvers<undefined>();
    const { promise: held, resolve: hold } = Promise.withResolvers<undefined>();
    const holding = one.transaction(async (tx) => {
      await tx.selectFrom('calls').selectAll().forUpdate().execute();
      hold(undefined);
      await freed;
    });
    await held;
    const erasures = [first, second].map((app) => app.get(`/api/calls/${stream.callId}`, { method: 'DELETE' })); // prettier-ignore
    await until(async () => {
      const { rows } = await sql<{ pid: number }>`select pid from pg_locks
        where not granted`.execute(two.db);
      return rows.length >= 2;
    });
    free(undefined);
    await holding;
    expect((await Promise.all(erasures)).map(({ status }) => status)).toEqual([204, 204]);
    const told = await one.db.selectFrom('events').select('type').execute();
    expect(told).toEqual([{ type: 'call.erased' }]);
  });

  test.skipIf(bucketMissing !== undefined)(
    'audio of a call that was sent on before the call moved is not kept as the successor’s',
    async () => {
      await using store = await newStore();
      await using bucket = await startBucket();
      await using paused = objectsOn(bucket.url, store, { node: 'paused' });
      await using next = objectsOn(bucket.url, store, { node: 'next' });
      const key = 'tails/leg_1/000000000000000-000000000000004';
      let asked = 0;
      // It still had the call when it named the piece, and no more when the piece had arrived.
      const isPut = await paused.put(key, Buffer.from('past'), () =>
        Promise.resolve(asked++ === 0),
      );
      expect(isPut).toBe(false);
      expect(await next.below('tails/leg_1/')).toEqual([]);
      await until(async () => (await bucket.keys()).every((one) => !one.startsWith('tails/')));
      expect(await next.put(`${key}-1`, Buffer.from('next'), () => Promise.resolve(true))).toBe(
        true,
      );
      expect(await next.below('tails/leg_1/')).toHaveLength(1);
    },
  );

  test('a disk that was away loses what was erased meanwhile, and keeps the rest', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using here = await temporaryStore({ databaseUrl });
    await using elsewhere = await temporaryStore({ databaseUrl });
    const [kept, gone] = [await endedCall(here, 'CA1'), await endedCall(here, 'CA2')];
    await using speech = await FakeSpeech.start();
    {
      await using other = await testBridge({ store: elsewhere, speechUrl: speech.url });
      expect(await nodeIdOf(elsewhere.dataDir)).not.toBe(await nodeIdOf(here.dataDir));
      const answer = await other.get(`/api/calls/${gone.id}`, { method: 'DELETE' });
      expect(answer.status).toBe(204);
    }
    const erased = await here.db.selectFrom('erased_legs').select('leg_id').execute();
    expect(erased).toEqual([{ leg_id: gone.legId }]);
    const files = async () => readdir(join(here.dataDir, 'journal', 'legs'));
    expect(await files()).toHaveLength(2);
    await using nodes = await Membership.join({
      store: here,
      clock: systemClock,
      log: quietLog,
      node: await nodeIdOf(here.dataDir),
      silentMs: 60_000,
      roles: ['bridge'],
      capacity: 10,
    });
    await using back = await testBridge({ store: here, speechUrl: speech.url, nodes });
    expect(await files()).toEqual([`${kept.legId}.audio`]);
    expect((await back.get(`/api/calls/${kept.id}/recording`)).status).toBe(200);
  });
});

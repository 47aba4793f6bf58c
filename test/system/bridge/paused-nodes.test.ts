import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeIdOf } from '../../../src/lib/node-id.ts';
import { callAt, eventsAt, expectToldOnce, fleetOf, nodesSeenBy } from '../../support/bridge/fleet.ts'; // prettier-ignore
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { startCrm, type CrmRequest } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { gate } from '../../support/process/gate.ts';
import { until as untilWithin } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { callbackSecret, jobWeb, toldOf } from '../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../support/speech/jobs.ts';
import { connect, speechApi } from '../../support/speech/speech-service.ts';
import {
  bucketEnv,
  bucketMissing,
  oddStore,
  startBucket,
  type TestBucket,
} from '../../support/store/bucket.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

let postgres: TestPostgres | undefined;
let bucket: TestBucket | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
  if (bucketMissing === undefined) bucket = await startBucket();
});
afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]();
  await bucket?.[Symbol.asyncDispose]();
});

/** Nodes that stand still, start and give each other up share two cores with all other tests. */
const until = <T>(look: Parameters<typeof untilWithin<T>>[0], deadlineMs = 90_000): Promise<T> =>
  untilWithin<T>(look, deadlineMs);

const missing = postgresMissing ?? bucketMissing;

const givenUp = (app: App) => until(() => app.lines.some((line) => line.includes('had given this one up'))); // prettier-ignore
const erasedAt = (app: App, id: string) =>
  until(async () => {
    const { status } = await app.get(`/api/calls/${id}`, { method: 'DELETE' });
    return status < 300 || status === 404;
  }, 60_000);

test.skipIf(missing !== undefined)(
  'a node stops still while it sends an event, uploads a recording and erases a call: awake again it sends, keeps and tells nothing more of them',
  async () => {
    if (bucket === undefined) return;
    await using crm = await startCrm([secret]);
    await using front = await oddStore(bucket);
    await using fleet = await fleetOf(2, postgres, (at) => ({
      ...bucketEnv(at === 0 ? front.url : (bucket?.url ?? '')),
      TRUNKLINE_RECORDING: 'on',
      TRUNKLINE_WEBHOOK_URL: `${crm.url}/${at}`,
      TRUNKLINE_WEBHOOK_SECRET: secret,
      TRUNKLINE_WEBHOOK_LEASE_MS: '4000',
    }));
    const [paused, left] = fleet.nodes as [App, App];
    await using store = await temporaryStore({ databaseUrl: fleet.databaseUrl });
    const whole = async (callSid: string): Promise<AnyJson> => {
      const { client, say } = await callAt(paused, `MZ-${callSid}`, { callSid });
      say(seededAudio(16_000, 1));
      client.send(twilioStop);
      return until(async () => {
        const call = await newestCall(paused);
        const events = call === undefined ? [] : await eventsAt(paused, call.id);
        return events.some(({ type }) => type === 'call.completed') && events[0].call.carrier_call_id === callSid && call; // prettier-ignore
      }, 60_000);
    };
    // A recording is on its way to the object store: all of it has left the node.
    const upload = gate();
    front.hold = ({ method, url }) => method === 'PUT' && url?.includes('/recordings/') === true ? upload.hold() : undefined; // prettier-ignore
    const uploaded = await whole('CA-uploaded');
    await upload.reached();
    const erased = await whole('CA-erased');
    const heard = () => crm.arrivals.filter(({ callId }) => callId === erased.id).length;
    await until(async () => heard() === (await eventsAt(paused, erased.id)).length);
    // An event of a call that goes on is on the wire.
    const delivery = gate();
    let inFlight: CrmRequest | undefined;
    crm.behave = async (request) => {
      const isHeld = request.path.endsWith('/0') && request.event.type === 'call.transcript';
      const held = isHeld ? delivery.hold() : undefined;
      if (held !== undefined) inFlight = request;
      await held;
      return 200;
    };
    const going = await callAt(paused, 'MZ-going', { callSid: 'CA-going' });
    going.say(seededAudio(24_000, 2));
    // Either node may send an event. There are more words until this one has one on the wire.
    let looks = 0;
    await until(() => {
      if (inFlight === undefined && ++looks % 50 === 0) going.say(seededAudio(8_000, 2 + looks));
      return inFlight !== undefined;
    });
    const { id } = await newestCall(left);
    // The erasure of a call has deleted its audio here, and waits for its row.
    const row = gate();
    const holding = store.transaction(async (tx) => {
      await tx.selectFrom('calls').select('id').where('id', '=', erased.id).forUpdate().execute();
      await row.hold();
    });
    await row.reached();
    const asked = paused.get(`/api/calls/${erased.id}`, { method: 'DELETE' }).catch(() => undefined); // prettier-ignore
    await until(async () => {
      const { rows } = await sql`select 1 from pg_locks where not granted`.execute(store.db);
      return rows.length > 0;
    });
    paused.process.kill('SIGSTOP');
    row.open();
    await holding;

    // The other one ends the call, has all of it delivered, and erases the two that are over.
    await until(async () => (await nodesSeenBy(left)).some(({ state }) => state === 'lost'));
    await until(
      async () => (await eventsAt(left, id)).some(({ type }) => type === 'call.completed'),
      60_000,
    );
    const events = await eventsAt(left, id);
    expectToldOnce(events);
    const arrivedOf = (call: string) => crm.arrivals.filter(({ callId }) => callId === call);
    await until(() => arrivedOf(id).length === events.length, 60_000);
    for (const call of [uploaded, erased]) await erasedAt(left, call.id);
    for (const call of [uploaded, erased])
      await until(() => crm.requests.some(({ event }) => event.type === 'call.erased' && event.call.id === call.id)); // prettier-ignore
    // Events that had left the node arrive after the erasure.
    upload.open();
    const { legs } = uploaded as { legs: { id: string }[] };
    const key = `recordings/${legs[0]?.id}`;
    await until(async () => (await bucket?.keys())?.includes(key));

    paused.process.kill('SIGCONT');
    delivery.open();
    await givenUp(paused);
    await asked;
    // If it slept for longer than a request may stand still, it cannot say that nothing more arrives: then its turn comes
    // within a minute, and here now.
    await until(async () => {
      await store.db.updateTable('object_erasures').set({ next_at: 0 }).execute();
      return !(await bucket?.keys())?.includes(key);
    });
    await until(async () => (await readdir(join(paused.dataDir, 'journal', 'legs'))).length === 0);
    // It works again: a whole call of its own is delivered. Whatever it had left to send would have gone by then.
    const next = await whole('CA-next');
    const ofNext = await eventsAt(left, next.id);
    await until(() => arrivedOf(next.id).length === ofNext.length);
    expect(await eventsAt(left, id)).toEqual(events);
    // In order, each once; the one that was on the wire twice, with the same name and the same bytes.
    const sent = crm.requests.filter(({ event }) => event.call.id === id);
    const again = sent.filter(({ event }) => event.id === inFlight?.event.id);
    expect(again).toHaveLength(2);
    expect(again[1]?.body.equals(again[0]?.body ?? Buffer.alloc(0))).toBe(true);
    expect(again[1]?.headers['webhook-id']).toBe(again[0]?.headers['webhook-id']);
    const once = sent.filter((request) => request !== again[0]);
    expect(once.map(({ event }) => event.sequence)).toEqual(events.map(({ sequence }) => sequence));
    for (const call of [uploaded, erased]) {
      const told = crm.requests.filter(({ event }) => event.type === 'call.erased' && event.call.id === call.id); // prettier-ignore
      expect(told).toHaveLength(1);
      for (const app of [paused, left])
        expect((await app.get(`/api/calls/${call.id}`)).status).toBe(404);
    }
  },
  180_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a node stops still in the middle of a job and of a live session that others then end: awake again it ends, tells and keeps nothing of them',
  async () => {
    await using web = await jobWeb({ '/a.wav': wavOf('my card is lost') });
    const fetching = gate();
    web.hold = () => fetching.hold();
    await using fleet = await fleetOf(2, postgres, {
      TRUNKLINE_ROLES: 'speech',
      TRUNKLINE_SPEECH_URL: '',
      TRUNKLINE_JOBS_AUDIO_HOSTS: web.host,
      TRUNKLINE_SPEECH_CALLBACK_HOSTS: web.host,
      TRUNKLINE_SPEECH_CALLBACK_SECRET: callbackSecret,
    });
    await using store = await temporaryStore({ databaseUrl: fleet.databaseUrl });
    const [first] = fleet.nodes as [App, App];
    const id = await jobsApi(speechApi(first.url)).begin({
      audio_url: `${web.url}/a.wav`,
      callback: true,
      callback_config: { url: web.url, method: 'POST' },
    });
    await fetching.reached();
    const { node } = await store.db.selectFrom('speech_jobs').select('node').executeTakeFirstOrThrow(); // prettier-ignore
    const numbers = await Promise.all(fleet.nodes.map((app) => nodeIdOf(app.dataDir)));
    const paused = fleet.nodes[numbers.indexOf(node)];
    const left = fleet.nodes[1 - numbers.indexOf(node)];
    if (paused === undefined || left === undefined) throw new Error('no node of the fleet has it');
    const client = await connect((await speechApi(paused.url).post()).url);
    client.send(Buffer.alloc(16_000, 0xff));
    const session = await store.db.selectFrom('speech_jobs').select('id').where('kind', '=', 'live').executeTakeFirstOrThrow(); // prettier-ignore
    await until(async () => (await speechApi(left.url).job(session.id)).status === 'processing');
    paused.process.kill('SIGSTOP');
    // Half a minute without a sign of the node, in one step.
    await store.db.updateTable('speech_jobs').set({ claimed_until: 0 }).execute();
    const api = jobsApi(speechApi(left.url));
    const ended = await api.ended(id, 60_000);
    expect(ended.status).toBe('done');
    await until(() => toldOf(web).get(id));
    const lost = await until(async () => {
      const record = await speechApi(left.url).job(session.id);
      return record.status === 'error' && record;
    });
    expect(lost).toMatchObject({ error_code: 500, error_message: expect.stringContaining('begin a new session') }); // prettier-ignore
    client.stop();
    paused.process.kill('SIGCONT');
    fetching.open();
    await givenUp(paused);
    expect(await client.closed).toMatchObject({ code: 1012 });
    const sessionFiles = () => readdir(join(paused.dataDir, 'speech'));
    await until(async () => !(await sessionFiles()).some((name) => name.includes(session.id)));
    await until(() => web.fetched.get('/a.wav') === 2);
    const files = join(paused.dataDir, 'speech', 'files');
    await until(async () => (await readdir(files)).length === 0);
    // It works again, and does a job itself.
    await left.end('SIGKILL');
    const next = jobsApi(speechApi(paused.url));
    await next.ended(await next.begin({ audio_url: `${web.url}/a.wav` }), 60_000);
    expect(await next.record(id)).toEqual(ended);
    expect(toldOf(web).get(id)?.size).toBe(1);
    expect(await speechApi(paused.url).job(session.id)).toEqual(lost);
    const usage = await store.db.selectFrom('speech_usage').select('id').execute();
    expect(usage.filter((row) => row.id === id)).toHaveLength(1);
    const known = await store.db.selectFrom('speech_files').select('node').execute();
    expect(known).toHaveLength(2);
  },
  120_000,
);

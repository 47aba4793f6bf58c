import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  callAt,
  endedCallAt,
  eventsAt,
  expectToldOnce,
  fleetOf,
  nodesSeenBy,
} from '../../support/bridge/fleet.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { spoken, type FakeJob } from '../../support/speech/fake-jobs.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import {
  bucketConfig,
  bucketEnv,
  bucketMissing,
  objectsOn,
  startBucket,
  type TestBucket,
} from '../../support/store/bucket.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { mulawToLinear } from '../../../src/audio/g711.ts';
import { nodeIdOf } from '../../../src/lib/node-id.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

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

const missing = postgresMissing ?? bucketMissing;

/** The recordings of so many legs are in the store and were compared: a node needs no other's disk for them. */
async function recordingsStored(databaseUrl: string, legs = 1): Promise<void> {
  await using store = await temporaryStore({ databaseUrl });
  await until(async () => {
    const rows = await store.db
      .selectFrom('objects')
      .select('key')
      .where('key', 'like', 'recordings/%')
      .where('state', '=', 'stored')
      .execute();
    return rows.length === legs;
  });
}

/** The store has the audio of so many legs up to there, and the database knows it: a node that ends before is a gap. */
async function tailsStored(databaseUrl: string, bytes: number, legs = 1): Promise<void> {
  await using store = await temporaryStore({ databaseUrl });
  await until(async () => {
    const rows = await store.db
      .selectFrom('objects')
      .select('key')
      .where('key', 'like', 'tails/%')
      .where('state', '=', 'stored')
      .execute();
    return rows.filter(({ key }) => new RegExp(`-0*${bytes}$`).test(key)).length === legs;
  });
}

test.skipIf(missing !== undefined)(
  'a node is killed, its disk gone, its audio not heard yet: another reads it from the object store, has its words and its recording',
  async () => {
    if (bucket === undefined) return;
    await using fleet = await fleetOf(2, postgres, {
      ...bucketEnv(bucket.url),
      TRUNKLINE_OBJECTS_TAIL_S: '0.2',
      TRUNKLINE_RECORDING: 'on',
    });
    const [lost, left] = fleet.nodes as [App, App];
    const { speech } = fleet;
    const audio = seededAudio(40_000, 1);
    // Nobody hears this audio: the speech service is away.
    speech.script.create = () => ({ status: 503 });
    const { say } = await callAt(lost);
    say(audio);
    await tailsStored(fleet.databaseUrl, 40_000);
    await until(async () => (await nodesSeenBy(left)).length === 2);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    await until(async () => (await nodesSeenBy(left)).some(({ state }) => state === 'lost'));
    delete speech.script.create;
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    expect(call.legs[0].ledger).toMatchObject({ received: 40_000, acknowledged: 40_000, gaps: 0 });
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
    const warnings = events.filter(({ type }) => type === 'call.warning');
    expect(warnings.map(({ data }) => data.code)).toEqual(['NODE_LOST']);
    const recording = await left.get(`/api/calls/${call.id}/recording`);
    expect((await recording.arrayBuffer()).byteLength).toBeGreaterThanOrEqual(44 + 40_000 * 4);
    // One whole recording, and nothing of the pieces.
    await until(async () => {
      const keys = (await bucket?.keys()) ?? [];
      return keys.length === 1 && keys[0]?.startsWith('recordings/');
    });
    expect((await left.get(`/api/calls/${call.id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await bucket.keys()).toEqual([]);
  },
  120_000,
);

test.skipIf(missing !== undefined)(
  'a recording that waits to be read again leaves a node that stops, and one that is lost: it is read from the object store and told once',
  async () => {
    if (bucket === undefined) return;
    await using fleet = await fleetOf(3, postgres, {
      ...bucketEnv(bucket.url),
      TRUNKLINE_RECORDING: 'on',
      TRUNKLINE_SECOND_PASS: 'on',
      TRUNKLINE_DRAIN_S: '3600',
    });
    const [stopping, ...others] = fleet.nodes as [App, App, App];
    const { recordings } = fleet.speech;
    recordings.script.upload = () => ({ status: 503 });
    const first = await callAt(stopping);
    first.say(seededAudio(16_000, 1));
    first.client.send(twilioStop);
    const { call } = await endedCallAt(stopping);
    await recordingsStored(fleet.databaseUrl);
    // Its stream keeps the node for as long as it likes.
    const second = await callAt(stopping, 'MZ2', { callSid: 'CA2' });
    second.say(seededAudio(8_000, 2));
    stopping.process.kill('SIGTERM');
    const line = 'second passes were handed over';
    const told = await until(() => stopping.lines.find((one) => one.includes(line)));
    const to = String(JSON.parse(told).node);
    const numbers = await Promise.all(others.map((app) => nodeIdOf(app.dataDir)));
    const lost = others[numbers.indexOf(to)];
    const left = others[1 - numbers.indexOf(to)];
    if (lost === undefined || left === undefined)
      throw new Error('it went to no node of the fleet');
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    await until(() => left.lines.some((one) => one.includes('second passes of a lost node')));
    delete recordings.script.upload;
    const revised = await until(async () => {
      const events = await eventsAt(left, call.id);
      return events.some(({ type }) => type === 'call.transcript.revised') && events;
    }, 60_000);
    expectToldOnce(revised);
    expect(revised.filter(({ type }) => type === 'call.transcript.revised')).toHaveLength(1);
    expect(revised.filter(({ type }) => type === 'call.warning')).toEqual([]);
    await until(() => recordings.uploads.size === 0);
    for (const app of [left, stopping])
      expect((await app.get(`/api/calls/${call.id}`, { method: 'DELETE' })).status).toBe(app === left ? 204 : 404); // prettier-ignore
  },
  120_000,
);

test.skipIf(missing !== undefined)(
  'a node is lost while the second piece of a long recording is read: another goes on there, and reads no piece twice',
  async () => {
    if (bucket === undefined) return;
    await using fleet = await fleetOf(2, postgres, {
      ...bucketEnv(bucket.url),
      TRUNKLINE_RECORDING: 'on',
      TRUNKLINE_SECOND_PASS: 'on',
      TRUNKLINE_SECOND_PASS_PIECE_S: '10',
    });
    const [lost, left] = fleet.nodes as [App, App];
    const { recordings } = fleet.speech;
    const piece = ({ request }: FakeJob) => (request['custom_metadata'] as AnyJson).piece as number;
    recordings.script.utterancesOf = (job) => [spoken(0, 1, `piece ${piece(job)}`)];
    recordings.script.hold = (what) => {
      if (what !== 'begin' || recordings.begun !== 2) return undefined;
      return new Promise(() => undefined);
    };
    const { client, say } = await callAt(lost);
    say(seededAudio(200_000, 1));
    client.send(twilioStop);
    const { call } = await endedCallAt(lost);
    await recordingsStored(fleet.databaseUrl);
    await until(() => recordings.begun === 2);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    recordings.script.hold = () => undefined;
    const revised = await until(async () => {
      const events = await eventsAt(left, call.id);
      return events.some(({ type }) => type === 'call.transcript.revised') && events;
    }, 60_000);
    expectToldOnce(revised);
    expect(revised.find(({ type }) => type === 'call.transcript.revised')?.data.transcript.map(({ text }: AnyJson) => text)).toEqual(['piece 1', 'piece 2', 'piece 3']); // prettier-ignore
    expect(recordings.begun).toBe(3);
    await until(() => recordings.uploads.size === 0 && recordings.jobs.size === 0);
    await left.get(`/api/calls/${call.id}`, { method: 'DELETE' });
  },
  120_000,
);

test.skipIf(missing !== undefined).each([
  ['its disk gone', true],
  ['and started again', false],
])(
  'a node is lost, %s, when one leg of a call is over and the other is not: both recordings are whole',
  async (_, isDiskGone) => {
    await using own = await startBucket();
    await using fleet = await fleetOf(2, postgres, {
      ...bucketEnv(own.url),
      TRUNKLINE_OBJECTS_TAIL_S: '0.2',
      TRUNKLINE_RECORDING: 'on',
    });
    const [lost, left] = fleet.nodes as [App, App];
    const { speech } = fleet;
    let stops = 0;
    Object.defineProperty(speech.script, 'finalsDelayMs', {
      get: () => (stops++ === 0 ? 0 : Infinity),
      configurable: true,
    });
    const { client } = await callAt(lost, 'MZ2', { tracks: ['inbound', 'outbound'] });
    const audio = { inbound: seededAudio(24_000, 3), outbound: seededAudio(24_000, 4) };
    let sequence = 2;
    for (let frame = 0; frame < 150; frame++)
      for (const [track, bytes] of Object.entries(audio)) {
        const payload = bytes.subarray(frame * 160, (frame + 1) * 160).toString('base64');
        const media = { track, chunk: String(frame + 1), timestamp: String(frame * 20), payload };
        client.send({ ...twilioStop, event: 'media', sequenceNumber: String(sequence++), media });
      }
    await tailsStored(fleet.databaseUrl, 24_000, 2);
    client.send({ ...twilioStop, sequenceNumber: String(sequence) });
    await until(async () => (await newestCall(lost))?.legs.some(({ state }: AnyJson) => state === 'done')); // prettier-ignore
    await until(async () => (await nodesSeenBy(left)).length === 2);
    await lost.end('SIGKILL');
    if (isDiskGone) await rm(lost.dataDir, { recursive: true, force: true });
    delete speech.script.finalsDelayMs;
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    if (!isDiskGone) await fleet.restart(0);
    await until(
      async () => (await own.keys()).filter((key) => key.startsWith('recordings/')).length === 2,
      60_000,
    );
    // An object counts once it was read back and compared.
    await until(async () => {
      const recording = await left.get(`/api/calls/${call.id}/recording`);
      const wav = Buffer.from(await recording.arrayBuffer());
      return [audio.inbound, audio.outbound].every((bytes, at) =>
        [0, 12_000, 23_999].every(
          (sample) =>
            wav.readInt16LE(44 + sample * 4 + at * 2) === mulawToLinear[bytes[sample] ?? 0],
        ),
      );
    });
  },
  120_000,
);

test.skipIf(missing !== undefined)(
  'the object store is away while a lost node’s call is to be ended elsewhere: the call waits for its audio, and lacks nothing',
  async () => {
    await using own = await startBucket();
    await using fleet = await fleetOf(2, postgres, {
      ...bucketEnv(own.url),
      TRUNKLINE_OBJECTS_TAIL_S: '0.2',
      TRUNKLINE_RECORDING: 'on',
    });
    const [lost, left] = fleet.nodes as [App, App];
    const audio = seededAudio(40_000, 1);
    fleet.speech.script.create = () => ({ status: 503 });
    const { client, say } = await callAt(lost);
    say(audio);
    await tailsStored(fleet.databaseUrl, 40_000);
    client.send(twilioStop);
    await until(async () => (await newestCall(left))?.state !== 'live');
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    await own.stop();
    await until(() => left.lines.some((line) => line.includes('waits for its audio there')));
    delete fleet.speech.script.create;
    await own.start();
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    expect(call.legs[0].ledger).toMatchObject({ received: 40_000, acknowledged: 40_000, gaps: 0 });
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
  },
  120_000,
);

test.skipIf(bucketMissing !== undefined)(
  'of a leg that is not recorded the object store has what the speech service has not acknowledged, and nothing else',
  async () => {
    await using own = await startBucket();
    await using speech = await FakeSpeech.start();
    await using store = await temporaryStore();
    const node = await nodeIdOf(store.dataDir);
    const config = { ...bucketConfig(own.url), tailS: 0.1 };
    await using objects = objectsOn(own.url, store, { node, config });
    speech.script.create = () => ({ status: 503 });
    await using app = await testBridge({
      store,
      speechUrl: speech.url,
      objects,
      config: { recording: 'off' },
    });
    const { stream } = await app.open();
    await speak(stream, 'inbound', seededAudio(16_000, 2));
    const pieces = async () => (await own.keys()).filter((key) => key.startsWith('tails/'));
    await until(async () => (await pieces()).some((key) => /-0*16000$/.test(key)));
    delete speech.script.create;
    await until(async () => (await pieces()).length === 0);
    expect((await app.callOf()).state).toBe('live');
    stream.end('stop');
    await app.ended(stream.callId);
    await until(async () => (await own.keys()).length === 0);
  },
  30_000,
);

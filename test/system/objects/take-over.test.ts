import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  callAt,
  endedCallAt,
  expectToldOnce,
  fleetOf,
  nodesSeenBy,
} from '../../support/bridge/fleet.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import type { App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
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
    // What comes is heard by nobody: the speech service is away.
    speech.script.create = () => ({ status: 503 });
    const { say } = await callAt(lost);
    say(audio);
    await until(async () => {
      const keys = (await bucket?.keys()) ?? [];
      return keys.some((key) => /-0*40000$/.test(key));
    });
    await until(async () => (await nodesSeenBy(left)).length === 2);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    await until(async () => (await nodesSeenBy(left)).some(({ state }) => state === 'lost'));
    delete speech.script.create;
    const { call, events } = await endedCallAt(left);
    expectToldOnce(events);
    expect(call.legs[0].ledger).toMatchObject({ received: 40_000, acknowledged: 40_000, gaps: 0 });
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
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

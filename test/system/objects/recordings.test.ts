import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callAt } from '../../support/bridge/fleet.ts';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import {
  bucketEnv,
  bucketMissing,
  objectsOn,
  oddStore,
  startBucket,
  type TestBucket,
} from '../../support/store/bucket.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';
import { nodeIdOf } from '../../../src/lib/node-id.ts';

let bucket: TestBucket;
beforeAll(async () => {
  if (bucketMissing === undefined) bucket = await startBucket();
});
afterAll(() => bucket?.[Symbol.asyncDispose]());

/** A bridge whose recordings go to this address. */
async function bridgeOn(url: string) {
  const stack = new AsyncDisposableStack();
  const speech = stack.use(await FakeSpeech.start());
  const store = stack.use(await temporaryStore());
  const node = await nodeIdOf(store.dataDir);
  const objects = stack.use(objectsOn(url, store, { node, stallMs: 1_000 }));
  const app = stack.use(await testBridge({ store, speechUrl: speech.url, objects }));
  const legsHere = () => readdir(join(store.dataDir, 'journal', 'legs'));
  return { app, store, objects, legsHere, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function wholeCall(app: TestBridge, audio: Buffer, carrierCallId = 'CA1'): Promise<string> {
  const { stream } = await app.open({ carrierCallId });
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  await app.ended(stream.callId);
  return stream.callId;
}

const recordingOf = async (app: TestBridge, id: string, range?: string): Promise<Buffer> => {
  const answer = await app.get(`/api/calls/${id}/recording`, range === undefined ? {} : { headers: { range } }); // prettier-ignore
  expect(answer.status).toBe(range === undefined ? 200 : 206);
  return Buffer.from(await answer.arrayBuffer());
};

const isIn = async (keys: string): Promise<boolean> =>
  (await bucket.keys()).some((key) => key.startsWith(keys));

test.skipIf(bucketMissing !== undefined)(
  'a finished recording goes to the object store and leaves the disk; any range is read from there; an erasure deletes it',
  async () => {
    await using run = await bridgeOn(bucket.url);
    const { app, legsHere } = run;
    const audio = seededAudio(40_000, 1);
    const id = await wholeCall(app, audio);
    const before = await recordingOf(app, id);
    // A listener hears all of it while it goes.
    await until(async () => {
      expect((await recordingOf(app, id)).equals(before)).toBe(true);
      return (await legsHere()).length === 0;
    });
    const [key] = await bucket.keys();
    expect(key).toMatch(/^recordings\/leg_\w+$/);
    const after = await recordingOf(app, id);
    expect(after.equals(before)).toBe(true);
    const part = await recordingOf(app, id, 'bytes=30000-45000');
    expect(part.equals(before.subarray(30_000, 45_001))).toBe(true);
    expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await bucket.keys()).toEqual([]);
    expect((await app.get(`/api/calls/${id}/recording`)).status).toBe(404);
  },
  30_000,
);

test.skipIf(bucketMissing !== undefined)(
  'a store that is away keeps the recording on the disk, readable, counted and told; it goes when the store is back',
  async () => {
    await using own = await startBucket();
    await using run = await bridgeOn(own.url);
    const { app, objects, legsHere } = run;
    await own.stop();
    const id = await wholeCall(app, seededAudio(16_000, 2));
    const before = await recordingOf(app, id);
    const health = await until(() => {
      const { objects: found } = objects.health();
      return found?.state === 'degraded' && found.detail?.includes('1 files') === true && found;
    });
    expect(health.detail).toMatch(
      /^the object store: \w+: connect.*1 files \(1 MiB\) wait on this disk$/,
    );
    expect(await legsHere()).toHaveLength(1);
    await own.start();
    await until(async () => (await legsHere()).length === 0);
    expect((await recordingOf(app, id)).equals(before)).toBe(true);
    await until(() => objects.health()['objects']?.state === 'ok');
  },
  30_000,
);

test.skipIf(bucketMissing !== undefined)(
  'an erasure while the store is away is not forgotten: it says what remains, and it is done when the store is back',
  async () => {
    await using own = await startBucket();
    await using run = await bridgeOn(own.url);
    const { app, store, legsHere } = run;
    const id = await wholeCall(app, seededAudio(16_000, 3));
    await until(async () => (await legsHere()).length === 0);
    await own.stop();
    const answer = await app.get(`/api/calls/${id}`, { method: 'DELETE' });
    expect(answer.status).toBe(202);
    expect(await answer.json()).toEqual({ status: 'pending', remaining: ['object_store'] });
    expect((await app.get(`/api/calls/${id}`)).status).toBe(404);
    expect(await own.keys()).toHaveLength(1);
    await own.start();
    // Its turn comes after a pause that grows; here it comes now.
    await store.db.updateTable('object_erasures').set({ next_at: 0 }).execute();
    await until(async () => (await own.keys()).length === 0);
    await until(async () => (await store.db.selectFrom('object_erasures').selectAll().execute()).length === 0); // prettier-ignore
  },
  30_000,
);

type StoreFault = { name: string; begin: (front: Awaited<ReturnType<typeof oddStore>>) => void };
const faults: StoreFault[] = [
  {
    name: 'answers 500',
    begin: (front) => {
      front.odd = ({ method }, response) => {
        if (method !== 'PUT') return false;
        response.writeHead(500).end('<Error><Code>InternalError</Code></Error>');
        return true;
      };
    },
  },
  { name: 'never answers', begin: (front) => (front.odd = () => true) },
  {
    name: 'gives back other bytes',
    begin: (front) => {
      front.bodyOf = (body) => Buffer.from(body).fill(0x41, 0, 1);
    },
  },
  {
    name: 'gives back more than was asked for',
    begin: (front) => {
      front.odd = ({ method }, response) => {
        if (method !== 'GET') return false;
        response.writeHead(206, { 'content-range': 'bytes 0-9/10' });
        const more = (): void => {
          if (!response.destroyed) response.write(Buffer.alloc(65_536), more);
        };
        more();
        return true;
      };
    },
  },
  {
    name: 'leads elsewhere',
    begin: (front) => {
      front.odd = (_request, response) => {
        response.writeHead(307, { location: 'http://127.0.0.1:9/elsewhere' }).end();
        return true;
      };
    },
  },
];

test.skipIf(bucketMissing !== undefined).each(faults)(
  'a store that $name gets no file for good: the recording stays here until the store does its part',
  async ({ begin }) => {
    await using front = await oddStore(bucket);
    await using run = await bridgeOn(front.url);
    const { app, objects, legsHere } = run;
    begin(front);
    const id = await wholeCall(app, seededAudio(16_000, 4));
    const before = await recordingOf(app, id);
    await until(() => {
      const { objects: found } = objects.health();
      return found?.state === 'degraded' && found.detail?.includes('1 files');
    });
    expect(await legsHere()).toHaveLength(1);
    front.odd = front.bodyOf = undefined;
    await until(async () => (await legsHere()).length === 0);
    expect((await recordingOf(app, id)).equals(before)).toBe(true);
    expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
  },
  30_000,
);

test.skipIf(bucketMissing !== undefined)(
  'a recording that the store cuts short while it is read breaks off, and is never filled up',
  async () => {
    await using front = await oddStore(bucket);
    await using run = await bridgeOn(front.url);
    const { app, legsHere } = run;
    const id = await wholeCall(app, seededAudio(16_000, 5));
    await until(async () => (await legsHere()).length === 0);
    front.odd = ({ method }, response) => {
      if (method !== 'GET') return false;
      response.writeHead(206, { 'content-length': '16000' });
      response.write(Buffer.alloc(100), () => response.destroy());
      return true;
    };
    const answer = await app.get(`/api/calls/${id}/recording`);
    await expect(answer.arrayBuffer()).rejects.toThrow();
    front.odd = undefined;
    expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
  },
  30_000,
);

test.skipIf(bucketMissing !== undefined)(
  'what is erased while it is on its way to the store is deleted there as well, whenever it arrives',
  async () => {
    await using front = await oddStore(bucket);
    await using run = await bridgeOn(front.url);
    const { app, store } = run;
    const held: (() => void)[] = [];
    let isHeld = false;
    // The read-back is held: the bytes have arrived, and the row does not say so yet.
    front.odd = ({ method, url }, response) => {
      if (method !== 'GET' || url?.includes('/recordings/') !== true || isHeld) return false;
      isHeld = true;
      held.push(() => response.destroy());
      return true;
    };
    const id = await wholeCall(app, seededAudio(16_000, 6));
    await until(() => held.length > 0);
    expect(await isIn('recordings/')).toBe(true);
    const answer = await app.get(`/api/calls/${id}`, { method: 'DELETE' });
    // A copy is on its way as far as the rows know: that is deleted now, and once more when nothing can arrive any more.
    expect(answer.status).toBe(202);
    for (const release of held) release();
    await until(async () => !(await isIn('recordings/')));
    // While its node has not said that nothing more comes, the others look again every minute or two, for hours.
    const rows = await store.db.selectFrom('object_erasures').selectAll().execute();
    for (const { until_at, next_at } of rows) {
      expect(next_at).toBeLessThanOrEqual(until_at);
      expect(next_at - Date.now()).toBeLessThan(130_000);
    }
  },
  30_000,
);

test.skipIf(bucketMissing !== undefined)(
  'a process that is killed between the copy and the deletion here leaves one recording that is whole, and nothing behind',
  async () => {
    await using front = await oddStore(bucket);
    await using folder = await temporaryFolder();
    await using speech = await FakeSpeech.start();
    const env = {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_RECORDING: 'on',
      ...bucketEnv(front.url),
    };
    await using first = await startApp({ dataDir: folder.path, env });
    front.odd = ({ method, url }) => {
      if (method !== 'GET' || url?.includes('/recordings/') !== true) return false;
      first.process.kill('SIGKILL');
      return true;
    };
    const { client, say } = await callAt(first);
    say(seededAudio(16_000, 7));
    client.send(twilioStop);
    await first.exited();
    expect((await bucket.keys()).filter((key) => key.startsWith('recordings/'))).toHaveLength(1);
    front.odd = undefined;
    await using second = await startApp({ dataDir: folder.path, env });
    const legs = join(folder.path, 'journal', 'legs');
    await until(async () => (await readdir(legs)).length === 0);
    const { items } = (await (await second.get('/api/calls')).json()) as AnyJson;
    const answer = await second.get(`/api/calls/${items[0].id}/recording`);
    expect((await answer.arrayBuffer()).byteLength).toBe(44 + 16_000 * 4);
    expect((await bucket.keys()).filter((key) => key.startsWith('recordings/'))).toHaveLength(1);
    expect((await second.get(`/api/calls/${items[0].id}`, { method: 'DELETE' })).status).toBe(204);
    expect(await isIn('recordings/')).toBe(false);
  },
  60_000,
);

test.skipIf(bucketMissing !== undefined)(
  'a file of many parts goes and comes back with bounded memory, and a range that crosses parts is exact',
  async () => {
    await using store = await temporaryStore();
    const bytes = 128 * 1_048_576 + 12_345;
    const pieceBytes = 65_536;
    const pieceAt = (at: number): Buffer => {
      const piece = Buffer.alloc(Math.min(pieceBytes, bytes - at), (at / pieceBytes) % 251);
      piece.writeUInt32LE(at, 0);
      return piece;
    };

    async function* read(from: number, to: number): AsyncGenerator<Buffer> {
      for (let at = from - (from % pieceBytes); at < to; at += pieceBytes)
        yield pieceAt(at).subarray(Math.max(0, from - at), Math.max(0, to - at));
    }
    await using objects = objectsOn(bucket.url, store, { partBytes: 30 * 1_048_576 });
    let isHere = true;
    // Memory that only waits to be collected does not count as held.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const outside = (): number => {
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const before = outside();
    let most = 0;
    const looking = setInterval(() => (most = Math.max(most, outside())), 50);
    objects.attach({
      kind: 'files',

      async *ready() {
        if (!isHere) return;
        yield {
          key: 'files/large',
          bytes,
          read,
          isOwned: () => Promise.resolve(true),
          leave: () => {
            isHere = false;
            return Promise.resolve();
          },
        };
      },
      waiting: () => Promise.resolve({ files: isHere ? 1 : 0, bytes: isHere ? bytes : 0 }),
      owned: () => Promise.resolve(isHere ? ['files/large'] : []),
    });
    await until(() => !isHere, 90_000);
    clearInterval(looking);
    expect(most - before).toBeLessThan(96 * 1_048_576);
    expect((await bucket.keys()).filter((key) => key.startsWith('files/'))).toEqual(
      ['files/large', 1, 2, 3, 4].map((part, at) =>
        at === 0 ? 'files/large' : `files/large.${part}`,
      ),
    );
    const stored = await objects.stored('files/large');
    const [from, to] = [30 * 1_048_576 - 70_000, 60 * 1_048_576 + 70_000];
    const parts: Buffer[] = [];
    if (stored !== undefined)
      for await (const part of objects.read(stored, from, to)) parts.push(part);
    const wanted: Buffer[] = [];
    for await (const part of read(from, to)) wanted.push(part);
    expect(Buffer.concat(parts).equals(Buffer.concat(wanted))).toBe(true);
    await store.transaction((tx) => objects.erase(tx, ['files/large']));
    expect(await objects.eraseNow(5_000)).toBe(true);
    expect(await isIn('files/')).toBe(false);
  },
  120_000,
);
